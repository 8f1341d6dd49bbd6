// May a step write its result over one of its operands? Called by the planner.
// Invariant: true only if every element is read, for the last time, at or before the point that
// overwrites it.
#pragma once

#include "absl/functional/function_ref.h"
#include "jit/lower/lower.h"

namespace frazil::jit {

// Of launch buffer `out`, over the memory of the buffers for which `shares` holds. `teams`: several
// threads may work on one point of the space, and each reads what the point has once.
bool MayOverwrite(const Launch& launch, int out, bool teams,
                  absl::FunctionRef<bool(int buffer)> shares);

}  // namespace frazil::jit
