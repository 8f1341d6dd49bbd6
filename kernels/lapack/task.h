// One problem of linear algebra, solved for many matrices: what the ops of class kLapack compute.
// Made by jit/library/lapack.cc for each run, or for each thread's part of a batch. Invariants: the
// operands are read only; the result depends on them, the extents and how many threads OpenBLAS
// has, never on where or how they lie in memory.
//
// NumPy's matrices are row-major, LAPACK's column-major: the same memory is the transpose. Each
// solver takes the transposed problem, whose result is then in place: a triangle of a^T is the
// other one of a, the singular vectors of a^T are those of a exchanged, a^T = L Q gives
// a = Q^T L^T. Only eig transposes.
#pragma once

#include <memory>

#include "core/matrix_parts.h"
#include "kernels/lapack/lapack.h"

namespace frazil::lapack {

// A matrix in memory; strides in elements.
struct Place {
  const char* data;
  int64_t rows, columns, row_stride, column_stride;
};

class Task {
 public:
  virtual ~Task() = default;
  // operands: as of the op, for one matrix; `out`: its part of the result.
  virtual void Run(const Place* operands, char* out) = 0;

  // `right`: the columns of the last operand of those that solve. Memory for the work is allocated
  // here (std::bad_alloc). Check() must be OK.
  static std::unique_ptr<Task> Make(OpId op, DType dtype, int64_t m, int64_t n, int64_t right,
                                    int64_t option);
};

}  // namespace frazil::lapack
