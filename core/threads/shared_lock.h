// A lock of readers beside each other or one writer alone, held for whole calls, in a process that
// may be forked; std::shared_lock and std::unique_lock hold it. Called by frozen/loaded. Invariants: a
// writer that waits lets no new reader in; what threads of another process held (the parent's, which
// a fork left behind) counts for nothing, so unlike the standard's and Abseil's it cannot be held for
// ever in a child.
#pragma once

#include <atomic>
#include <cstdint>

#include "core/threads/at_fork.h"

namespace frazil {

class SharedLock {
 public:
  void lock() {
    for (uint64_t word = word_.load();;) {
      const uint64_t now = OfThisProcess(word);
      if (now & (kWriter | kReaders)) {
        const uint64_t waiting = now | kWaiting;
        if (word == waiting || word_.compare_exchange_strong(word, waiting)) word_.wait(waiting);
        word = word_.load();
      } else if (word_.compare_exchange_weak(word, (now & ~kWaiting) | kWriter)) {
        return;
      }
    }
  }
  void unlock() {
    word_.fetch_and(~kWriter);
    word_.notify_all();
  }

  void lock_shared() {
    for (uint64_t word = word_.load(std::memory_order_relaxed);;) {
      const uint64_t now = OfThisProcess(word);
      if (now & (kWriter | kWaiting)) {
        word_.wait(word);
        word = word_.load();
      } else if (word_.compare_exchange_weak(word, now + 1, std::memory_order_acquire)) {
        return;
      }
    }
  }
  void unlock_shared() {
    const uint64_t before = word_.fetch_sub(1);
    if ((before & kWaiting) && (before & kReaders) == 1) word_.notify_all();
  }

 private:
  // Above them the generation of forks in which they were set.
  static constexpr uint64_t kWriter = uint64_t{1} << 31, kWaiting = uint64_t{1} << 30,
                            kReaders = kWaiting - 1;

  static uint64_t OfThisProcess(uint64_t word) {
    const uint64_t generation = uint64_t{ForkGeneration()} << 32;
    return (word ^ generation) >> 32 ? generation : word;
  }

  std::atomic<uint64_t> word_{0};
};

}  // namespace frazil
