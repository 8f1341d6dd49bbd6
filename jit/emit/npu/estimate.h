// How long a program takes, by the cycle model without data: what the search for tiles compares.
// Called by the emitters of jit/emit/npu; ReachOf also by the device. Invariant: depends on the
// program, the preset and the sizes of its buffers alone.
#pragma once

#include <vector>

#include "jit/emit/npu/emit.h"

namespace frazil::npu {

// Bytes around a buffer's first element that a program touches.
struct Reach {
  int64_t low = 0, high = 0;
  bool writable = false;
};

// Of each buffer of a launch.
std::vector<Reach> ReachOf(const kir::Kernel& kernel, const LaunchShape& shape);

// buffers: the program's first parameters; what follows them does not matter. The largest number if
// it faults.
int64_t EstimateCycles(const Program& program, const Preset& preset,
                       absl::Span<const Reach> buffers);

}  // namespace frazil::npu
