// A copy that turns a matrix: what lies together in the operand lies apart in the result. Called by
// lower.cc for groups that are one copy. Invariant: the result is that of any other copy.
#pragma once

#include <optional>

#include "jit/lower/lower.h"

namespace frazil::jit {

// Rows of 16 elements that lie together, lanes along the last axis: the x86 emitter reads such rows
// as they are and turns 16 of them in registers, where a gather would touch 16 lines of the cache
// for each vector. None where the copy is another one, for which the general way is as good.
std::optional<Launch> LowerTransposedCopy(const Graph& graph, int32_t id);

}  // namespace frazil::jit
