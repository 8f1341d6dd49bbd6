// The scalars pass: loops over small arrays are written out as scalars where that is faster
// (jit/graph/scalar_loop.h). Outer loops first: what stands inside of one is a part of it; what
// stands around them last (around_loops.cc).
#include "jit/graph/passes/passes.h"
#include "jit/graph/scalar_loop.h"

namespace frazil::jit {

void WriteOut(Graph* graph) {
  bool any = false;
  for (int32_t id = graph->num_inputs; id < static_cast<int32_t>(graph->nodes.size()); ++id) {
    LoopRef& loop = graph->nodes[id].loop;
    if (!loop) continue;
    Loop other = *loop;
    other.scalars = IsWorthScalars(*graph, id);
    if (!other.scalars) {
      if (!HasLoops(other.body)) continue;
      WriteOut(&other.body);
    }
    any |= other.scalars;
    loop = LoopRef(new Loop(std::move(other)));
  }
  if (any) WriteOutAround(graph);
}

}  // namespace frazil::jit
