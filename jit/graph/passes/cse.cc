#include "absl/container/flat_hash_map.h"
#include "jit/graph/passes/passes.h"

namespace frazil::jit {
namespace {

// What decides a node's value once its operands are known to be the same.
struct Call {
  OpId op;
  Attrs attrs;
  absl::InlinedVector<int32_t, 3> operands;

  bool operator==(const Call&) const = default;
  template <typename H>
  friend H AbslHashValue(H h, const Call& c) {
    return H::combine(std::move(h), c.op, c.attrs, c.operands);
  }
};

}  // namespace

void Cse(Graph* graph) {
  absl::flat_hash_map<Call, int32_t> first;
  std::vector<int32_t> same(graph->nodes.size());
  for (int32_t id = 0; id < static_cast<int32_t>(same.size()); ++id) {
    Node& node = graph->nodes[id];
    same[id] = id;
    if (node.input) continue;
    for (int32_t& operand : node.operands) operand = same[operand];
    same[id] = first.try_emplace(Call{node.op, node.attrs, node.operands}, id).first->second;
  }
  for (int32_t& output : graph->outputs) output = same[output];
}

}  // namespace frazil::jit
