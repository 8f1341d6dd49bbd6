// Storage: a block of memory with its own holder count. Values share storages (views), exports to
// NumPy hold one, foreign memory is wrapped in one. Called by the allocator, values, plans and the
// bindings. Invariants: the bytes at `data` are valid while holders() > 0; a storage with one
// holder may be written in place by that holder unless it is foreign.
//
// A small storage is part of one block with its bytes, and in front of it there is room for the
// value that is made over it first (core/value.h): a small array is one block. The block is freed
// with the storage, which the value holds like any other.
//
// The two have counts of their own: views and exports hold the storage, and with it the block,
// which is freed when the last of them goes. Only the first value over a fresh storage lies in the
// block; later ones, over the same memory, are blocks of their own.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <new>
#include <vector>

#include "core/memory/small_blocks.h"
#include "core/ref.h"
#include "core/status.h"

#pragma GCC visibility push(default)
namespace frazil {

class Storage : public RefCounted {
 public:
  // Borrowed, or lent: never written, ops that read it are never deferred. Who borrowed gives it
  // back on any thread.
  std::atomic<bool> foreign = false;
  bool room = false;        // the place for a value in front of it has not been taken
  int8_t block_class = -1;  // of the small block that it is part of; -1: an OwnedStorage
  char* data = nullptr;

  static void Free(Storage* s);
};
using StorageRef = Ref<Storage>;

// What is not part of a small block.
class OwnedStorage : public Storage {
 public:
  // Gives the memory back; set by whoever made the storage.
  void (*release)(OwnedStorage*) = nullptr;
  void* context = nullptr;
};

inline constexpr size_t kValueRoom = 48;  // in front of a small storage: sizeof(Value)
inline constexpr size_t kSmallHeader = kValueRoom + sizeof(Storage);
static_assert(kSmallHeader == 64, "elements are aligned as kernels expect");
inline constexpr size_t kSmallData = kMaxSmallBlock - kSmallHeader;

// CPU memory from the caching allocator (core/memory/allocator.cc): aligned to 64 bytes below 4 KiB
// and to 256 above; contents undefined. MemoryError before a page is touched if the machine cannot
// hold it.
StatusOr<StorageRef> Allocate(size_t bytes);

// Wraps memory owned elsewhere; `done(context)` is called when the last holder is gone.
StorageRef WrapForeign(void* data, void (*done)(void*), void* context);

// Rows of fz.memory.stats(): bytes and counts of CPU storages. What other threads did lately with
// small storages may be missing, and a peak of small ones, up to 64 KiB a thread.
struct MemoryStats {
  int64_t live_bytes;       // in storages that exist now
  int64_t peak_bytes;       // highest live_bytes since the last reset
  int64_t cached_bytes;     // kept for reuse
  int64_t allocations;      // calls of Allocate
  int64_t system_requests;  // of those, calls that went to the operating system
};
MemoryStats GetMemoryStats();

// Blocks of over 4 KiB in use or kept, of one size.
struct BlockCount {
  int64_t bytes, live, cached;
};
std::vector<BlockCount> GetBlockCounts();  // what takes most first
void ResetPeakMemory();
// Gives cached blocks back to the operating system.
void TrimMemory();

// What this thread has not yet added to the counters: small storages come and go too often for
// shared words.
struct Uncounted {
  int64_t live, calls;
  int64_t live_limit, calls_limit;  // 0 outside of the thread's life: everything is added at once
};
extern FZ_HOT_TLS Uncounted t_uncounted;
void CountMemoryNow();

inline void CountLive(int64_t bytes) {
  Uncounted& u = t_uncounted;
  u.live += bytes;
  if (__builtin_expect(
          static_cast<uint64_t>(u.live + u.live_limit) > static_cast<uint64_t>(2 * u.live_limit),
          0))
    CountMemoryNow();
}
inline void CountAllocation() {
  if (__builtin_expect(++t_uncounted.calls > t_uncounted.calls_limit, 0)) CountMemoryNow();
}

// A storage of its own for at most kSmallData bytes: of the class of that and kSmallHeader.
inline Storage* NewSmallStorage(int block_class) {
  char* const block = static_cast<char*>(TakeBlock(block_class));
  auto* s = new (block + kValueRoom) Storage;
  s->room = true;
  s->block_class = static_cast<int8_t>(block_class);
  s->data = block + kSmallHeader;
  CountAllocation();
  CountLive(static_cast<int64_t>(BlockBytes(block_class)));
  return s;
}

inline void Storage::Free(Storage* s) {
  const int block_class = s->block_class;
  if (__builtin_expect(block_class < 0, 0)) {
    auto* owned = static_cast<OwnedStorage*>(s);
    return owned->release(owned);
  }
  CountLive(-static_cast<int64_t>(BlockBytes(block_class)));
  GiveBlock(reinterpret_cast<char*>(s) - kValueRoom, block_class);
}

}  // namespace frazil
#pragma GCC visibility pop
