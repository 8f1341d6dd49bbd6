// Nodes that a pass adds where nothing can be wrong. Called by passes that write graphs anew.
// Invariant: an error is a bug of the pass, and stops the process.
#pragma once

#include <utility>

#include "core/check.h"
#include "jit/graph/graph.h"

namespace frazil::jit {

inline int32_t Must(const StatusOr<int32_t>& id) {
  FZ_CHECK(id.ok());
  return *id;
}

// A node of the graph as it was, whose operands are those of the new one already. Views are
// inferred anew: what they are views of may lie otherwise.
inline int32_t AddAgain(Node node, Graph* graph) {
  if (node.view && !node.input)
    return Must(graph->AddOp(node.op, node.operands, node.attrs, node.origin));
  graph->nodes.push_back(std::move(node));
  return static_cast<int32_t>(graph->nodes.size()) - 1;
}

}  // namespace frazil::jit
