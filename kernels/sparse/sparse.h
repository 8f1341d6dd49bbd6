// Products of a sparse matrix with a dense one, and what a product of dense ones is at the places of
// a sparse matrix. Called by jit/library/sparse.cc. Invariants: what is added to an element is added
// in an order that depends on extents and places alone, never on the number of threads; nothing is
// read or written where a structure that is wrong would lead: the result is an IndexError.
#pragma once

#include "core/dtype.h"
#include "core/status.h"

namespace frazil {

// A matrix of `rows` and `columns` has `entries` values. Where they stand, by `structure`: as pairs,
// the row of each, then the column of each; else by rows: where the values of each row begin, and
// the last end (rows + 1 numbers that ascend from 0), then the column of each.
struct SparseArgs {
  DType dtype;  // but bool
  bool wide;    // the structure is of i64, else of i32
  bool pairs;
  bool transposed;  // the matrix's transpose is multiplied
  int64_t rows, columns, entries;
  int64_t width;  // columns of the dense matrices
  const char* structure;
  // All dense, row by row. SparseMatmul: values [entries], dense [columns or, transposed, rows,
  // width]; out [the others, width]. SparseSample: a [rows, width], b [columns, width]; out
  // [entries], the product of two rows each.
  const char* a;
  const char* b;
  char* out;
};

// Throw std::bad_alloc.
Status SparseMatmul(const SparseArgs& args);
Status SparseSample(const SparseArgs& args);

}  // namespace frazil
