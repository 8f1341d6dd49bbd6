// Recompute: where many values wait for late readers, cheap ones are computed again instead. In a
// training step the readers are the backward pass, the peak lies between the passes, and what is
// computed again runs inside the kernels that need it. Called by Compile between two groupings.
// Invariant: bits do not change: the same ops on the same operands, done twice.
#pragma once

#include <optional>

#include "jit/graph/groups.h"

namespace frazil::jit {

// The graph with copies of cheap nodes for the readers behind its fullest moment, such that the
// fewest bytes wait there (a minimum cut). Empty if less than `worth` bytes wait there, or nothing
// that waits is cheap. `copies` tells Fuse which nodes are copies.
std::optional<Graph> Recompute(const Graph& graph, const Grouping& grouping, int64_t worth,
                               Copies* copies);

// The most bytes of stored values that live at once when the groups run in order.
int64_t PeakBytes(const Graph& graph, const Grouping& grouping);

}  // namespace frazil::jit
