#include "core/threads/parallel.h"

#include <pthread.h>
#include <sched.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "core/config.h"
#include "core/threads/asymmetric_fence.h"
#include "core/threads/fp_mode.h"
#include "core/threads/long_work.h"
#include "core/threads/tls.h"
#include "core/tuned.h"

namespace frazil {
namespace {

FZ_HOT_TLS bool t_inside = false;  // in a body: nested calls run here

void Pause() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

using Body = absl::FunctionRef<void(int64_t, int64_t)>;

// Parts that one thread takes before it helps others. They are the same in the next job of that
// size, so that what a thread finds in its cache is what it left there.
struct alignas(64) Share {
  std::atomic<int64_t> next{0};
  int64_t end = 0;  // as `next`: a part's number
};
constexpr int kShares = 8;  // of more threads several begin with the same one

// One range being worked on.
class Job {
 public:
  Job(int64_t n, int64_t grain, int64_t parts, int threads, Body body, LongWork* work)
      : n_(n),
        grain_(grain),
        grains_((n + grain - 1) / grain),
        parts_(parts),
        body_(body),
        work_(work),
        shares_(std::min(threads, kShares)) {
    for (int i = 0; i < shares_; ++i) {
      share_[i].next.store(parts * i / shares_, std::memory_order_relaxed);
      share_[i].end = parts * (i + 1) / shares_;
    }
  }

  LongWork* work() const { return work_; }  // the caller's, which may be abandoned; or null

  void Work(int thread) {
    const bool inside = std::exchange(t_inside, true);
    LongWork* const before = std::exchange(LongWork::Current(), work_);
    for (int i = 0; i < shares_; ++i) {
      Share& share = share_[(thread + i) % shares_];
      while (!work_ || !work_->Stop()) {
        const int64_t part = share.next.fetch_add(1, std::memory_order_relaxed);
        if (part >= share.end) break;
        body_(BeginOf(part), std::min(n_, BeginOf(part + 1)));
      }
    }
    LongWork::Current() = before;
    t_inside = inside;
  }

 private:
  // Parts differ by one grain at most, so that shares do.
  int64_t BeginOf(int64_t part) const { return grains_ * part / parts_ * grain_; }

  const int64_t n_, grain_, grains_, parts_;
  const Body body_;
  LongWork* const work_;
  const int shares_;
  std::array<Share, kShares> share_;
};

// Workers watch `round_`: odd while a job is open. A worker says that it is working before it looks
// whether the job is still open, and the caller closes the job before it looks whether anyone is
// working, so one sees the other.
class Pool {
 public:
  explicit Pool(int threads) {
    PrepareFences();
    for (int i = 1; i < threads; ++i) workers_.emplace_back([this, i] { Serve(i); });
  }
  ~Pool() {
    stop_.store(true);
    round_.fetch_add(2);
    round_.notify_all();
    for (std::thread& t : workers_) t.join();
  }

  // False if another thread's job is running: the caller then works alone.
  bool Run(Job* job) {
    std::unique_lock<std::mutex> lock(owner_, std::try_to_lock);
    if (!lock.owns_lock()) return false;
    job_.store(job);
    round_.fetch_add(1);
    round_.notify_all();
    job->Work(0);
    round_.fetch_add(1);
    for (int spin = 0; working_.load() != 0; ++spin) {
      if (spin < tuned::kSpins) {
        Pause();
      } else if (LongWork* const work = job->work()) {
        work->Stop();
        std::this_thread::sleep_for(std::chrono::microseconds(100));
      } else if (const int left = working_.load(); left != 0) {
        working_.wait(left);
      }
    }
    return true;
  }

 private:
  void Serve(int thread) {
    const DefaultFpMode mode;
    uint32_t seen = 0;
    while (!stop_.load()) {
      const uint32_t round = Next(seen);
      seen = round;
      if (round % 2 == 0) continue;
      working_.fetch_add(1);
      if (round_.load() == round) job_.load()->Work(thread);
      if (working_.fetch_sub(1) == 1) working_.notify_all();
    }
  }

  // Waits for a round other than `seen`.
  uint32_t Next(uint32_t seen) {
    for (int spin = 0; spin < tuned::kSpins; ++spin) {
      if (const uint32_t round = round_.load(std::memory_order_acquire); round != seen)
        return round;
      Pause();
    }
    round_.wait(seen);
    return round_.load();
  }

  std::mutex owner_;
  std::atomic<Job*> job_{nullptr};
  std::atomic<uint32_t> round_{0};
  std::atomic<int> working_{0};
  std::atomic<bool> stop_{false};
  std::vector<std::thread> workers_;
};

int DefaultThreads() {
  if (const int n = std::atoi(GetConfig().threads.c_str()); n > 0) return n;
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof(set), &set) == 0) return std::max(1, CPU_COUNT(&set));
  return std::max(1, int(std::thread::hardware_concurrency()));
}

// The pool and its size. Made at first use; never destroyed, so that exiting waits for nobody.
struct Global {
  std::mutex mutex;
  std::shared_ptr<Pool> pool;  // null: to be made
  std::atomic<int> threads{DefaultThreads()};

  std::shared_ptr<Pool> Get() {
    const std::lock_guard<std::mutex> lock(mutex);
    if (!pool) pool = std::make_shared<Pool>(threads.load());
    return pool;
  }
};

Global& GetGlobal();

// The child has none of the parent's threads: its pool is forgotten (not destroyed: there is
// nothing to join) and made again when needed. The mutex is held across the fork so that it is in a
// known state.
void BeforeFork() { GetGlobal().mutex.lock(); }
void InParent() { GetGlobal().mutex.unlock(); }
void InChild() {
  new std::shared_ptr<Pool>(std::move(GetGlobal().pool));
  t_inside = false;
  GetGlobal().mutex.unlock();
}

Global& GetGlobal() {
  static Global* global = [] {
    auto* g = new Global;
    pthread_atfork(BeforeFork, InParent, InChild);
    return g;
  }();
  return *global;
}

}  // namespace

int PoolThreads() { return GetGlobal().threads.load(std::memory_order_relaxed); }
int NumThreads() { return t_inside ? 1 : PoolThreads(); }

void SetNumThreads(int n) {
  Global& global = GetGlobal();
  std::shared_ptr<Pool> old;
  const std::lock_guard<std::mutex> lock(global.mutex);
  if (global.threads.exchange(std::max(1, n)) != std::max(1, n)) old = std::move(global.pool);
  // `old` ends here, or when the last job on it does.
}

void ParallelFor(int64_t n, int64_t grain, Body body, int64_t min_parts) {
  if (n <= 0) return;
  grain = std::max<int64_t>(1, grain);
  const int64_t grains = (n + grain - 1) / grain;
  const int threads = t_inside || grains == 1 ? 1 : NumThreads();
  LongWork* const work = LongWork::Current();
  if (threads == 1 && !work) return body(0, n);
  const int64_t wanted = threads == 1 ? 1 : int64_t{threads} * tuned::kPartsPerThread;
  const int64_t parts = std::min(grains, work ? std::max(wanted, min_parts) : wanted);
  Job job(n, grain, parts, threads, body, work);
  if (threads > 1 && GetGlobal().Get()->Run(&job)) return;
  if (work) return job.Work(0);
  body(0, n);
}

}  // namespace frazil
