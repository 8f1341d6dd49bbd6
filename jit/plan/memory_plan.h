// Places blocks that live for a while in one arena. Called by the planner
// (jit/plan/plan_builder.cc). Invariant: two blocks whose lives meet never overlap; every offset
// is a multiple of kArenaAlignment.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/types/span.h"

namespace frazil::jit {

inline constexpr int64_t kArenaAlignment = 256;

struct Block {
  int64_t bytes;
  int32_t first, last;  // steps, both included
};

struct MemoryPlan {
  std::vector<int64_t> offsets;  // as blocks
  int64_t bytes = 0;             // of the arena
};

inline int64_t Padded(int64_t bytes) {
  return (bytes + kArenaAlignment - 1) / kArenaAlignment * kArenaAlignment;
}

// The most bytes, padded, that live at one step: no arena can be smaller.
int64_t LiveBytes(absl::Span<const Block> blocks);

// Tries several orders of placing blocks into the tightest gap that is free for their whole life,
// and mends the orders where blocks stand out, until one comes close to LiveBytes; the smallest
// arena is kept.
MemoryPlan PlanMemory(absl::Span<const Block> blocks);

}  // namespace frazil::jit
