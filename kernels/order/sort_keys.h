// Integers in ascending order, by Highway's vqsort (Blacher et al. 2022, "Vectorized and
// performance-portable quicksort"). Called by kernels/order/sort.cc, which makes integers of
// everything. Threads sort a run each, and then merge pairs of runs together.
#pragma once

#include <cstdint>

namespace frazil {

// `scratch` has room for n, too; the result lies in `keys`.
void SortKeys(int32_t* keys, int64_t n, int32_t* scratch);
void SortKeys(int64_t* keys, int64_t n, int64_t* scratch);

}  // namespace frazil
