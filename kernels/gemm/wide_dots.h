// Rows of int8 times columns that lie along k, as a layer's weights do: sums of 32 bits straight from
// where the weights are, which are read once beside as many rows as the cache holds, and laid out
// nowhere. Called by word_gemm.cc.
// Invariant: exact modulo 2^32, so the bits are those of every other way.
#pragma once

#include "kernels/gemm/gemm.h"

namespace frazil::gemm {

// False: the product is of another kind, or the machine lacks the instructions.
bool TryWideDots(const GemmArgs& g, Isa units);

}  // namespace frazil::gemm
