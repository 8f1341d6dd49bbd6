// A loop over small arrays as one kernel of scalars (jit/graph/scalar_loop.h). Called by Lower for
// groups of that kind.
// Invariant: an element is made by the ops, in the order and with the roundings, that make it
// eagerly (core/SEMANTICS.md).
#pragma once

#include "jit/lower/lower.h"

namespace frazil::jit {

// The loop at group.nodes[0] with its results, which follow it.
Launch LowerScalarLoop(const Graph& graph, const Group& group);

}  // namespace frazil::jit
