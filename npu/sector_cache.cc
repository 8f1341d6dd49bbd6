#include "npu/sector_cache.h"

namespace frazil::npu {

SectorCache::Page& SectorCache::PageOf(uint64_t number) {
  if (last_page_ >= 0 && pages_[last_page_].number == number) return pages_[last_page_];
  const auto [it, is_new] = page_of_.try_emplace(number, 0);
  if (is_new) {
    if (free_pages_.empty()) {
      free_pages_.push_back(int32_t(pages_.size()));
      pages_.emplace_back();
    }
    it->second = free_pages_.back();
    free_pages_.pop_back();
    Page& page = pages_[it->second];
    page.number = number;
    page.sectors = 0;
    page.nodes.fill(-1);
  }
  last_page_ = it->second;
  return pages_[last_page_];
}

int32_t& SectorCache::NodeOf(uint64_t sector) {
  return PageOf(sector / kPageSectors).nodes[sector % kPageSectors];
}

// A page without sectors is used again.
void SectorCache::Forget(uint64_t sector) {
  Page& page = PageOf(sector / kPageSectors);
  page.nodes[sector % kPageSectors] = -1;
  if (--page.sectors > 0) return;
  page_of_.erase(page.number);
  free_pages_.push_back(last_page_);
  last_page_ = -1;
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
  if (capacity_ == 0) return false;
  const int32_t node = NodeOf(sector);
  if (node >= 0) {
    Unlink(node);
    Push(node);
    return true;
  }
  if (Warm(sector)) return false;
  const int32_t victim = oldest_;
  Unlink(victim);
  Forget(nodes_[victim].sector);
  nodes_[victim].sector = sector;
  NodeOf(sector) = victim;
  ++PageOf(sector / kPageSectors).sectors;
  Push(victim);
  return false;
}

bool SectorCache::Warm(uint64_t sector) {
  if (int64_t(nodes_.size()) >= capacity_) return false;
  int32_t& node = NodeOf(sector);
  if (node >= 0) return true;
  node = int32_t(nodes_.size());
  ++PageOf(sector / kPageSectors).sectors;
  nodes_.push_back({sector, -1, -1});
  Push(int32_t(nodes_.size() - 1));
  return true;
}

}  // namespace frazil::npu
