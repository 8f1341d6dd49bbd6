// Matrix multiplication of integers, wrapping in their own type, in plain loops.
// Called by kernels/gemm/gemm.cc for 64 bits, and where no code can be generated. Invariant: sums
// modulo 2^bits, so that any order gives the same bits.
#pragma once

#include "kernels/gemm/gemm.h"

namespace frazil::gemm {

// S is unsigned, and stands for the signed type too.
template <typename S>
void IntegerGemm(const GemmArgs& args);

// int8 into int32 (GemmArgs::wide).
void WideGemm(const GemmArgs& args);

}  // namespace frazil::gemm
