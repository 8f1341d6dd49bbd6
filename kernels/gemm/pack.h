// Copies of A and B in the order in which the kernels read them, widened to the type computed in.
// Called by kernels/gemm/blocked.cc and resident.cc. Invariant: a packed panel holds exact copies;
// padding is zero.
#pragma once

#include <cstdint>

#include "kernels/gemm/convert.h"

namespace frazil::gemm {

// rows x k of `src` to rows of `ld` elements.
template <typename S>
void PackRows(View<S> src, int64_t rows, int64_t k, Acc<S>* dst, int64_t ld);

// One panel: dst[step * width + j] = src(step, j) for `used` of `width` columns, zero in the
// others.
template <typename S>
void PackPanel(View<S> src, int64_t k, int64_t used, int64_t width, Acc<S>* dst);

// dst[step * width + j] = src(step, j) for `used` columns, whose k steps are adjacent (rs is 1);
// bits are kept whatever they mean.
void PackTransposed(View<float> src, int64_t k, int64_t used, int64_t width, float* dst);
void PackTransposed(View<double> src, int64_t k, int64_t used, int64_t width, double* dst);

// Several panels in one pass over the memory of `src`: panel i, at dst + i * apart, holds columns
// from starts[i] to starts[i + 1]; what stands in the other columns is unspecified. `src` has
// `columns` columns.
template <typename S>
void PackStrips(View<S> src, int64_t k, const int64_t* starts, int64_t count, int64_t columns,
                int64_t width, int64_t apart, Acc<S>* dst);

}  // namespace frazil::gemm
