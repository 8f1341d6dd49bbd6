// Places blocks that live for a while in one arena. Called by the planner
// (jit/plan/plan_builder.cc). Invariant: two blocks whose lives meet never overlap; every offset
// is a multiple of kArenaAlignment.
//
// What values between steps need is one arena for each memory. PlanMemory
// tries several orders of placing blocks, best fit and first fit, against the lower bound, the
// most bytes that live at one step; if none comes close, blocks that stand out above it go first,
// again and again, and then blocks change places at random (hill climbing) for some milliseconds.
// A result may lie in the memory of an operand that nothing else needs (in_place), or of an input
// that nobody else holds at run time (donated). fn.memory_plan() shows blocks, lives, bound and
// ratio as text and as SVG. Before that OrderByMemory (jit/graph/order.h) puts steps that do not
// wait for each other into an order in which fewer bytes live at once, if there is one that costs
// no product its followers.
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
