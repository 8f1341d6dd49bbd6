// Recompute: where many values wait for late readers, cheap ones are computed again instead. In a
// training step the readers are the backward pass, the peak lies between the passes, and what is
// computed again runs inside the kernels that need it. Called by Compile between two groupings.
// Invariant: bits do not change: the same ops on the same operands, done twice.
//
// In a training step forward and backward pass are one plan as long as nothing in between is read.
// Before the final grouping, this pass looks for the moment when most bytes wait for
// late readers and takes a minimum cut through what was computed before it: matmuls and reductions
// must be kept, elementwise work may be done again from what is kept. Copies stand before their
// first late reader, are fused into its kernel, and never join the kernel they are a copy of
// (Copies::MayJoin). It happens only where 4 MiB or more wait and the peak falls by a sixteenth;
// FRAZIL_PASSES=-recompute switches it off.
//
// That needs the tape to be gone when the plan is made: what a loss still holds is a result. A
// backward pass frees each node that it has passed unless somebody else holds it. fz.grad and
// value_and_grad give the history away; loss.backward() keeps it, for a second pass, unless
// retain_graph=False is given.
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
