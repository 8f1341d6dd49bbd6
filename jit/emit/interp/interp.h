// The interpreter: the living definition of the kernel IR, and the lowest tier, which needs no
// executable memory. Called by jit/cache and by every test that compares an emitter. Invariant:
// executes every kernel that verifies; each instruction runs over a block of up to 256 elements
// along the vector axis, and block size never shows in results.
#pragma once

#include <memory>

#include "jit/emit/emitter.h"

namespace frazil::jit {

std::unique_ptr<Emitter> NewInterpreter();

}  // namespace frazil::jit
