// What the ops of class kLapack leave in their result: several matrices side by side along one
// axis, as an op has one result. Asked by inference, by the kernels that write it
// (kernels/lapack) and by the functions that take it apart (core/functions/linalg.cc). Invariant:
// follows from the op, its option and the extents alone.
#pragma once

#include <array>

#include "core/op.h"

#pragma GCC visibility push(default)
namespace frazil {

// The one attribute of an op of this class.
enum LapackOption : int64_t {
  kPlainOption = 0,
  kNudged = 1,        // lu, det: a pivot of 0 is made tiny
  kAdjoint = 1,       // lu_solve: with the adjoint of the matrix
  kUpper = 1,         // eigh, triangular_solve
  kUnitDiagonal = 2,  // triangular_solve
  kTransposed = 4,    // or of its transpose,
  kConjugated = 8,    // its adjoint
  kValuesOnly = 2,    // eigh, eig
  kComplete = 1,      // qr
  kSingularValues = 0,
  kReduced = 1,
  kFull = 2,  // svd
};
inline constexpr int64_t kMostLapackOption = 15;

struct MatrixPart {
  int64_t start = 0, rows = 0, columns = 0;  // row-major, from `start` on
  int64_t size() const { return rows * columns; }
};

// Of one matrix of m x n. The last element of those that can fail says how: 0 is success.
struct MatrixParts {
  std::array<MatrixPart, 3> part;
  size_t count = 0;  // none: the result is one array
  int64_t size = 0;
  int64_t info = -1;  // where the outcome stands; -1: it cannot fail

  static MatrixParts Of(OpId op, int64_t m, int64_t n, int64_t option);
};

// An outcome below 0: an element was infinite or NaN where no algorithm ends with one.
inline constexpr int64_t kNotFinite = -1;

}  // namespace frazil
#pragma GCC visibility pop
