// Storage: a block of memory with its own holder count. Values share storages (views), exports to
// NumPy hold one, foreign memory is wrapped in one. Called by the allocator, values, plans and the
// bindings. Invariant: `bytes` at `data` are valid while holders() > 0; a storage with one holder
// may be written in place by that holder unless it is foreign.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/ref.h"
#include "core/status.h"

namespace frazil {

class Storage : public RefCounted {
 public:
  char* data = nullptr;
  size_t bytes = 0;      // usable
  bool foreign = false;  // borrowed: never written, ops that read it are never deferred
  // Gives the memory back; set by whoever made the storage.
  void (*release)(Storage*) = nullptr;
  void* context = nullptr;

  static void Free(Storage* s) { s->release(s); }
};
using StorageRef = Ref<Storage>;

// CPU memory from the caching allocator (core/allocator.cc): aligned to 64 bytes below 4 KiB and to
// 256 above; contents undefined. MemoryError before a page is touched if the machine cannot hold
// it.
StatusOr<StorageRef> Allocate(size_t bytes);

// Wraps memory owned elsewhere; `done(context)` is called when the last holder is gone.
StorageRef WrapForeign(void* data, size_t bytes, void (*done)(void*), void* context);

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

}  // namespace frazil
