// Matrix times vector where each row of the matrix is adjacent in memory: y[i] = sum over k of
// a[i,k] x[k]. Called by kernels/gemm/blocked.cc. Invariant: k ascending in one accumulator a row,
// from +0: blocks of the matrix are turned in registers so that the lanes are rows.
#pragma once

#include <cstdint>

#include "kernels/gemm/gemm.h"

namespace frazil::gemm {

// Whether RowDots does this many rows (the vector's lanes have to be filled).
bool RowDotsApplies(Isa isa, bool f64, int64_t rows);

void RowDots(Isa isa, const float* a, int64_t row_stride, int64_t rows, const float* x, int64_t k,
             float* y);
void RowDots(Isa isa, const double* a, int64_t row_stride, int64_t rows, const double* x, int64_t k,
             double* y);

}  // namespace frazil::gemm
