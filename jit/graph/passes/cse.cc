#include "absl/container/flat_hash_set.h"
#include "absl/hash/hash.h"
#include "jit/graph/passes/passes.h"

namespace frazil::jit {
namespace {

// Nodes as what decides their value once their operands are known to be the same.
struct Calls {
  const std::vector<Node>& nodes;

  size_t operator()(int32_t id) const {
    const Node& n = nodes[id];
    return absl::HashOf(n.op, n.attrs, n.operands);
  }
  bool operator()(int32_t a, int32_t b) const {
    const Node &x = nodes[a], &y = nodes[b];
    return x.op == y.op && x.attrs == y.attrs && x.operands == y.operands;
  }
};

}  // namespace

void Cse(Graph* graph) {
  const Calls calls{graph->nodes};
  absl::flat_hash_set<int32_t, Calls, Calls> first(graph->nodes.size(), calls, calls);
  std::vector<int32_t> same(graph->nodes.size());
  for (int32_t id = 0; id < static_cast<int32_t>(same.size()); ++id) {
    Node& node = graph->nodes[id];
    same[id] = id;
    if (node.input) continue;
    for (int32_t& operand : node.operands) operand = same[operand];
    same[id] = *first.insert(id).first;
  }
  for (int32_t& output : graph->outputs) output = same[output];
}

}  // namespace frazil::jit
