// A stack of what the iterations of a loop made. Called by the roll pass (roll_steps.cc).
// Invariant: the elements are those of the concatenation.
#pragma once

#include "jit/graph/graph.h"

namespace frazil::jit {

// Adds a concatenation, whose operands are in `graph`, to it. Operands that are successive
// iterations of one value (graph.h, kEvery) become one operand, a view; if that is all there is, it
// is the result. Returns where the result is.
int32_t ConcatSlices(const Node& node, Graph* graph);

}  // namespace frazil::jit
