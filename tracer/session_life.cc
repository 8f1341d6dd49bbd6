// Sessions begin, end and are used again.
#include <utility>

#include "core/config.h"
#include "core/threads/tls.h"
#include "tracer/session_internal.h"
#include "tracer/trace.h"

namespace frazil::tracer {
namespace {

// Sessions that no call uses. Never destroyed.
struct Idle {
  Mutex mutex;
  std::vector<Session*> spare ABSL_GUARDED_BY(mutex);
  // Those of interrupted calls whose values nobody has read yet.
  std::vector<Session*> left ABSL_GUARDED_BY(mutex);
};
Idle& GetIdle() {
  static Idle* idle = [] {
    auto* made = new Idle;
    HoldAcrossFork(ForkOrder::kCaches, &made->mutex);
    return made;
  }();
  return *idle;
}

// The thread's last session, so that a call takes no lock.
FZ_HOT_TLS Session* t_spare = nullptr;

// Gives it to others when the thread ends.
struct AtExit {
  ~AtExit() {
    Session* s = std::exchange(t_spare, nullptr);
    if (!s) return;
    MutexLock lock(&GetIdle().mutex);
    GetIdle().spare.push_back(s);
  }
};
void WatchExit() {
  static thread_local AtExit at_exit;
  (void)at_exit;
}

// In `Idle`, but looked at by every call.
constinit std::atomic<int> g_left_count{0};

// Threads take serials by the thousand, so that they share no word.
constexpr uint64_t kSerials = 1024;
constinit std::atomic<uint64_t> g_next_serials{kSerials};
FZ_HOT_TLS uint64_t t_next_serial = 0;

}  // namespace

uint64_t NextSerial() {
  if (t_next_serial % kSerials == 0)
    t_next_serial = g_next_serials.fetch_add(kSerials, std::memory_order_relaxed);
  return t_next_serial++ & ((uint64_t{1} << 40) - 1);
}

Session* Session::Begin(Recording* recording, ScriptBuilder* builder) {
  if (__builtin_expect(g_left_count.load(std::memory_order_relaxed) > 0, 0)) SweepAbandoned();
  Session* s = std::exchange(t_spare, nullptr);
  if (!s) s = TakeSpare();
  s->recording_ = recording;
  s->builder_ = builder;
  s->shard_ = recording->OwnShard();
  s->epoch_ = recording->Enter(s->shard_);
  s->fell_back_ = s->recorded_ = false;
  s->kernels_ = 0;
  s->matched_ = s->gain_ = 0;
  s->strict_ = Strict();
  s->precision_ = State().precision;
  s->owner_.store(&State(), std::memory_order_relaxed);
  if (const uint32_t now = ForkGeneration();
      __builtin_expect(s->generation_.load(std::memory_order_relaxed) != now, 0)) {
    s->generation_.store(now, std::memory_order_relaxed);
    s->busy_.store(false, std::memory_order_relaxed);  // who had it exists in the parent only
  }
  s->cursor_ = recording->root();
  s->mode_ = Mode::kReplaying;
  s->num_slots_ = s->num_results_ = 0;
  s->last_effect_ = -1;
  s->serial_ = NextSerial();
  return s;
}

void Session::End(Session* s) {
  if (__builtin_expect(!s->values_.empty(), 0)) {
    if (!s->values_.AnyWaitedFor()) {
      s->values_.Clear();
      return End(s);
    }
    Idle& idle = GetIdle();
    s->kept_ = s->recording_->shared_from_this();
    s->owner_.store(nullptr, std::memory_order_relaxed);
    MutexLock lock(&idle.mutex);
    idle.left.push_back(s);
    g_left_count.fetch_add(1, std::memory_order_relaxed);
    return;
  }
  s->slots_.clear();
  s->recording_->Leave(s->shard_, s->epoch_);
  if (__builtin_expect(!t_spare, 1)) {
    t_spare = s;
    return;
  }
  MutexLock lock(&GetIdle().mutex);
  GetIdle().spare.push_back(s);
}

Session* Session::TakeSpare() {
  WatchExit();
  MutexLock lock(&GetIdle().mutex);
  std::vector<Session*>& spare = GetIdle().spare;
  if (spare.empty()) return new Session;
  Session* s = spare.back();
  spare.pop_back();
  return s;
}

void Session::SweepAbandoned() {
  if (g_left_count.load(std::memory_order_relaxed) == 0) return;
  std::vector<Session*> done;
  {
    Idle& idle = GetIdle();
    MutexLock lock(&idle.mutex);
    std::erase_if(idle.left, [&](Session* s) {
      // Somebody is computing it: another time.
      if (s->busy_.exchange(true, std::memory_order_acquire)) return false;
      const bool wanted = s->values_.AnyWaitedFor();
      if (!wanted) done.push_back(s);
      s->busy_.store(false, std::memory_order_release);
      return !wanted;
    });
    g_left_count.store(static_cast<int>(idle.left.size()), std::memory_order_relaxed);
  }
  // Letting go of values may run destructors that come here again.
  for (Session* s : done) {
    s->values_.Clear();
    s->StartSegment();
    s->recording_->Leave(nullptr, s->epoch_);
    s->kept_ = nullptr;
    MutexLock lock(&GetIdle().mutex);
    GetIdle().spare.push_back(s);
  }
}

void Session::StartSegment() {
  // A long call lets go of what was evicted meanwhile.
  if (recording_->epoch() != epoch_ && owner_.load(std::memory_order_relaxed) == &State()) {
    recording_->Leave(shard_, epoch_);
    epoch_ = recording_->Enter(shard_);
  }
  cursor_ = recording_->root();
  mode_ = Mode::kReplaying;
  slots_.clear();
  num_slots_ = num_results_ = 0;
  last_effect_ = -1;
  serial_ = NextSerial();
}

}  // namespace frazil::tracer
