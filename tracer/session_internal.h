// What the files of Session share: its lock. Called by tracer/session*.cc alone.
#pragma once

#include <chrono>

#include "core/threads/asymmetric_fence.h"
#include "core/threads/at_fork.h"
#include "core/threads/long_work.h"
#include "tracer/session.h"
#include "tracer/tags.h"

namespace frazil::tracer {

// The owner's calls and another thread's Force exclude each other; the owner may nest. The owner
// says that it is inside and looks whether others are busy, they do the reverse: one of the two
// sees the other, and the owner gives way.
class Session::Lock {
 public:
  enum Who { kAnybody, kOwner };
  explicit Lock(Session* s, Who who = kAnybody)
      : s_(s), owner_(who == kOwner || s->owner_.load(std::memory_order_relaxed) == &State()) {
    if (owner_) {
      if (s->lock_depth_++ > 0) return;
      s->inside_.store(true, std::memory_order_relaxed);
      LightFence();
      if (__builtin_expect(!s->busy_.load(std::memory_order_acquire), 1)) return;
      s->inside_.store(false, std::memory_order_release);
    }
    TakeBusy();
  }
  // The thread that had it exists in the parent process only.
  bool lost() const { return lost_; }
  ~Lock() {
    if (owner_ && --s_->lock_depth_ > 0) return;
    if (__builtin_expect(busy_, 0)) {
      if (!lost_) s_->busy_.store(false, std::memory_order_release);
    } else {
      s_->inside_.store(false, std::memory_order_release);
    }
  }

 private:
  __attribute__((noinline)) void TakeBusy() {
    busy_ = true;
    Wait([this] { return s_->busy_.exchange(true, std::memory_order_acquire); });
    if (owner_ || lost_) return;
    HeavyFence();
    Wait([this] { return s_->inside_.load(std::memory_order_acquire); });
  }
  // Who has it may be waiting for the host's lock.
  template <typename F>
  void Wait(const F& taken) {
    if (!taken()) return;
    const HostUnlocked unlocked;
    for (int spin = 0; taken(); ++spin) {
      lost_ = s_->generation_.load(std::memory_order_relaxed) != ForkGeneration();
      if (lost_) return;
      if (spin < 100) {
        std::this_thread::yield();
      } else {
        std::this_thread::sleep_for(std::chrono::microseconds(50));
      }
    }
  }

  Session* s_;
  bool lost_ = false, busy_ = false;
  const bool owner_;
};

inline Value* Session::DeferResult(uint32_t kind, const Layout* layout) {
  return values_.Add(kind, layout, this, serial_ << (kNumberBits + 1) | values_.size());
}

}  // namespace frazil::tracer
