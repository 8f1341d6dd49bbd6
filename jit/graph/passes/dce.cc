#include "jit/graph/passes/passes.h"

namespace frazil::jit {

void Dce(Graph* graph) {
  const int32_t count = static_cast<int32_t>(graph->nodes.size());
  std::vector<bool> live(count, false);
  for (const int32_t output : graph->outputs) live[output] = true;
  for (int32_t id = count - 1; id >= 0; --id) {
    if (id < graph->num_inputs) live[id] = true;  // callers pass inputs by position
    if (!live[id]) continue;
    for (const int32_t operand : graph->nodes[id].operands) live[operand] = true;
  }
  std::vector<int32_t> moved(count, -1);
  int32_t kept = 0;
  for (int32_t id = 0; id < count; ++id) {
    if (!live[id]) continue;
    Node& node = graph->nodes[id];
    for (int32_t& operand : node.operands) operand = moved[operand];
    moved[id] = kept;
    if (kept != id) graph->nodes[kept] = std::move(node);
    ++kept;
  }
  graph->nodes.resize(kept);
  for (int32_t& output : graph->outputs) output = moved[output];
}

}  // namespace frazil::jit
