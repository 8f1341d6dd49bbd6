// Stacks that take turns in one host thread. Used by block.cc for the threads of a CUDA block.
// Invariant: a fiber runs only inside Resume(), and its function never returns: it leaves by
// Suspend().
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

namespace fake {

class Fiber {
 public:
  static constexpr size_t kStackBytes = 256 << 10;

  Fiber();
  ~Fiber();
  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;

  // The next Resume() starts `body`, whatever ran before.
  void Start(void (*body)());
  // Runs the fiber until it suspends.
  void Resume();
  // Called on the fiber: goes back to who resumed it.
  void Suspend();

 private:
  char* map_;           // a guard page, then the stack
  void* sp_ = nullptr;  // of the fiber while it does not run, of its resumer while it does
};

}  // namespace fake
