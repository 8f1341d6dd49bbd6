// Products of int8 that was converted to int32 read it as it was: the bits are those of 32-bit
// sums, the bytes a quarter, and processors multiply bytes four times as fast. A product whose
// operands are int8 and whose elements are int32 stands in graphs behind this pass alone
// (jit/graph/verify.cc); other devices than the CPU, and loops over scalars, do not see it.
#include "jit/graph/passes/passes.h"

namespace frazil::jit {
namespace {

// What a node converts from int8 to int32, or -1.
int32_t Widened(const Graph& graph, int32_t id) {
  const Node& n = graph.nodes[id];
  if (n.input || n.role != Role::kOp || n.op != OpId::k_astype || n.dtype != DType::kI32) return -1;
  const Node& from = graph.nodes[n.operands[0]];
  return from.dtype == DType::kI8 && !from.immediate ? n.operands[0] : -1;
}

bool WidenIn(Graph* graph) {
  bool changed = false;
  for (Node& n : graph->nodes) {
    if (n.loop && !n.loop->scalars) {
      Loop loop = *n.loop;
      if (WidenIn(&loop.body)) {
        n.loop = LoopRef(new Loop(std::move(loop)));
        changed = true;
      }
    }
    if (n.input || n.role != Role::kOp || n.op != OpId::k_matmul || n.dtype != DType::kI32 ||
        !(n.device == Device()))
      continue;
    const int32_t a = Widened(*graph, n.operands[0]), b = Widened(*graph, n.operands[1]);
    if (a < 0 || b < 0) continue;
    n.operands[0] = a;
    n.operands[1] = b;
    changed = true;
  }
  if (changed) Dce(graph);
  return changed;
}

}  // namespace

void Wide(Graph* graph) { WidenIn(graph); }

}  // namespace frazil::jit
