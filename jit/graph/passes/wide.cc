// Products of int8 that was converted to int32 read it as it was: the bits are those of 32-bit
// sums, the bytes a quarter, and processors multiply bytes four times as fast. A product whose
// operands are int8 and whose elements are int32 stands in graphs behind this pass alone
// (jit/graph/verify.cc); other devices than the CPU, and loops over scalars, do not see it.
#include "absl/algorithm/container.h"
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

bool IsProduct(const Node& n) {
  return !n.input && n.role == Role::kOp && n.op == OpId::k_matmul && n.dtype == DType::kI32 &&
         n.device == Device();
}

// Whether nodes of `graph` read `id` in products alone, whose other operands are widened.
bool MeetsWidened(const Graph& graph, int32_t id) {
  if (absl::c_linear_search(graph.outputs, id)) return false;
  for (const Node& n : graph.nodes) {
    for (size_t i = 0; i < n.operands.size(); ++i) {
      if (n.operands[i] != id) continue;
      if (!IsProduct(n) || n.operands[1 - i] == id || Widened(graph, n.operands[1 - i]) < 0)
        return false;
    }
  }
  return true;
}

// What is converted outside of a loop that reads it in every iteration: the loop gets it as it was.
bool HandIn(const Graph& graph, Node* node, Loop* loop) {
  bool changed = false;
  for (size_t k = 0; k < loop->sources.size(); ++k) {
    Loop::Source& source = loop->sources[k];
    const int32_t id = static_cast<int32_t>(k);
    if (source.kind != Loop::Source::Kind::kSame) continue;
    const int32_t from = Widened(graph, node->operands[source.operand]);
    if (from < 0 || !MeetsWidened(loop->body, id)) continue;
    for (Node& n : loop->body.nodes) {
      for (size_t i = 0; i < n.operands.size(); ++i) {
        if (n.operands[i] == id) n.operands[1 - i] = Widened(loop->body, n.operands[1 - i]);
      }
    }
    loop->body.nodes[k].dtype = DType::kI8;
    loop->body.nodes[k].layout = graph.nodes[from].layout;
    node->operands[source.operand] = from;
    changed = true;
  }
  if (changed) Dce(&loop->body);
  return changed;
}

bool WidenIn(Graph* graph) {
  bool changed = false;
  for (Node& n : graph->nodes) {
    if (n.loop && !n.loop->scalars) {
      Loop loop = *n.loop;
      const bool handed = HandIn(*graph, &n, &loop);
      if (WidenIn(&loop.body) || handed) {
        n.loop = LoopRef(new Loop(std::move(loop)));
        changed = true;
      }
    }
    if (!IsProduct(n)) continue;
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
