// Loops over small arrays, as scalars. A body that indexes, stacks and multiplies arrays of a few
// elements is many steps, each of which takes longer to start than to run. Written out element by
// element (jit/lower/scalar_loop.h) it is one kernel: what only moves elements (indexing, stacking,
// reshaping, assigning to elements) is nothing at all there, a product is a chain of multiply-adds
// by the rule of core/SEMANTICS.md, a reduction its tree; the state lies in registers, and what
// moves with the iterations (x[t], and y[t] that is kept) is loaded and stored where it lies.
//
// Marked by the pass `scalars` (passes/write_out.cc) in the loop itself (Loop::scalars), if that is
// faster than steps by the cost model. Asked by the roll pass, which bodies are worth a loop for
// that. CPU only, as all loops are.
// Invariant: a marked loop MayBeScalars, and its kernel has the bits of its ops one by one.
#pragma once

#include "jit/graph/graph.h"

namespace frazil::jit {

// Whether the loop at node `id` can be written out.
bool MayBeScalars(const Graph& graph, int32_t id);
// Whether that is the faster way.
bool IsWorthScalars(const Graph& graph, int32_t id);

// Of a body that is no loop yet: whether its nodes are small enough, and move elements in ways that
// kernels do not know.
bool MovesElements(absl::Span<const Node> body);

// About how long an iteration takes, in nanoseconds.
double TimeOfScalars(const Graph& body);

}  // namespace frazil::jit
