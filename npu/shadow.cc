#include "npu/shadow.h"

#include <algorithm>
#include <bit>

namespace frazil::npu {
namespace {

int ReaderSlot(Queue queue) {
  switch (queue) {
    case kST:
    case kDR:
      return 1;
    case kS:
      return 2;
    default:
      return 0;
  }
}

// Bytes [from, to) of a granule.
uint32_t MaskOf(int from, int to) {
  const uint32_t below = to == 32 ? ~uint32_t{0} : (uint32_t{1} << to) - 1;
  return below & ~((uint32_t{1} << from) - 1);
}

}  // namespace

void Shadow::StartBlock() {
  if (space_ == kGM) return;
  local_.clear();
  details_.clear();
  free_details_.clear();
}

// Checks one access against a record, and notes it there.
inline bool Shadow::ApplyRecord(Record* record, Touch* touch) const {
  if (!touch->Ordered(record->write)) {
    touch->conflict = touch->write ? Conflict::kWaw : Conflict::kRaw;
    touch->other = record->write;
    return false;
  }
  if (!touch->write) {
    Epoch& read = record->read[size_t(ReaderSlot(QueueOf(touch->now)))];
    if (read != 0 && NumberOf(read) < touch->block_start) record->foreign = read;
    read = touch->now;
    return true;
  }
  for (const Epoch read : record->read) {
    if (touch->Ordered(read)) continue;
    touch->conflict = Conflict::kWar;
    touch->other = read;
    return false;
  }
  if (record->foreign != 0) {
    touch->conflict = Conflict::kWar;
    touch->other = record->foreign;
    return false;
  }
  *record = {touch->now, {}, 0};
  return true;
}

// From the first to the last byte of the mask.
bool Shadow::Report(uint64_t at, uint32_t mask, Touch* touch) const {
  touch->address = Address(space_, at + uint64_t(std::countr_zero(mask)));
  touch->address_end = Address(space_, at + 32 - uint64_t(std::countl_zero(mask)));
  return false;
}

void Shadow::Split(Granule* g) {
  if (free_details_.empty()) {
    details_.push_back(std::make_unique<Detail>());
    free_details_.push_back(uint32_t(details_.size()));
  }
  g->detail = free_details_.back();
  free_details_.pop_back();
  Detail& detail = *details_[g->detail - 1];
  for (int i = 0; i < kGranule; ++i) detail[size_t(i)] = g->mask >> i & 1 ? g->record : Record{};
  g->mask = 0;
}

bool Shadow::ApplyBytes(Granule* g, uint64_t at, uint32_t mask, Touch* touch) {
  Detail& detail = *details_[g->detail - 1];
  uint32_t conflicts = 0;  // bytes in the same conflict as the first
  Touch first = *touch;
  for (int i = 0; i < kGranule; ++i) {
    if (!(mask >> i & 1)) continue;
    Touch one = *touch;
    if (ApplyRecord(&detail[size_t(i)], &one)) continue;
    if (conflicts == 0) first = one;
    if (one.conflict == first.conflict && one.other == first.other) conflicts |= uint32_t{1} << i;
  }
  if (conflicts) {
    *touch = first;
    return Report(at, conflicts, touch);
  }
  if (touch->write && mask == kWhole) {
    free_details_.push_back(g->detail);
    g->record = detail[0];
    g->mask = kWhole;
    g->detail = 0;
  }
  return true;
}

bool Shadow::ApplyMask(Granule* g, uint64_t at, uint32_t mask, Touch* touch) {
  if (space_ != kGM) {
    if (touch->write) {
      g->valid |= mask;
    } else if (mask & ~g->valid) {
      touch->conflict = Conflict::kUninit;
      return Report(at, mask & ~g->valid, touch);
    }
  }
  if (g->detail == 0) {
    if (g->mask == 0) g->mask = mask;
    // A write over all that is known makes one record again.
    if (g->mask == mask || (touch->write && (g->mask & ~mask) == 0)) {
      if (!ApplyRecord(&g->record, touch)) return Report(at, g->mask, touch);
      g->mask = mask;
      return true;
    }
    Split(g);
  }
  return ApplyBytes(g, at, mask, touch);
}

// All `bytes` bytes of what g stands for.
inline bool Shadow::ApplyWhole(Granule* g, uint64_t at, int64_t bytes, Touch* touch) {
  if (g->mask != kWhole || (space_ != kGM && !touch->write && g->valid != kWhole))
    return ApplyMask(g, at, kWhole, touch);
  if (touch->write) g->valid = kWhole;
  if (ApplyRecord(&g->record, touch)) return true;
  touch->address = Address(space_, at);
  touch->address_end = Address(space_, at + uint64_t(bytes));
  return false;
}

// Bytes [begin, end) of one block.
bool Shadow::ApplyBlock(Block* block, uint64_t begin, uint64_t end, Touch* touch) {
  const uint64_t first = begin / kBlockBytes * kBlockGranules;
  const bool whole = end - begin == kBlockBytes;
  if (!block->split) {
    if (whole) return ApplyWhole(&block->common, begin, kBlockBytes, touch);
    block->granules.fill(block->common);
    block->split = true;
  }
  uint64_t from = begin;
  for (uint64_t number = begin / kGranule; from < end; ++number) {
    const uint64_t at = number * kGranule, next = at + kGranule;
    Granule* g = &block->granules[number - first];
    if (from == at && next <= end) {
      if (!ApplyWhole(g, at, kGranule, touch)) return false;
    } else if (!ApplyMask(g, at, MaskOf(int(from - at), int(std::min(end, next) - at)), touch)) {
      return false;
    }
    from = next;
  }
  if (whole && touch->write) {
    block->common = block->granules[0];
    block->split = false;
  }
  return true;
}

// Bytes [begin, end) that lie in the blocks from number `first` on.
bool Shadow::ApplyBlocks(Block* blocks, uint64_t first, uint64_t begin, uint64_t end,
                         Touch* touch) {
  while (begin < end) {
    const uint64_t number = begin / kBlockBytes, next = std::min(end, (number + 1) * kBlockBytes);
    if (!ApplyBlock(blocks + (number - first), begin, next, touch)) return false;
    begin = next;
  }
  return true;
}

Shadow::Block* Shadow::Page(uint64_t number) {
  if (number != page_number_) {
    std::unique_ptr<Block[]>& page = pages_[number];
    if (!page) page = std::make_unique<Block[]>(kPageBlocks);
    page_ = page.get();
    page_number_ = number;
  }
  return page_;
}

bool Shadow::ApplyRange(uint64_t begin, uint64_t end, Touch* touch) {
  if (space_ != kGM) {
    const size_t blocks = size_t((end + kBlockBytes - 1) / kBlockBytes);
    if (local_.size() < blocks) local_.resize(blocks);
    return ApplyBlocks(local_.data(), 0, begin, end, touch);
  }
  constexpr uint64_t kPage = kPageBlocks * kBlockBytes;
  while (begin < end) {
    const uint64_t page = begin / kPage, stop = std::min(end, (page + 1) * kPage);
    if (!ApplyBlocks(Page(page), page * kPageBlocks, begin, stop, touch)) return false;
    begin = stop;
  }
  return true;
}

bool Shadow::Apply(const Access& access, Touch* touch) {
  const uint64_t begin = access.begin();
  if (access.rows == 1 || access.stride == 0)
    return ApplyRange(begin, begin + uint64_t(access.row_bytes), touch);
  if (access.stride == access.row_bytes) return ApplyRange(begin, access.end(), touch);
  for (int64_t r = 0; r < access.rows; ++r) {
    const uint64_t at = begin + uint64_t(r * access.stride);
    if (!ApplyRange(at, at + uint64_t(access.row_bytes), touch)) return false;
  }
  return true;
}

}  // namespace frazil::npu
