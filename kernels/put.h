// put: x with elements replaced, or with updates added, at positions in some of its axes. Called by
// jit/library/library.cc. Invariant: positions of `indices` are taken in ascending row-major order,
// so the last write wins and additions have one order, for any number of threads; 16-bit floats
// round after every addition; additions of bool are or.
#pragma once

#include "core/dtype.h"
#include "core/layout.h"

namespace frazil {

struct PutArgs {
  DType dtype;
  bool wide_indices;  // i64, else i32; in [0, the product of those axes' extents)
  bool add;           // else set
  int axis, axes;     // those that indices count in, in row-major order
  LayoutRef x;
  LayoutRef indices;
  LayoutRef updates;  // x's extents with the axes replaced by the indices' extents
  const char* x_data = nullptr;
  const char* indices_data = nullptr;
  const char* updates_data = nullptr;
  char* out = nullptr;  // dense, shaped like x; may be x_data if x is dense
};

void Put(const PutArgs& args);

}  // namespace frazil
