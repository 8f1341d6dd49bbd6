// Convolution a line of outputs at a time, straight from the image.
// Called by kernels/conv/conv.cc. Invariant: the bits of Conv.
#pragma once

#include "kernels/conv/conv.h"

namespace frazil::conv {

// Writes args.result. False where the windows' rows are too short for it, or lie in another way.
// S: float or double.
template <typename S>
bool TryLines(const ConvArgs& args, Isa isa);

}  // namespace frazil::conv
