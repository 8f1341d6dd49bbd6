// Runs a kernel over its whole range, on the worker pool where that pays. Called by plans.
// Invariant: the result does not depend on how the range is split; small work never touches the
// pool.
#pragma once

#include "jit/emit/emitter.h"

namespace frazil::jit {

// Instructions on elements (Launch::work) below which waking another thread costs more than it
// saves.
inline constexpr int64_t kSerialWork = int64_t{1} << 17;

void RunLaunchParallel(const Compiled& code, const kir::KernelArgs& args, int64_t rows,
                       int64_t cols, int64_t work);

inline void RunLaunch(const Compiled& code, const kir::KernelArgs& args, int64_t rows, int64_t cols,
                      int64_t work) {
  if (__builtin_expect(work < kSerialWork, 1)) {
    code.Run(args, 0, rows, 0, cols);
  } else {
    RunLaunchParallel(code, args, rows, cols, work);
  }
}

}  // namespace frazil::jit
