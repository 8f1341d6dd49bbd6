// x[...] = v with slices and integers. Called by setitem (indexing.cc).
// Invariant: no index is looked at while the program runs, so a traced assignment ends no segment.
//
// x[i] = v gives the cell a new value, over the old one's memory if nothing else holds it. With
// slices and integers (core/functions/assign.h) no index is looked at while the program runs: a
// large part is chosen element by element, by a mask that all iterations of a loop share, a small
// one is put into the array where it lies.
#pragma once

#include "core/functions/composites.h"

namespace frazil::ops {

// x with the elements of a box, {start, step, size} for each axis, replaced by those of v, which
// has as many and x's dtype.
Tensor AssignBox(const Tensor& x, Dims box, const Tensor& v);

}  // namespace frazil::ops
