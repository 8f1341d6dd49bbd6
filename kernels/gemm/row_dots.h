// Matrix times vector where each row of the matrix is adjacent in memory: y[i] = sum over k of
// a[i,k] x[k]. Called by kernels/gemm/blocked.cc. Invariant: k ascending in one accumulator a row,
// from +0: blocks of the matrix are turned in registers so that the lanes are rows.
#pragma once

#include <cstdint>

#include "kernels/gemm/gemm.h"

namespace frazil::gemm {

// False, with nothing done, where there are too few rows to fill a vector or code cannot be
// generated. `isa` is resolved.
bool TryRowDots(Isa isa, const float* a, int64_t row_stride, int64_t rows, const float* x,
                int64_t k, float* y);
bool TryRowDots(Isa isa, const double* a, int64_t row_stride, int64_t rows, const double* x,
                int64_t k, double* y);

}  // namespace frazil::gemm
