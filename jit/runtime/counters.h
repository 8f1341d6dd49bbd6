// How much this thread has run. Called by plans and read by the bindings for their figures.
// Invariant: counts only; nothing depends on it.
#pragma once

#include <cstdint>

namespace frazil::jit {

// Kernel launches and library calls of this thread's plans, eager ones included.
inline int64_t& KernelsRun() {
  static thread_local int64_t count = 0;
  return count;
}

}  // namespace frazil::jit
