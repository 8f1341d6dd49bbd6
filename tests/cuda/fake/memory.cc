#include "tests/cuda/fake/memory.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <utility>

namespace fake {
namespace {

constexpr size_t kAlign = 512, kPage = 4096;
constexpr size_t kZone = 512;  // before and behind each block
constexpr unsigned char kFresh = 0xff, kFreed = 0xdf, kZoneFill = 0xa5;
// A larger block is filled and checked in its first and last bytes alone.
constexpr size_t kFilled = 8 << 20;

size_t RoundUp(size_t n, size_t to) { return (n + to - 1) / to * to; }

char* At(uint64_t address) { return reinterpret_cast<char*>(address); }

// Both ends of a range, together at most kFilled bytes.
template <typename F>
void Ends(uint64_t address, size_t bytes, F f) {
  if (bytes <= kFilled) return f(address, bytes);
  f(address, kFilled / 2);
  f(address + bytes - kFilled / 2, kFilled / 2);
}

void Fill(uint64_t address, size_t bytes, unsigned char fill) {
  Ends(address, bytes, [fill](uint64_t at, size_t n) { std::memset(At(at), fill, n); });
}

}  // namespace

// Addresses are four times what the device has: holes do not make it run out before its memory
// does.
DeviceMemory::DeviceMemory(size_t bytes)
    : total_(bytes), span_(RoundUp(4 * bytes + (64 << 20), kPage)) {
  void* map = mmap(nullptr, span_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (map == MAP_FAILED) {
    std::perror("fake cuda: addresses of a device");
    std::abort();
  }
  base_ = top_ = reinterpret_cast<uintptr_t>(map);
}

// With the zones of both sides.
size_t DeviceMemory::Rounded(size_t bytes) { return RoundUp(bytes, kAlign) + 2 * kZone; }

uint64_t DeviceMemory::Allocate(size_t bytes) {
  if (bytes > total_ - used_) return 0;
  const size_t need = Rounded(bytes);
  auto hole = std::find_if(holes_.begin(), holes_.end(),
                           [need](const auto& h) { return h.second.bytes >= need; });
  uint64_t begin;
  OpenMemory open(this);
  if (hole != holes_.end()) {
    begin = hole->first;
    const Hole rest{hole->second.bytes - need, hole->second.filled};
    if (rest.filled) damage_ += CheckFill(begin, need, kFreed, "freed memory");
    holes_.erase(hole);
    if (rest.bytes > 0) holes_[begin + need] = rest;
  } else {
    begin = top_;
    if (top_ + need > base_ + span_) return 0;
    top_ += need;
    Protect(true);
  }
  const uint64_t address = begin + kZone;
  std::memset(At(begin), kZoneFill, kZone);
  std::memset(At(address + bytes), kZoneFill, need - kZone - bytes);
  Fill(address, bytes, kFresh);
  blocks_[address] = {bytes};
  used_ += bytes;
  return address;
}

bool DeviceMemory::Free(uint64_t address) {
  const auto it = blocks_.find(address);
  if (it == blocks_.end()) return false;
  const size_t bytes = it->second.bytes;
  uint64_t begin = address - kZone;
  size_t size = Rounded(bytes);
  {
    OpenMemory open(this);
    damage_ += CheckBlock(address, it->second);
    Fill(begin, size, kFreed);
  }
  bool filled = size <= kFilled;
  blocks_.erase(it);
  used_ -= bytes;
  // One hole with those beside it.
  auto next = holes_.lower_bound(begin);
  if (next != holes_.end() && next->first == begin + size) {
    size += next->second.bytes;
    filled &= next->second.filled;
    next = holes_.erase(next);
  }
  if (next != holes_.begin()) {
    const auto before = std::prev(next);
    if (before->first + before->second.bytes == begin) {
      begin = before->first;
      size += before->second.bytes;
      filled &= before->second.filled;
      holes_.erase(before);
    }
  }
  holes_[begin] = {size, filled};
  return true;
}

bool DeviceMemory::Contains(uint64_t address, size_t bytes) const {
  auto it = blocks_.upper_bound(address);
  if (it == blocks_.begin()) return false;
  --it;
  const size_t offset = address - it->first;
  return offset <= it->second.bytes && bytes <= it->second.bytes - offset;
}

void DeviceMemory::Open() {
  if (open_++ == 0) Protect(true);
}

void DeviceMemory::Close() {
  if (--open_ == 0) Protect(false);
}

void DeviceMemory::Protect(bool open) {
  const size_t bytes = RoundUp(top_ - base_, kPage);
  if (bytes == 0) return;
  if (mprotect(At(base_), bytes, open ? PROT_READ | PROT_WRITE : PROT_NONE) != 0) {
    std::perror("fake cuda: protection of device memory");
    std::abort();
  }
}

std::string DeviceMemory::CheckFill(uint64_t address, size_t bytes, unsigned char fill,
                                    const char* what) {
  const char* const p = At(address);
  // Equal to itself one byte further, and the first byte is right.
  if (bytes == 0 ||
      (static_cast<unsigned char>(p[0]) == fill && std::memcmp(p, p + 1, bytes - 1) == 0))
    return "";
  size_t at = 0;
  while (static_cast<unsigned char>(p[at]) == fill) ++at;
  char text[120];
  std::snprintf(text, sizeof(text), "%s was written at %p", what, static_cast<const void*>(p + at));
  std::memset(At(address), fill, bytes);
  return text;
}

std::string DeviceMemory::CheckBlock(uint64_t address, const Block& block) {
  std::string damage = CheckFill(address - kZone, kZone, kZoneFill, "memory before a block");
  const std::string behind =
      CheckFill(address + block.bytes, Rounded(block.bytes) - kZone - block.bytes, kZoneFill,
                "memory behind a block");
  if (damage.empty()) damage = behind;
  if (damage.empty()) return "";
  char text[80];
  std::snprintf(text, sizeof(text), ", the block is [%p, %p)", static_cast<void*>(At(address)),
                static_cast<void*>(At(address + block.bytes)));
  return damage + text;
}

std::string DeviceMemory::CheckZones() {
  std::string first = std::exchange(damage_, "");
  for (const auto& [address, block] : blocks_) {
    const std::string damage = CheckBlock(address, block);
    if (first.empty()) first = damage;
  }
  return first;
}

}  // namespace fake
