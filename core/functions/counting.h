// Counts in bins. Called by the Python module, where numpy.histogram's edges come from. Invariant: as
// searchsorted would have it, whatever the first guess was.
#pragma once

#include "core/tensor.h"

namespace frazil::ops {

// How many elements lie in each bin of equal width, int64; a bin has its left edge, the last one its
// right one, too. f32 or f64, both; `edges` rise and are at least two. Reads the data.
Tensor count_in_bins(const Tensor& x, const Tensor& edges);

}  // namespace frazil::ops
