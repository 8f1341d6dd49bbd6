// What the checker remembers of memory: for every byte who wrote it last, who has read it since,
// and whether it was written at all. Called by npu/checker.h. Invariant: exact for every
// byte; 32 bytes that were always touched alike share one record.
#pragma once

#include <array>
#include <memory>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "npu/access.h"

namespace frazil::npu {

// Number of an instruction (from 1 on, in the order of execution) and its queue; 0: none.
using Epoch = uint32_t;
constexpr Epoch MakeEpoch(uint32_t number, Queue queue) { return number << 3 | queue; }
constexpr uint32_t NumberOf(Epoch epoch) { return epoch >> 3; }
constexpr Queue QueueOf(Epoch epoch) { return Queue(epoch & 7); }
inline constexpr uint32_t kMaxNumber = (uint32_t{1} << 29) - 1;

// Numbers, by queue, of the last instruction that is known to be complete.
using Clock = std::array<uint32_t, kNumQueues>;

enum class Conflict : uint8_t { kNone, kUninit, kRaw, kWar, kWaw };

// One access as it reaches the shadow, and what came of it.
struct Touch {
  Epoch now;
  const Clock* clock;    // of the queue of `now`
  uint32_t block_start;  // smaller numbers are of earlier blocks, which nothing is ordered after
  bool write;
  // Filled in where there is a conflict: with whom, and at which bytes.
  Conflict conflict = Conflict::kNone;
  Epoch other = 0;
  uint64_t address = 0, address_end = 0;

  bool Ordered(Epoch epoch) const {
    const uint32_t number = NumberOf(epoch);
    return epoch == 0 || (number >= block_start && number <= (*clock)[QueueOf(epoch)]);
  }
};

class Shadow {
 public:
  explicit Shadow(Space space) : space_(space) {}

  // A new block: local memory is new, device memory stays.
  void StartBlock();
  // False: touch->conflict and the fields after it say why.
  bool Apply(const Access& access, Touch* touch);

 private:
  // Of device memory only LD reads, of UB only VE, ST and S, of L0C MM and DR, of the others one.
  static constexpr int kReaders = 3;
  struct Record {
    Epoch write;
    std::array<Epoch, kReaders> read;  // since the write
    Epoch foreign;                     // GM: a read by an earlier block than that of read[0]
  };
  // The record of the bytes in `mask`; the others were never touched. Mask 0 with detail: one
  // record a byte.
  struct Granule {
    uint32_t mask;
    uint32_t detail;  // number + 1 in details_
    uint32_t valid;   // bytes that were written; not kept for GM
    Record record;
  };
  static constexpr int kGranule = 32;
  static constexpr uint32_t kWhole = ~uint32_t{0};
  static constexpr int kBlockGranules = 32, kPageBlocks = 16;
  static constexpr int kBlockBytes = kGranule * kBlockGranules;
  // The granules, or all of them at once where they are equal.
  struct Block {
    Granule common;
    bool split;
    std::array<Granule, kBlockGranules> granules;
  };
  using Detail = std::array<Record, kGranule>;

  bool ApplyRange(uint64_t begin, uint64_t end, Touch* touch);
  bool ApplyBlocks(Block* blocks, uint64_t first, uint64_t begin, uint64_t end, Touch* touch);
  bool ApplyBlock(Block* block, uint64_t begin, uint64_t end, Touch* touch);
  bool ApplyWhole(Granule* g, uint64_t at, int64_t bytes, Touch* touch);
  bool ApplyMask(Granule* g, uint64_t at, uint32_t mask, Touch* touch);
  bool ApplyBytes(Granule* g, uint64_t at, uint32_t mask, Touch* touch);
  bool ApplyRecord(Record* record, Touch* touch) const;
  bool Report(uint64_t at, uint32_t mask, Touch* touch) const;
  void Split(Granule* g);
  Block* Page(uint64_t number);

  const Space space_;
  std::vector<Block> local_;
  absl::flat_hash_map<uint64_t, std::unique_ptr<Block[]>> pages_;
  uint64_t page_number_ = ~uint64_t{0};
  Block* page_ = nullptr;
  std::vector<std::unique_ptr<Detail>> details_;
  std::vector<uint32_t> free_details_;
};

}  // namespace frazil::npu
