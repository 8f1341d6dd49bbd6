#include "core/memory/large_blocks.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstdint>
#include <iterator>

namespace frazil {
namespace {

constexpr size_t kHugePage = size_t{2} << 20;
constexpr int kTried = 64;
constexpr size_t kReservation = size_t{1} << 30;  // addresses only: pages come when touched

}  // namespace

void LargeBlocks::Add(char* at, Range range) {
  free_.emplace(at, range);
  by_size_.emplace(range.bytes, at);
  kept_ += range.kept;
}

void LargeBlocks::Remove(Ranges::iterator it) {
  kept_ -= it->second.kept;
  by_size_.erase({it->second.bytes, it->first});
  free_.erase(it);
}

char* LargeBlocks::Take(size_t bytes, size_t* fresh) {
  const auto smallest = by_size_.lower_bound({bytes, nullptr});
  if (smallest == by_size_.end()) return nullptr;
  // The first one keeps the rest together; where there are many, the smallest is found sooner.
  auto it = free_.begin();
  for (int tried = 0; tried < kTried && it->second.bytes < bytes; ++tried) {
    if (++it == free_.end()) break;
  }
  if (it == free_.end() || it->second.bytes < bytes) it = free_.find(smallest->second);
  const auto [at, range] = *it;
  Remove(it);
  const size_t kept = std::min(bytes, range.kept);
  if (range.bytes > bytes) Add(at + bytes, {range.bytes - bytes, range.kept - kept});
  live_ += bytes;
  peak_ = std::max(peak_, live_);
  *fresh = bytes - kept;
  return at;
}

void LargeBlocks::Give(char* data, size_t bytes, size_t fresh) {
  live_ -= bytes;
  Range whole{bytes, bytes - fresh};
  char* at = data;
  auto next = free_.lower_bound(data);
  if (next != free_.end() && next->first == data + bytes) {
    whole.bytes += next->second.bytes;
    whole.kept += next->second.kept;
    Remove(next++);
  }
  if (next != free_.begin()) {
    const auto before = std::prev(next);
    if (before->first + before->second.bytes == data) {
      at = before->first;
      whole.bytes += before->second.bytes;
      whole.kept += before->second.kept;
      Remove(before);
    }
  }
  Add(at, whole);
}

bool LargeBlocks::Reserve(size_t bytes) {
  for (const size_t room : {std::max(bytes, kReservation), bytes}) {
    const size_t ask = room + kHugePage;  // blocks may begin on a huge page
    void* const p = mmap(nullptr, ask, PROT_READ | PROT_WRITE,
                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (p == MAP_FAILED) continue;
    madvise(p, ask, MADV_HUGEPAGE);
    char* const start = static_cast<char*>(p);
    const size_t skip = (kHugePage - reinterpret_cast<uintptr_t>(p) % kHugePage) % kHugePage;
    if (skip > 0) munmap(start, skip);
    live_ += ask - skip;  // as Give takes it off
    Give(start + skip, ask - skip, ask - skip);
    return true;
  }
  return false;
}

void LargeBlocks::Release(size_t bytes) {
  const size_t least = kept_ - std::min(kept_, bytes);
  for (auto it = by_size_.rbegin(); it != by_size_.rend() && kept_ > least; ++it) {
    Range& range = free_.find(it->second)->second;
    if (range.kept == 0) continue;
    madvise(it->second, range.bytes, MADV_DONTNEED);
    kept_ -= std::exchange(range.kept, 0);
  }
}

void LargeBlocks::Trim() {
  for (const auto& [at, range] : free_) munmap(at, range.bytes);
  free_.clear();
  by_size_.clear();
  kept_ = 0;
}

}  // namespace frazil
