// Convolution of images of one channel with a kernel of one output, as filters of pictures are:
// outputs that lie side by side in the lanes of a vector, straight from the image's lines.
// Called by kernels/conv/conv.cc. Invariant: the bits of Conv.
#pragma once

#include "kernels/conv/conv.h"

namespace frazil::conv {

// Writes args.result. False where the operands are others, or lie in another way.
// S: float or double.
template <typename S>
bool TryPlane(const ConvArgs& args, Isa isa);

}  // namespace frazil::conv
