// Matrix multiplication of integers, wrapping in their own type.
// Called by kernels/gemm/gemm.cc. Invariant: sums modulo 2^bits, so that any order gives the same
// bits.
#pragma once

#include "kernels/gemm/gemm.h"

namespace frazil::gemm {

template <typename S>
void IntegerGemm(const GemmArgs& args);

}  // namespace frazil::gemm
