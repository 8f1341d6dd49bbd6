// The processor's caches, for choosing the sizes of blocks. Called by kernels.
// Invariant: asked of the system once; sizes change speed only, never a result.
#pragma once

#include <cstdint>

namespace frazil {

// Bytes of one core's second-level cache, and of the last cache; a common size where the system
// does not tell.
int64_t SecondLevelCacheBytes();
int64_t LastLevelCacheBytes();

}  // namespace frazil
