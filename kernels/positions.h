// Where a bool array is true. Called by jit/library/library.cc. Invariant: positions in row-major
// order, whatever the number of threads.
#pragma once

#include "core/layout.h"

namespace frazil {

struct PositionsArgs {
  LayoutRef mask;
  int64_t count;  // how many elements are true
  bool split;     // [rank, count], a position in each axis; else [count], one in the flat array
  const char* mask_data;
  int64_t* out;
};

// False if `count` is wrong: nothing is written then.
bool Positions(const PositionsArgs& args);

}  // namespace frazil
