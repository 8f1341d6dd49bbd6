// A few rows of A times the transpose of a matrix whose rows are adjacent in memory: c[i,j] = sum
// over k of a[i,k] b[j,k]; with one row, matrix times vector. Called by kernels/gemm/blocked.cc.
// Invariant: k ascending in one accumulator an output.
#pragma once

#include <cstdint>

#include "kernels/gemm/dots_code.h"
#include "kernels/gemm/gemm.h"
#include "kernels/gemm/small_product.h"
#include "kernels/gemm/sum_rule.h"

namespace frazil::gemm {

// b [n,k] with rows `b_stride` elements apart. False, with nothing done, where n does not fill a
// vector or code cannot be generated. `isa` is resolved, not kScalar. `continues`: from what c
// holds.
template <typename T>
bool TryRowDots(Isa isa, const T* a, int64_t a_stride, const T* b, int64_t b_stride, int64_t k,
                const Block<T>& c, bool continues);

// The calls that this would make, of a product that fills a vector. False: too many, or none can be
// generated.
template <typename T>
bool ListRowDots(Isa isa, const T* a, int64_t a_stride, const T* b, int64_t b_stride, int64_t k,
                 const Block<T>& c, CallList<DotsCall>* list);

// TryRowDots of b [n,k] in 16 bits, k even.
bool TryStoredDots(Isa isa, const float* a, int64_t a_stride, const uint16_t* b, int64_t b_stride,
                   DotsStored stored, int64_t k, const Block<float>& c);

}  // namespace frazil::gemm
