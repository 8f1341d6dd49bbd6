// Loops of steps: a repeated body with products or reductions becomes a graph of its own (graph.h).
// Called by the roll pass alone (roll.cc).
// Invariant: each iteration computes what the nodes that it stands for did, by the same ops.
//
// The plan runs the body's steps as often as there are iterations (jit/run/loop_step.h). The body
// is grouped, lowered and planned like any graph, once. To the plan around it the loop is one
// step, the body's arena one block; Ctrl-C is looked at between the body's steps.
//
// * What moves: The body's program has slots of its own: what stays the same points to one
//   place, x[t] slides through its array, values that were inputs one by one come from a list, the
//   state lies in two blocks by turns, or in one where the plan may overwrite it. Views of the
//   state, as a stencil reads, may come from the iteration before: they are made again.
//
// * What is kept: What is read of every iteration (hidden states that are stacked, what a
//   backward pass needs) lies in one array, whose slices are what the rest of the graph reads. A
//   stack of all of them is that array; results that are a quarter of it or less are copied out,
//   so that they do not keep the rest.
//
// * Backwards: Slices are moved before the bodies first; so a backward pass, whose iterations
//   read such slices in reverse order, is a loop as well.
//
// * What stays unrolled: A loop of few iterations that would keep much: there computing again
//   what is cheap saves more. One whose arrays would hold more than twice what is read of them.
//   Elementwise bodies from whose middle values are kept, unless values of most iterations are,
//   they run 32 times or more and their state stays in the cache.
//
// Three passes before it take what is common out of the iterations: join makes products of
// successive rows with one matrix (the inputs of a recurrent network) one product, split computes
// what is read in slices alone (its gates) slice by slice, so that each is part of the kernel that
// reads it, and lay_out copies a matrix that the steps read across (h @ w.T) once.
#pragma once

#include "jit/graph/graph.h"

namespace frazil::jit {

// Nothing where a value of the graph is not on the CPU: plans of other devices have no such loops.
void RollSteps(Graph* graph);

}  // namespace frazil::jit
