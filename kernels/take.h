// Whole rows of an array at indices along an axis. Called by jit/library/library.cc for a take by
// itself, which only copies; elements one by one are the business of generated kernels.
#pragma once

#include "core/layout.h"

namespace frazil {

struct TakeArgs {
  int64_t item;       // bytes of an element
  bool wide_indices;  // i64, else i32; in [0, x->extents[axis])
  int axis;
  LayoutRef x;  // its axes behind `axis` lie as one run
  LayoutRef indices;
  const char* x_data = nullptr;
  const char* indices_data = nullptr;
  char* out = nullptr;  // dense
};

void TakeRows(const TakeArgs& args);

// Whether axes [begin, rank) of a layout lie as one run; how many elements that is.
bool IsRun(const Layout& layout, int begin, int64_t* size);

}  // namespace frazil
