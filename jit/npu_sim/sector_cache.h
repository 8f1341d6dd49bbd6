// L2 as the cycle model sees it: which 512-byte sectors are in it, least recently used out first.
// Called for every load and store. Invariant: never more sectors than it holds; memory grows with
// what was touched, and touching allocates nothing once it is full.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace frazil::npu {

class SectorCache {
 public:
  explicit SectorCache(int64_t sectors);

  // Makes the sector the most recent; true if it was in.
  bool Touch(uint64_t sector);
  // Brings the sector in unless the cache is full; false if it is.
  bool Warm(uint64_t sector);
  int64_t size() const { return int64_t(nodes_.size()); }

 private:
  struct Node {
    uint64_t sector;
    int32_t newer, older;
  };
  size_t Home(uint64_t sector) const;
  size_t Find(uint64_t sector) const;  // its place in table_, or the empty one for it
  void Erase(size_t place);
  void Grow();
  void Unlink(int32_t node);
  void Push(int32_t node);  // as the newest

  int64_t capacity_;
  std::vector<Node> nodes_;
  std::vector<int32_t> table_;  // open addressing; -1: empty
  int32_t newest_ = -1, oldest_ = -1;
};

}  // namespace frazil::npu
