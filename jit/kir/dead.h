// Removes what no store needs. Called by emitters that run every instruction they are given.
// Invariant: the meaning does not change; buffers and scalars stay, also those that nothing uses
// any more.
#pragma once

#include "jit/kir/kir.h"

namespace frazil::kir {

// `kernel` must verify.
Kernel RemoveDead(const Kernel& kernel);

}  // namespace frazil::kir
