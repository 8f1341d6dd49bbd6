// Products and convolutions of int8 that was converted to int32 read it as it was: the bits are those
// of 32-bit sums, the bytes a quarter, and processors multiply bytes four times as fast. Products by
// a matrix of 16-bit floats that was converted to float32, as the weights of a layer are that is
// stored in 16 bits, read that as it was, too: half the bytes, each widened on its way into a
// register. Between the conversion and its reader may stand views. Nodes whose operands are int8 and
// whose elements are int32, and products of float32 and 16-bit floats, stand in graphs behind these
// passes alone (jit/graph/verify.cc); other devices than the CPU, and loops over scalars, do not see
// them.
#include <algorithm>
#include <vector>

#include "absl/algorithm/container.h"
#include "jit/graph/passes/must.h"
#include "jit/graph/passes/passes.h"

namespace frazil::jit {
namespace {

// A converted operand: what was converted, and the views of the result, the outermost first. Their
// layouts do not change with what they are views of.
struct Converted {
  int32_t from = -1;
  std::vector<int32_t> views;
};

// None where the operand was not converted to `to` from a dtype that `suits`.
template <typename Suits>
Converted FindConverted(const std::vector<Node>& nodes, int32_t id, DType to, const Suits& suits) {
  Converted found;
  while (nodes[id].view && !nodes[id].input && nodes[id].role == Role::kOp &&
         nodes[id].operands.size() == 1 && nodes[id].dtype == to) {
    found.views.push_back(id);
    id = nodes[id].operands[0];
  }
  const Node& n = nodes[id];
  if (n.input || n.role != Role::kOp || n.op != OpId::k_astype || n.dtype != to) return {};
  const Node& from = nodes[n.operands[0]];
  if (from.immediate || !suits(from.dtype)) return {};
  if (!found.views.empty() && !(from.layout == n.layout)) return {};
  found.from = n.operands[0];
  return found;
}

// What the operands of a node become: those that are none stay.
using Rewritten = std::vector<Converted>;

Rewritten OfBytes(const std::vector<Node>& nodes, const Node& n) {
  if ((n.op != OpId::k_matmul && n.op != OpId::k_conv2d) || n.dtype != DType::kI32) return {};
  Rewritten both;
  for (const int32_t operand : n.operands) {
    both.push_back(
        FindConverted(nodes, operand, DType::kI32, [](DType from) { return from == DType::kI8; }));
    if (both.back().from < 0) return {};
  }
  return both;
}

Rewritten OfHalves(const std::vector<Node>& nodes, const Node& n) {
  if (n.op != OpId::k_matmul || n.dtype != DType::kF32) return {};
  Rewritten right(2);
  right[1] = FindConverted(nodes, n.operands[1], DType::kF32,
                           [](DType from) { return from == DType::kF16 || from == DType::kBF16; });
  return right[1].from < 0 ? Rewritten() : right;
}

bool Rewrite(Graph* graph, Rewritten (*find)(const std::vector<Node>&, const Node&)) {
  std::vector<Rewritten> rewritten(graph->nodes.size());
  bool changed = false;
  for (size_t i = 0; i < graph->nodes.size(); ++i) {
    Node& n = graph->nodes[i];
    if (n.loop && !n.loop->scalars) {
      Loop loop = *n.loop;
      if (Rewrite(&loop.body, find)) {
        n.loop = LoopRef(new Loop(std::move(loop)));
        changed = true;
      }
    }
    if (n.input || n.role != Role::kOp || !(n.device == Device())) continue;
    rewritten[i] = find(graph->nodes, n);
  }
  const auto stays = [](const Rewritten& operands) { return operands.empty(); };
  if (std::all_of(rewritten.begin(), rewritten.end(), stays)) return changed;

  const std::vector<Node> old = std::move(graph->nodes);
  graph->nodes.clear();
  std::vector<int32_t> now;
  for (size_t i = 0; i < old.size(); ++i) {
    Node moved = old[i];
    for (int32_t& x : moved.operands) x = now[x];
    for (size_t at = 0; at < rewritten[i].size(); ++at) {
      const Converted& operand = rewritten[i][at];
      if (operand.from < 0) continue;
      int32_t x = now[operand.from];
      for (auto view = operand.views.rbegin(); view != operand.views.rend(); ++view)
        x = Must(graph->AddOp(old[*view].op, {x}, old[*view].attrs, old[*view].origin));
      moved.operands[at] = x;
    }
    now.push_back(static_cast<int32_t>(graph->nodes.size()));
    graph->nodes.push_back(std::move(moved));
  }
  for (int32_t& x : graph->outputs) x = now[x];
  Dce(graph);
  return true;
}

// What a node converts from int8 to int32, or -1.
int32_t Widened(const Graph& graph, int32_t id) {
  const Converted found =
      FindConverted(graph.nodes, id, DType::kI32, [](DType from) { return from == DType::kI8; });
  return found.views.empty() ? found.from : -1;
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

// Gives a loop as it was what its operands were converted from.
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

// What is converted outside of loops that multiply by it in every iteration they get as it was.
bool IntoLoops(Graph* graph) {
  bool changed = false;
  for (Node& n : graph->nodes) {
    if (!n.loop || n.loop->scalars) continue;
    Loop loop = *n.loop;
    const bool handed = HandIn(*graph, &n, &loop);
    if (!IntoLoops(&loop.body) && !handed) continue;
    n.loop = LoopRef(new Loop(std::move(loop)));
    changed = true;
  }
  if (changed) Dce(graph);
  return changed;
}

}  // namespace

void Wide(Graph* graph) {
  IntoLoops(graph);
  Rewrite(graph, OfBytes);
}

void Halves(Graph* graph) { Rewrite(graph, OfHalves); }

}  // namespace frazil::jit
