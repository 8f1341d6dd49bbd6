// Places blocks that live for a while in one arena. Called by the planner
// (jit/runtime/plan_builder.cc). Invariant: two blocks whose lives meet never overlap; every offset
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

// Largest block first, each into the tightest gap that is free for its whole life.
MemoryPlan PlanMemory(absl::Span<const Block> blocks);

}  // namespace frazil::jit
