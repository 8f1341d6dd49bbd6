// Graphs and groupings as bytes that mean the same in every process of one build: keys and values
// of what is kept on disk. Called by jit/plan/compile. Invariant: Unpack of what Pack wrote
// gives an equal graph; of any other bytes a graph whose ids, types and ops are in range, or
// nothing.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "jit/graph/groups.h"

namespace frazil::jit {

// Everything but the texts of origins; their numbers are kept. Equal bytes mean equal graphs.
std::string Pack(const Graph& graph);
std::string Pack(const Grouping& grouping);

// Takes what it reads off the front of `bytes`. The graph has no origins; its nodes' are below the
// number of `origins`, and bodies of loops have theirs of these.
std::optional<Graph> UnpackGraph(std::string_view* bytes, const std::vector<std::string>& origins);
std::optional<Grouping> UnpackGrouping(std::string_view* bytes, const Graph& graph);

}  // namespace frazil::jit
