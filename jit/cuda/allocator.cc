#include "jit/cuda/allocator.h"

#include <algorithm>
#include <limits>

#include "core/check.h"
#include "core/str.h"
#include "core/threads/at_fork.h"

namespace frazil::cuda {
namespace {

constexpr size_t kAlign = 256;
// Requests up to here share segments; larger ones have a segment each, rounded so that equal-sized
// ones find each other's.
constexpr size_t kShared = size_t{1} << 20, kSharedSegment = size_t{8} << 20;
constexpr size_t kLargeStep = size_t{2} << 20;
// A rest of a large block that is worth keeping apart.
constexpr size_t kLeastLargeRest = size_t{1} << 20;

size_t Rounded(size_t bytes, size_t step) { return (bytes + step - 1) / step * step; }

}  // namespace

Allocator::Allocator(const DriverTable& driver, int device, std::function<Status()> enter,
                     std::function<Status()> wait)
    : driver_(driver), device_(device), enter_(std::move(enter)), wait_(std::move(wait)) {
  HoldAcrossFork(ForkOrder::kMemory, &mutex_);
}

StatusOr<StorageRef> Allocator::Allocate(size_t bytes) {
  const size_t wanted = Rounded(std::max<size_t>(bytes, 1), kAlign);
  if (wanted < bytes || wanted > size_t{1} << 62) {
    MutexLock lock(&mutex_);
    return Full(bytes, "no device is that large");
  }
  MutexLock lock(&mutex_);
  if (stats_.limit > 0 && stats_.live_bytes + int64_t(wanted) > stats_.limit)
    return Full(bytes, StrCat("the limit is ", stats_.limit, " bytes"));
  Block* block = Take(wanted, 2 * wanted);
  if (!block) {
    auto reserved = Reserve(wanted);
    if (!reserved.ok() && KindOf(reserved.status()) == ErrorKind::kMemory)
      block = Take(wanted, std::numeric_limits<size_t>::max());
    if (!block) {
      FZ_ASSIGN_OR_RETURN(block, std::move(reserved));
    }
  }
  Split(block, wanted);
  block->free = false;
  ++stats_.allocations;
  stats_.live_bytes += int64_t(block->bytes);
  stats_.peak_bytes = std::max(stats_.peak_bytes, stats_.live_bytes);
  auto* storage = new OwnedStorage;
  storage->data = reinterpret_cast<char*>(block->address);
  storage->release = Release;
  storage->context = block;
  return StorageRef::Adopt(storage);
}

Allocator::Block* Allocator::Take(size_t bytes, size_t most) {
  const bool shared = bytes <= kShared;
  FreeBlocks& free = FreeLike(shared);
  Block key{0, bytes, true, shared, nullptr, nullptr, this};
  const auto found = free.lower_bound(&key);
  if (found == free.end()) return nullptr;
  Block* block = *found;
  if (!shared && block->bytes > most) return nullptr;  // kept for what needs it
  free.erase(found);
  return block;
}

StatusOr<Allocator::Block*> Allocator::Reserve(size_t bytes) {
  FZ_RETURN_IF_ERROR(enter_());
  const size_t segment = bytes <= kShared ? kSharedSegment : Rounded(bytes, kLargeStep);
  const size_t sizes[] = {segment,
                          Rounded(bytes, kAlign)};  // where memory is short: no more than asked
  CUdeviceptr address = 0;
  for (const bool again : {false, true}) {
    for (const size_t size : sizes) {
      ++stats_.driver_requests;
      const CUresult result = driver_.MemAlloc(&address, size);
      if (result == kSuccess) {
        stats_.retries += again;
        stats_.reserved_bytes += int64_t(size);
        return new Block{address, size, true, bytes <= kShared, nullptr, nullptr, this};
      }
      if (result != kOutOfMemory)
        return DriverStatus(result, "allocate",
                            StrCat("cannot allocate ", bytes, " bytes on cuda:", device_));
    }
    if (!again) TrimLocked();
  }
  return Full(bytes, "the driver has no more");
}

void Allocator::Split(Block* block, size_t bytes) {
  const size_t rest = block->bytes - bytes;
  if (rest < (block->shared ? kAlign : kLeastLargeRest)) return;
  auto* tail =
      new Block{block->address + bytes, rest, true, block->shared, block, block->after, this};
  if (block->after) block->after->before = tail;
  block->after = tail;
  block->bytes = bytes;
  FreeLike(block->shared).insert(tail);
}

void Allocator::Return(Block* block) {
  MutexLock lock(&mutex_);
  stats_.live_bytes -= int64_t(block->bytes);
  block->free = true;
  const auto join = [](Block* left, Block* right) {
    left->bytes += right->bytes;
    left->after = right->after;
    if (right->after) right->after->before = left;
    delete right;
  };
  if (block->after && block->after->free) {
    FreeLike(block->shared).erase(block->after);
    join(block, block->after);
  }
  if (block->before && block->before->free) {
    Block* left = block->before;
    FreeLike(block->shared).erase(left);
    join(left, block);
    block = left;
  }
  FreeLike(block->shared).insert(block);
}

void Allocator::Release(OwnedStorage* storage) {
  auto* block = static_cast<Block*>(storage->context);
  block->owner->Return(block);
  delete storage;
}

void Allocator::Trim() {
  MutexLock lock(&mutex_);
  if (enter_().ok()) TrimLocked();
}

void Allocator::TrimLocked() {
  // The device may still be at work on what the host has let go of.
  if (!wait_().ok()) return;
  for (const bool shared : {false, true}) {
    FreeBlocks& free = FreeLike(shared);
    for (auto it = free.begin(); it != free.end();) {
      Block* block = *it;
      if (block->before || block->after || driver_.MemFree(block->address) != kSuccess) {
        ++it;
        continue;
      }
      stats_.reserved_bytes -= int64_t(block->bytes);
      it = free.erase(it);
      delete block;
    }
  }
}

Status Allocator::Full(size_t bytes, std::string_view why) const {
  return MemoryError("[allocate] cannot allocate ", bytes, " bytes on cuda:", device_, ": ", why,
                     "; ", stats_.live_bytes, " bytes are in use by arrays, ",
                     stats_.reserved_bytes - stats_.live_bytes, " are kept and free.");
}

void Allocator::SetLimit(int64_t bytes) {
  MutexLock lock(&mutex_);
  stats_.limit = bytes;
}

AllocatorStats Allocator::stats() const {
  MutexLock lock(&mutex_);
  return stats_;
}

void Allocator::ResetPeak() {
  MutexLock lock(&mutex_);
  stats_.peak_bytes = stats_.live_bytes;
}

}  // namespace frazil::cuda
