// Order along rows. Called by jit/library/library.cc. Invariant: stable, -0 equals +0, NaN last in
// either direction; the same result for any number of threads and any instruction set.
#pragma once

#include "core/dtype.h"

namespace frazil {

struct SortArgs {
  DType dtype;
  bool descending;
  int64_t rows, n;  // [rows, n], dense
  const char* x;
  char* out;  // elsewhere; Sort: like x, ArgSort: i64
};

void Sort(const SortArgs& args);
void ArgSort(const SortArgs& args);

}  // namespace frazil
