// Loops over small arrays, as scalars. A body that indexes, stacks and multiplies arrays of a few
// elements is many steps, each of which takes longer to start than to run. Written out element by
// element (jit/lower/scalar_loop.h) it is one kernel: what only moves elements (indexing, stacking,
// reshaping, assigning to elements) is nothing at all there, a product is a chain of multiply-adds
// by the rule of core/SEMANTICS.md, a reduction its tree; the state lies in registers, and what
// moves with the iterations (x[t], and y[t] that is kept) is loaded and stored where it lies.
//
// Independent instances, as of a thousand trajectories, fill the lanes of vectors and the threads: if
// an axis of the state is one that no op mixes, the kernel runs along it, and what is written out
// is the body of one instance, where that axis has one element.
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

// Of a body that is no loop yet: whether it moves elements in ways that kernels do not know, and
// does nothing else that cannot be written out.
bool MovesElements(absl::Span<const Node> body);

// Of a node of one instance: whether it can be written out.
bool MayBeWrittenOut(const Node& node);

// A loop's body as it is written out.
struct ScalarBody {
  Graph graph;  // of one instance; inputs and outputs as in the loop's
  int64_t instances =
      1;            // extent of the axis that they lie along, in all that has one of that extent
  double time = 0;  // about how long an iteration takes, in nanoseconds
};
// Of a loop that MayBeScalars.
ScalarBody ScalarBodyOf(const Graph& graph, int32_t id);

// The axis of that extent, of more than one, or -1.
int InstanceAxis(const Layout& layout, int64_t instances);

}  // namespace frazil::jit
