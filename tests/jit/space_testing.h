// Spaces of graphs as text. Used by the tests of spaces alone.
#pragma once

#include <optional>
#include <vector>

#include "core/str.h"
#include "jit/graph/space.h"
#include "tests/jit/plan_testing.h"

namespace frazil::jit {

// Of all nodes that are no inputs and no views, with the graph's results stored.
inline std::optional<Space> SpaceOf(const Graph& graph) {
  std::vector<int32_t> nodes;
  for (int32_t id = graph.num_inputs; id < int32_t(graph.nodes.size()); ++id) {
    if (!graph.nodes[id].view) nodes.push_back(id);
  }
  return Analyse(graph, nodes, graph.outputs);
}
inline std::optional<Space> SpaceOf(std::string_view text) { return SpaceOf(MustParse(text)); }

}  // namespace frazil::jit
