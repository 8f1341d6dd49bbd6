// Loops of steps: a repeated body with products or reductions becomes a graph of its own (graph.h).
// Called by the roll pass alone (roll.cc).
// Invariant: each iteration computes what the nodes that it stands for did, by the same ops.
#pragma once

#include "jit/graph/graph.h"

namespace frazil::jit {

// Nothing where a value of the graph is not on the CPU: plans of other devices have no such loops.
void RollSteps(Graph* graph);

}  // namespace frazil::jit
