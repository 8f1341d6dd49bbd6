#include "jit/runtime/memory_plan.h"

#include <algorithm>
#include <limits>
#include <numeric>

namespace frazil::jit {
namespace {

struct Range {
  int64_t begin, end;
};

// The start of the smallest gap of at least `bytes` between `taken`; behind them all if there is
// none.
int64_t BestGap(std::vector<Range>* taken, int64_t bytes) {
  std::sort(taken->begin(), taken->end(),
            [](const Range& a, const Range& b) { return a.begin < b.begin; });
  int64_t end = 0, best = -1, best_size = std::numeric_limits<int64_t>::max();
  for (const Range& range : *taken) {
    const int64_t size = range.begin - end;
    if (size >= bytes && size < best_size) {
      best = end;
      best_size = size;
    }
    end = std::max(end, range.end);
  }
  return best >= 0 ? best : end;
}

}  // namespace

MemoryPlan PlanMemory(absl::Span<const Block> blocks) {
  std::vector<int64_t> padded;
  for (const Block& b : blocks)
    padded.push_back((b.bytes + kArenaAlignment - 1) / kArenaAlignment * kArenaAlignment);
  std::vector<size_t> order(blocks.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return padded[a] > padded[b]; });

  MemoryPlan plan;
  plan.offsets.resize(blocks.size());
  std::vector<Range> taken;
  for (size_t placed = 0; placed < order.size(); ++placed) {
    const size_t i = order[placed];
    taken.clear();
    for (size_t j = 0; j < placed; ++j) {
      const size_t other = order[j];
      const bool meet =
          blocks[i].first <= blocks[other].last && blocks[other].first <= blocks[i].last;
      if (meet) taken.push_back({plan.offsets[other], plan.offsets[other] + padded[other]});
    }
    plan.offsets[i] = BestGap(&taken, padded[i]);
    plan.bytes = std::max(plan.bytes, plan.offsets[i] + padded[i]);
  }
  return plan;
}

}  // namespace frazil::jit
