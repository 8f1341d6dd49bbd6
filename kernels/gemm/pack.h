// Copies of A and B in the order in which the kernels read them, widened to the type computed in.
// Called by kernels/gemm/blocked.cc. Invariant: a packed panel holds exact copies; padding is zero.
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

}  // namespace frazil::gemm
