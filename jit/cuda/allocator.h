// Memory of one GPU: blocks from the driver, kept and given out again. Called by Device.
// Invariants: blocks are handed out in stream order (device.h), so a block is free as soon as its
// last holder on the host is gone; when the driver has no more, what is kept and free goes back to
// it and the request is tried again before it is an error.
#pragma once

#include <functional>
#include <set>

#include "core/memory/storage.h"
#include "core/threads/mutex.h"
#include "jit/cuda/libraries.h"

namespace frazil::cuda {

struct AllocatorStats {
  int64_t live_bytes = 0, peak_bytes = 0;  // in storages
  int64_t reserved_bytes = 0;              // had from the driver
  int64_t allocations = 0, driver_requests = 0;
  int64_t retries = 0;  // requests that went through only after a trim
  int64_t limit = 0;    // bytes; 0: what the device has
};

class Allocator {
 public:
  // enter: makes the context current in this thread. wait: for all work of the device.
  Allocator(const DriverTable& driver, int device, std::function<Status()> enter,
            std::function<Status()> wait);

  // 256-byte aligned; at least one byte. MemoryError names what is in use and kept.
  StatusOr<StorageRef> Allocate(size_t bytes);
  // Gives what is kept and free back to the driver.
  void Trim();
  void SetLimit(int64_t bytes);
  AllocatorStats stats() const;
  void ResetPeak();

 private:
  // A piece of a segment had from the driver; pieces of one segment are linked in order of address.
  struct Block {
    CUdeviceptr address;
    size_t bytes;
    bool free;
    bool shared;  // its segment holds many small blocks
    Block *before = nullptr, *after = nullptr;
    Allocator* owner;
  };
  struct Smaller {
    bool operator()(const Block* a, const Block* b) const {
      return a->bytes != b->bytes ? a->bytes < b->bytes : a->address < b->address;
    }
  };

  // Of what is kept; a large one of at most `most` bytes.
  Block* Take(size_t bytes, size_t most) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  StatusOr<Block*> Reserve(size_t bytes) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Split(Block* block, size_t bytes) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Return(Block* block);
  void TrimLocked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  Status Full(size_t bytes, std::string_view why) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  static void Release(OwnedStorage* storage);

  const DriverTable& driver_;
  const int device_;
  const std::function<Status()> enter_, wait_;
  mutable Mutex mutex_;
  using FreeBlocks = std::set<Block*, Smaller>;
  FreeBlocks& FreeLike(bool shared) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return shared ? free_shared_ : free_whole_;
  }
  FreeBlocks free_shared_ ABSL_GUARDED_BY(mutex_), free_whole_ ABSL_GUARDED_BY(mutex_);
  AllocatorStats stats_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace frazil::cuda
