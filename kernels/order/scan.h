// Running sums and products along an axis. Called by jit/library/library.cc. Invariant: the rule of
// core/SEMANTICS.md (blocks of 64, in rounds), for any number of threads and any instruction set;
// integers wrap, 16-bit floats compute in float32 and round once.
#pragma once

#include "core/dtype.h"

namespace frazil {

struct ScanArgs {
  DType dtype;
  bool product;             // else sum
  int64_t outer, n, inner;  // [outer, n, inner], dense: along the second
  const char* x;
  char* out;  // may be x
};

void Scan(const ScanArgs& args);

}  // namespace frazil
