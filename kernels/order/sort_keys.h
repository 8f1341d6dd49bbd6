// Integers in ascending order. Called by kernels/order/sort.cc, which makes integers of everything.
// Quicksort by vectors where there is AVX-512, by digits elsewhere; what is large is first parted
// by pivots, so that threads have parts of their own.
#pragma once

#include <cstdint>

namespace frazil {

// `scratch` has room for n, too; the result lies in `keys`.
void SortKeys(int32_t* keys, int64_t n, int32_t* scratch);
void SortKeys(int64_t* keys, int64_t n, int64_t* scratch);

}  // namespace frazil
