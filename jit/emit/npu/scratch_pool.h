// Blocks of the vector unit's scratch memory for temporaries of a tile. Called by the emitter of
// kernels. Invariant: live blocks do not overlap; blocks are aligned to 32 bytes; first fit, so
// that equal tiles get equal addresses.
#pragma once

#include <cstdint>
#include <map>
#include <optional>

namespace frazil::npu {

class ScratchPool {
 public:
  void Reset(uint64_t address, int64_t bytes) {
    free_.clear();
    taken_.clear();
    if (bytes > 0) free_[address] = bytes;
  }

  std::optional<uint64_t> Take(int64_t bytes) {
    const int64_t size = (bytes + 31) / 32 * 32;
    for (auto it = free_.begin(); it != free_.end(); ++it) {
      if (it->second < size) continue;
      const uint64_t address = it->first;
      const int64_t rest = it->second - size;
      free_.erase(it);
      if (rest) free_[address + uint64_t(size)] = rest;
      taken_[address] = size;
      return address;
    }
    return std::nullopt;
  }

  void Give(uint64_t address) {
    const auto block = taken_.find(address);
    if (block == taken_.end()) return;  // what Take had no room for
    int64_t size = block->second;
    taken_.erase(block);
    auto next = free_.lower_bound(address);
    if (next != free_.end() && next->first == address + uint64_t(size)) {
      size += next->second;
      next = free_.erase(next);
    }
    if (next != free_.begin()) {
      const auto before = std::prev(next);
      if (before->first + uint64_t(before->second) == address) {
        before->second += size;
        return;
      }
    }
    free_[address] = size;
  }

 private:
  std::map<uint64_t, int64_t> free_, taken_;  // address to bytes
};

}  // namespace frazil::npu
