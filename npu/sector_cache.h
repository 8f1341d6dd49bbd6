// L2 as the cycle model sees it: which 512-byte sectors are in it, least recently used out first.
// Called for every load and store. Invariant: never more sectors than it holds; memory grows with
// what was touched.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "absl/container/flat_hash_map.h"

namespace frazil::npu {

class SectorCache {
 public:
  explicit SectorCache(int64_t sectors) : capacity_(sectors) {}

  // Makes the sector the most recent; true if it was in.
  bool Touch(uint64_t sector);
  // Brings the sector in unless the cache is full; false if it is.
  bool Warm(uint64_t sector);

 private:
  // Neighbours are touched one after another: they share a page, which is looked up once.
  static constexpr int kPageSectors = 64;
  struct Page {
    uint64_t number = 0;
    int sectors = 0;  // that are in
    std::array<int32_t, kPageSectors> nodes;
  };
  struct Node {
    uint64_t sector;
    int32_t newer, older;
  };
  // -1: the sector is not in.
  int32_t& NodeOf(uint64_t sector);
  Page& PageOf(uint64_t number);
  void Forget(uint64_t sector);
  void Unlink(int32_t node);
  void Push(int32_t node);  // as the newest

  int64_t capacity_;
  std::vector<Node> nodes_;
  std::vector<Page> pages_;
  std::vector<int32_t> free_pages_;
  absl::flat_hash_map<uint64_t, int32_t> page_of_;
  int32_t last_page_ = -1;
  int32_t newest_ = -1, oldest_ = -1;
};

}  // namespace frazil::npu
