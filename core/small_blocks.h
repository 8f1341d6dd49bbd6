// Small blocks for values, tape nodes and small storages: per-thread free lists over slabs.
// Called by core/allocator.cc and value.cc. Invariant: a block may be freed by any thread; blocks
// are 64-byte aligned; slabs are kept for the life of the process (their number follows the peak,
// not the number of calls).
#pragma once

#include <cstddef>

namespace frazil {

inline constexpr size_t kMaxSmallBlock = 8192;

void* TakeBlock(size_t bytes);              // bytes <= kMaxSmallBlock
void GiveBlock(void* block, size_t bytes);  // the same bytes

}  // namespace frazil
