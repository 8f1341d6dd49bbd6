// Notices thrashing: content that is evicted and made again, over and over. Called by every bounded
// cache, under its own lock. Invariant: says so once; fixed memory, so a collision may count what
// never came back.
#pragma once

#include <array>
#include <cstdint>

namespace frazil {

class EvictionHistory {
 public:
  void Evicted(uint64_t hash) {
    evicted_[hash % kSize] = Tag(hash);
    ++evictions_;
  }
  // True once: when a quarter of what was made lately had been evicted before.
  bool Made(uint64_t hash) {
    if (++made_ % kWindow == 0) again_ = 0;
    uint32_t& tag = evicted_[hash % kSize];
    if (tag != Tag(hash)) return false;
    tag = 0;
    ++remade_;
    if (++again_ < kWindow / 4 || said_) return false;
    return said_ = true;
  }
  int64_t evictions() const { return evictions_; }
  int64_t remade() const { return remade_; }

 private:
  static constexpr size_t kSize = 8192;
  static constexpr int64_t kWindow = 256;
  static uint32_t Tag(uint64_t hash) { return static_cast<uint32_t>(hash >> 32) | 1; }

  std::array<uint32_t, kSize> evicted_{};
  int64_t evictions_ = 0, remade_ = 0, made_ = 0, again_ = 0;
  bool said_ = false;
};

}  // namespace frazil
