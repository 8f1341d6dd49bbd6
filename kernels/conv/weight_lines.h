// The gradient of a convolution to its kernel, straight from the lines of the image.
// Called by kernels/conv/conv_weights.cc. Invariant: the bits of ConvWeights.
#pragma once

#include "kernels/conv/conv.h"
#include "kernels/gemm/convert.h"

namespace frazil::conv {

// Writes args.result; `other` is args.other as a matrix. False where the operands lie in another
// way. S: float or double.
template <typename S>
bool TryWeightLines(const ConvArgs& args, const gemm::View<S>& other, Isa isa);

}  // namespace frazil::conv
