// Runs a kernel over its whole range, on the worker pool where that pays: `work` is about how long
// it takes on one thread (core/cost.h). Called by plans.
// Invariant: the result does not depend on how the range is split; small work never touches the
// pool.
#pragma once

#include "core/cost.h"
#include "jit/emit/emitter.h"

namespace frazil::jit {

void RunLaunchParallel(const Compiled& code, const kir::KernelArgs& args, int64_t rows,
                       int64_t cols, int64_t work);

inline void RunLaunch(const Compiled& code, const kir::KernelArgs& args, int64_t rows, int64_t cols,
                      int64_t work) {
  if (__builtin_expect(work < cost::kWorthSharing, 1)) {
    code.Run(args, 0, rows, 0, cols);
  } else {
    RunLaunchParallel(code, args, rows, cols, work);
  }
}

}  // namespace frazil::jit
