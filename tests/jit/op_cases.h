// One-instruction kernels over a grid of special values: every instruction on every type it exists
// for. Used by the tests of each emitter. Invariant: the list is found by asking Verify, nothing is
// left out by hand.
#pragma once

#include <vector>

#include "tests/jit/kernel_gen.h"

namespace frazil::jit {

std::vector<Case> OpCases();

}  // namespace frazil::jit
