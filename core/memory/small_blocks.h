// Small blocks for values, tape nodes and small storages: per-thread free lists over slabs.
// Called by core/memory/allocator.cc, value.h and the tape. Invariant: a block may be freed by any
// thread; blocks are 64-byte aligned; slabs are kept for the life of the process (their number
// follows the peak, not the number of calls).
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

#include "core/threads/tls.h"

#pragma GCC visibility push(default)
namespace frazil {

// Blocks come in classes by size: 64 << 0 ... 64 << 7 bytes.
inline constexpr int kBlockClasses = 8;
inline constexpr size_t kMaxSmallBlock = size_t{64} << (kBlockClasses - 1);

constexpr int BlockClass(size_t bytes) {
  return bytes <= 64 ? 0 : static_cast<int>(std::bit_width((bytes - 1) / 64));
}
constexpr size_t BlockBytes(int block_class) { return size_t{64} << block_class; }

// What a thread keeps of one class.
struct OwnBlocks {
  void* head;    // each block begins with the next one's address
  int64_t room;  // how many more it keeps before it shares half
};
extern FZ_HOT_TLS OwnBlocks t_blocks[kBlockClasses];
void* TakeSharedBlock(int block_class);
void ShareBlocks(int block_class);

#if defined(__SANITIZE_ADDRESS__)
// The sanitizer sees every object by itself.
void* TakeBlock(int block_class);
void GiveBlock(void* block, int block_class);
#else
inline void* TakeBlock(int block_class) {
  OwnBlocks& own = t_blocks[block_class];
  void* const block = own.head;
  if (__builtin_expect(block == nullptr, 0)) return TakeSharedBlock(block_class);
  own.head = *static_cast<void**>(block);
  ++own.room;
  return block;
}
inline void GiveBlock(void* block, int block_class) {
  OwnBlocks& own = t_blocks[block_class];
  *static_cast<void**>(block) = own.head;
  own.head = block;
  if (__builtin_expect(--own.room < 0, 0)) ShareBlocks(block_class);
}
#endif

}  // namespace frazil
#pragma GCC visibility pop
