#include "core/threads/at_fork.h"

#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include "core/threads/tls.h"

namespace frazil {

constinit std::atomic<uint32_t> g_fork_generation{0};

namespace {

struct Entry {
  ForkOrder order;
  Mutex* mutex;  // or null:
  ForkHandler handler;

  // Which of the two it is, the analysis cannot follow.
  void Lock() const ABSL_NO_THREAD_SAFETY_ANALYSIS { mutex ? mutex->Lock() : handler.lock(); }
  void Unlock() const ABSL_NO_THREAD_SAFETY_ANALYSIS { mutex ? mutex->Unlock() : handler.unlock(); }
};

struct Global {
  std::mutex forks;            // one at a time
  std::mutex mutex;            // of entries
  std::vector<Entry> entries;  // in order
  // Guards count themselves and then look at `forking`; who forks sets it and then looks at the
  // count: one of the two sees the other.
  std::atomic<bool> forking{false};
  std::atomic<int> guards{0};
};
Global& GetGlobal();

FZ_HOT_TLS int t_guards = 0;

void BeforeFork() {
  Global& g = GetGlobal();
  g.forks.lock();
  g.forking.store(true);
  while (g.guards.load() > t_guards) std::this_thread::yield();
  g.mutex.lock();
  for (const Entry& e : g.entries) e.Lock();
}

void Unlock() {
  Global& g = GetGlobal();
  std::for_each(g.entries.rbegin(), g.entries.rend(), std::mem_fn(&Entry::Unlock));
  g.mutex.unlock();
  g.forking.store(false);
  g.forks.unlock();
}

void InChild() {
  GetGlobal().guards.store(t_guards);
  g_fork_generation.fetch_add(1);
  Unlock();
}

Global& GetGlobal() {
  static Global* const global = [] {
    auto* g = new Global;
    pthread_atfork(BeforeFork, Unlock, InChild);
    return g;
  }();
  return *global;
}

void Add(const Entry& entry) {
  Global& g = GetGlobal();
  const std::lock_guard<std::mutex> lock(g.mutex);
  const auto at =
      std::upper_bound(g.entries.begin(), g.entries.end(), entry,
                       [](const Entry& a, const Entry& b) { return a.order < b.order; });
  g.entries.insert(at, entry);
}

}  // namespace

void HoldAcrossFork(ForkOrder order, Mutex* mutex) { Add({order, mutex, {}}); }
void AtFork(ForkOrder order, const ForkHandler& handler) { Add({order, nullptr, handler}); }

ForkGuard::ForkGuard() {
  Global& g = GetGlobal();
  for (;;) {
    g.guards.fetch_add(1);
    if (t_guards > 0 || !g.forking.load()) break;
    g.guards.fetch_sub(1);
    while (g.forking.load()) std::this_thread::yield();
  }
  ++t_guards;
}

ForkGuard::~ForkGuard() {
  --t_guards;
  GetGlobal().guards.fetch_sub(1);
}

}  // namespace frazil
