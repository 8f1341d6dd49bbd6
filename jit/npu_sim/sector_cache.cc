#include "jit/npu_sim/sector_cache.h"

#include <algorithm>

namespace frazil::npu {

SectorCache::SectorCache(int64_t sectors) : capacity_(sectors), table_(1024, -1) {}

size_t SectorCache::Home(uint64_t sector) const {
  return size_t((sector * 0x9e3779b97f4a7c15) >> 32) & (table_.size() - 1);
}

size_t SectorCache::Find(uint64_t sector) const {
  size_t i = Home(sector);
  while (table_[i] >= 0 && nodes_[table_[i]].sector != sector) i = (i + 1) & (table_.size() - 1);
  return i;
}

// Closes the gap, so that no chain of probes is cut.
void SectorCache::Erase(size_t place) {
  const size_t mask = table_.size() - 1;
  size_t gap = place;
  for (size_t i = (gap + 1) & mask; table_[i] >= 0; i = (i + 1) & mask) {
    const size_t home = Home(nodes_[table_[i]].sector);
    if (((i - home) & mask) < ((i - gap) & mask)) continue;
    table_[gap] = table_[i];
    gap = i;
  }
  table_[gap] = -1;
}

void SectorCache::Grow() {
  table_.assign(table_.size() * 2, -1);
  for (size_t n = 0; n < nodes_.size(); ++n) table_[Find(nodes_[n].sector)] = int32_t(n);
}

void SectorCache::Unlink(int32_t node) {
  const Node& n = nodes_[node];
  (n.newer >= 0 ? nodes_[n.newer].older : newest_) = n.older;
  (n.older >= 0 ? nodes_[n.older].newer : oldest_) = n.newer;
}

void SectorCache::Push(int32_t node) {
  nodes_[node].newer = -1;
  nodes_[node].older = newest_;
  (newest_ >= 0 ? nodes_[newest_].newer : oldest_) = node;
  newest_ = node;
}

bool SectorCache::Touch(uint64_t sector) {
  if (newest_ >= 0 && nodes_[newest_].sector == sector) return true;
  const size_t place = Find(sector);
  if (table_[place] >= 0) {
    const int32_t node = table_[place];
    Unlink(node);
    Push(node);
    return true;
  }
  if (Warm(sector) || capacity_ == 0) return false;
  const int32_t victim = oldest_;
  Erase(Find(nodes_[victim].sector));
  Unlink(victim);
  nodes_[victim].sector = sector;
  table_[Find(sector)] = victim;
  Push(victim);
  return false;
}

bool SectorCache::Warm(uint64_t sector) {
  if (size() >= capacity_) return false;
  if (nodes_.size() * 2 >= table_.size()) Grow();
  const size_t place = Find(sector);
  if (table_[place] >= 0) return true;
  nodes_.push_back({sector, -1, -1});
  table_[place] = int32_t(nodes_.size() - 1);
  Push(table_[place]);
  return true;
}

}  // namespace frazil::npu
