// Convolution of each channel by itself, as MobileNets have it, straight from the image.
// Called by the library steps of plans (jit/library/convolution.cc). Invariant: the bits of the sums
// written out: of each element of the kernel, in row-major order, the image moved to it times the
// element, rounded, added to what those before it gave.
#pragma once

#include "kernels/conv/conv.h"

namespace frazil {

// result[batch, out_h, out_w, channels], where the kernel is [kernel_h, kernel_w, 1, outputs] and
// there are as many outputs as channels. float32 or float64. `fill`: what stands outside of the
// image, one element; null: +0.
void ConvChannels(const ConvArgs& args, const void* fill, Isa isa = Isa::kBest);

}  // namespace frazil
