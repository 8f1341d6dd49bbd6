// Products with sparse matrices. Called by bindings and frazil.h; the class of Python's is
// frazil/_sparse.py. Invariant: made of the ops of class kSparse, so gradients go to the values and
// to the dense side; places that lead out of the matrix are an IndexError when the product runs.
#pragma once

#include "core/functions/ops.h"

#pragma GCC visibility push(default)
namespace frazil::ops {

// Where the values of a sparse matrix stand: see kernels/sparse/sparse.h.
struct SparsePlaces {
  Tensor structure;  // i32 or i64
  bool pairs;
  int64_t rows, columns;
};

// The matrix, or its transpose, times a vector or a matrix, in the dtype in which both meet.
Tensor sparse_matmul(const Tensor& values, const SparsePlaces& places, const Tensor& dense,
                     bool transposed = false);

}  // namespace frazil::ops
#pragma GCC visibility pop
