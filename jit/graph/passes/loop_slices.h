// Slices that iterations of loops take, and slices and stacks of what they made. Called by the roll
// pass alone (roll.cc, loop_writer.cc). Invariant: elements and layouts stay as they are.
#pragma once

#include "jit/graph/graph.h"

namespace frazil::jit {

// Slices that differ from iteration to iteration, as of an input by time, go before the bodies that
// read them: they come behind what they are slices of, and so do views of them that several nodes
// read, in other iterations perhaps (x[t] and x[t + 1]). So a backward pass, whose iterations read
// slices of what loops before it keep in reverse order, is a loop as well.
Graph WithSlicesFirst(const Graph& graph);

// Adds a concatenation, whose operands are in `graph`, to it. Operands that are successive, forwards
// or backwards,
// iterations of one value (graph.h, kEvery) become one operand, a view; if that is all there is, it
// is the result. Returns where the result is.
int32_t ConcatSlices(const Node& node, Graph* graph);

// A few iterations that are results would keep the array of all: they are copied out of it, unless
// a copy would lie in memory in another way.
void CopyFewResults(Graph* graph);

}  // namespace frazil::jit
