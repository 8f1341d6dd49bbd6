// A lock for a few instructions on the path of every call, where a mutex would be most of the cost.
// Called by caches that are looked up at each call. Invariant: nothing that waits, allocates much
// or runs user code happens while it is held.
#pragma once

#include <atomic>
#include <thread>

#pragma GCC visibility push(default)
namespace frazil {

class SpinLock {
 public:
  void lock() {
    for (int tries = 0; flag_.exchange(true, std::memory_order_acquire); ++tries) {
      if (tries > 16) std::this_thread::yield();
    }
  }
  void unlock() { flag_.store(false, std::memory_order_release); }

 private:
  std::atomic<bool> flag_{false};
};

}  // namespace frazil
#pragma GCC visibility pop
