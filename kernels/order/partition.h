// Rows around one of their elements: the elements before it in order, those equal to it, and those
// behind it, each of the three as they stood. Called by jit/library/order.cc. Invariant: order as in
// sort.h; the same result for any number of threads and any instruction set.
#pragma once

#include "kernels/order/sort.h"

namespace frazil {

// args.descending is false; 0 <= kth < args.n.
void Partition(const SortArgs& args, int64_t kth);
void ArgPartition(const SortArgs& args, int64_t kth);

}  // namespace frazil
