// The rules of repeats that go beyond one instruction: order, one next for each carry, counts and
// scalars. Called by Verify() alone. Invariant: a kernel without a repeat passes untouched, unless
// it reads an `each` scalar.
#pragma once

#include "jit/kir/kir.h"

namespace frazil::kir {

// Operands, types and the nesting of regions are in order already.
Status CheckRepeats(const Kernel& kernel);

}  // namespace frazil::kir
