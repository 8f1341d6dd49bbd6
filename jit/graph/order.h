// Order: groups that do not wait for each other run in the order in which the fewest bytes live at
// once: where all products of a list are written before the sums that read them, each sum runs
// behind its product instead. Called by Compile behind the last grouping. Invariant: a group runs
// behind those it reads from; groups and bits stay as they are.
#pragma once

#include <optional>

#include "jit/graph/groups.h"

namespace frazil::jit {

// The same groups in another order. Empty if less than `worth` bytes live at once, if the order
// does not lower that by a part worth having, or if fewer library calls than now have a reader
// right behind them, which may follow their rows while the cache holds them.
std::optional<Grouping> OrderByMemory(const Graph& graph, const Grouping& grouping, int64_t worth);

}  // namespace frazil::jit
