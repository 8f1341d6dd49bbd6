#include "core/profile.h"

#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <chrono>
#include <string>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "core/apply.h"
#include "core/memory/live_memory.h"
#include "core/threads/at_fork.h"
#include "core/threads/mutex.h"

namespace frazil {

constinit std::atomic<bool> g_profiling{false};

namespace {

// A thread writes under a lock that nobody else wants, but who ends the profile.
struct Log {
  Log(uint64_t n, size_t events) : number(n), most(events) {}

  const uint64_t number;  // of the profile
  const size_t most;      // events
  Mutex mutex;
  bool ended ABSL_GUARDED_BY(mutex) = false;
  ThreadProfile profile ABSL_GUARDED_BY(mutex);
  absl::flat_hash_map<std::string, int32_t> texts ABSL_GUARDED_BY(mutex);
  absl::flat_hash_map<const void*, int32_t> owners ABSL_GUARDED_BY(mutex);
  int64_t live ABSL_GUARDED_BY(mutex) = -1;
};

struct Running {
  Mutex mutex;
  bool on ABSL_GUARDED_BY(mutex) = false;
  uint32_t process ABSL_GUARDED_BY(mutex) = 0;  // which takes it: a forked child does not
  int64_t begin ABSL_GUARDED_BY(mutex) = 0;
  size_t most ABSL_GUARDED_BY(mutex) = 0;
  std::vector<std::shared_ptr<Log>> logs ABSL_GUARDED_BY(mutex);
};

// Never destroyed: threads end at any time.
Running& Now() {
  static auto* const running = [] {
    auto* made = new Running;
    HoldAcrossFork(ForkOrder::kCaches, &made->mutex);
    return made;
  }();
  return *running;
}

std::atomic<uint64_t> g_number{0};  // of the latest profile
thread_local std::shared_ptr<Log> t_log;

// This thread's log of the profile that is being taken; null if there is none any more.
Log* NewLog() {
  Running& running = Now();
  const MutexLock lock(&running.mutex);
  if (running.on && running.process != ForkGeneration()) {
    running.on = false;
    g_profiling.store(false, std::memory_order_relaxed);
  }
  if (!running.on) return nullptr;
  t_log = std::make_shared<Log>(g_number.load(), running.most);
  const MutexLock own(&t_log->mutex);
  t_log->profile.thread = syscall(SYS_gettid);
  char name[16] = {};
  pthread_getname_np(pthread_self(), name, sizeof name);
  t_log->profile.name = name;
  running.logs.push_back(t_log);
  return t_log.get();
}

Log* OwnLog() {
  const uint64_t number = g_number.load(std::memory_order_acquire);
  return t_log && t_log->number == number ? t_log.get() : NewLog();
}

template <typename Key, typename Make>
int32_t NumberOf(absl::flat_hash_map<Key, int32_t>* table, const Key& key, const Make& make) {
  const auto [at, added] = table->try_emplace(key, int32_t(table->size()));
  if (added) make();
  return at->second;
}

int32_t TextNumber(Log* log, std::string_view text) ABSL_EXCLUSIVE_LOCKS_REQUIRED(log->mutex) {
  if (text.empty()) return -1;
  const std::string key(text);
  return NumberOf(&log->texts, key, [&] {
    log->mutex.AssertHeld();
    log->profile.texts.push_back(key);
  });
}

void Add(ProfileEvent event, std::shared_ptr<const void> owner, std::string_view name,
         std::string_view line) {
  event.end = ProfileClock();
  const int64_t live = LiveMemory();
  Log* const log = OwnLog();
  if (!log) return;
  const MutexLock lock(&log->mutex);
  if (log->ended) return;
  ThreadProfile& profile = log->profile;
  if (profile.events.size() >= log->most) {
    ++profile.dropped;
    return;
  }
  if (owner) {
    const void* const key = owner.get();
    event.owner = NumberOf(&log->owners, key, [&] {
      log->mutex.AssertHeld();
      profile.owners.push_back(std::move(owner));
    });
  }
  event.name = TextNumber(log, name);
  event.line = TextNumber(log, line);
  profile.events.push_back(event);
  if (live != std::exchange(log->live, live)) profile.memory.push_back({event.end, live});
}

}  // namespace

int64_t ProfileClock() {
  return std::chrono::nanoseconds(std::chrono::steady_clock::now().time_since_epoch()).count();
}

Status StartProfile(int64_t most) {
  Running& running = Now();
  const MutexLock lock(&running.mutex);
  if (running.on && running.process == ForkGeneration())
    return RuntimeError("[profile] another profile is being taken; it covers all threads.");
  running.on = true;
  running.most = static_cast<size_t>(most);
  running.logs.clear();
  running.process = ForkGeneration();
  running.begin = ProfileClock();
  g_number.fetch_add(1);
  g_profiling.store(true, std::memory_order_relaxed);
  return absl::OkStatus();
}

StatusOr<Profile> StopProfile() {
  Running& running = Now();
  const MutexLock lock(&running.mutex);
  if (!running.on) return RuntimeError("[profile] no profile is being taken.");
  g_profiling.store(false, std::memory_order_relaxed);
  running.on = false;
  Profile profile;
  profile.begin = running.begin;
  profile.end = ProfileClock();
  if (running.process != ForkGeneration()) return profile;  // the parent's
  for (const std::shared_ptr<Log>& log : running.logs) {
    const MutexLock own(&log->mutex);
    log->ended = true;
    profile.threads.push_back(std::move(log->profile));
  }
  running.logs.clear();
  return profile;
}

std::string ProfileLine() {
  const auto locate = GlobalRuntime().locate;
  return locate ? locate() : std::string();
}

void ProfileStep(std::shared_ptr<const void> owner, int32_t step, std::string_view line,
                 int64_t begin) {
  ProfileEvent event;
  event.step = step;
  event.begin = begin;
  Add(event, std::move(owner), "", line);
}

void ProfileSpan(ProfileEvent::Kind kind, std::string_view name, std::string_view line,
                 int64_t begin) {
  ProfileEvent event;
  event.kind = kind;
  event.begin = begin;
  Add(event, nullptr, name, line);
}

}  // namespace frazil
