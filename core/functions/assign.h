// x[...] = v with slices and integers. Called by setitem (indexing.cc).
// Invariant: no index is looked at while the program runs, so a traced assignment ends no segment.
#pragma once

#include "core/functions/composites.h"

namespace frazil::ops {

// x with the elements of a box, {start, step, size} for each axis, replaced by those of v, which
// has as many and x's dtype.
Tensor AssignBox(const Tensor& x, Dims box, const Tensor& v);

}  // namespace frazil::ops
