// Duplicate: a value that one kernel stores for others to load is computed in each of them instead,
// where that takes less time (core/cost.h): masks, casts and normalised rows that kernels need
// which cannot be one. Called by Compile behind the last grouping. Invariant: bits do not change:
// the same ops on the same operands, done several times; what is stored for the caller stays
// stored.
#pragma once

#include <optional>

#include "jit/graph/groups.h"

namespace frazil::jit {

// The graph with a copy of a node for each further kernel that computes it, and its grouping. Empty
// if no copy saves time, or copies would take more memory.
struct Duplicated {
  Graph graph;
  Grouping grouping;
};
std::optional<Duplicated> Duplicate(const Graph& graph, const Grouping& grouping,
                                    KnownKernels* known = nullptr);

}  // namespace frazil::jit
