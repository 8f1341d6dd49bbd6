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
// none. `tight` false: of the first gap.
int64_t FindGap(std::vector<Range>* taken, int64_t bytes, bool tight) {
  std::sort(taken->begin(), taken->end(),
            [](const Range& a, const Range& b) { return a.begin < b.begin; });
  int64_t end = 0, best = -1, best_size = std::numeric_limits<int64_t>::max();
  for (const Range& range : *taken) {
    const int64_t size = range.begin - end;
    if (size >= bytes && size < best_size) {
      best = end;
      best_size = size;
      if (!tight) break;
    }
    end = std::max(end, range.end);
  }
  return best >= 0 ? best : end;
}

bool Meet(const Block& a, const Block& b) { return a.first <= b.last && b.first <= a.last; }

// Blocks one by one in the order given. Gives up when `limit` is reached.
MemoryPlan PlaceInOrder(absl::Span<const Block> blocks, absl::Span<const size_t> order, bool tight,
                        int64_t limit) {
  MemoryPlan plan;
  plan.offsets.resize(blocks.size());
  std::vector<Range> taken;
  for (size_t placed = 0; placed < order.size() && plan.bytes < limit; ++placed) {
    const Block& block = blocks[order[placed]];
    taken.clear();
    for (size_t j = 0; j < placed; ++j) {
      const Block& other = blocks[order[j]];
      const int64_t begin = plan.offsets[order[j]];
      if (Meet(block, other)) taken.push_back({begin, begin + Padded(other.bytes)});
    }
    const int64_t at = FindGap(&taken, Padded(block.bytes), tight);
    plan.offsets[order[placed]] = at;
    plan.bytes = std::max(plan.bytes, at + Padded(block.bytes));
  }
  return plan;
}

// What a block is placed by: the greatest first, then the one that lives first.
using Key = double (*)(const Block&);
constexpr Key kKeys[] = {
    [](const Block& b) { return double(b.bytes); },
    [](const Block& b) { return double(b.bytes) * (b.last - b.first + 1); },
    [](const Block& b) { return double(b.last - b.first); },
    [](const Block& b) { return -double(b.first); },
    [](const Block& b) { return double(b.last); },
};

// Smaller arenas are not worth more time.
constexpr int64_t kWorthRepair = int64_t{1} << 20;

// Blocks that stand out above the bound go before others, again and again (squeaky wheel
// optimisation: Joslin and Clements 1999), for some milliseconds at most.
void Repair(absl::Span<const Block> blocks, int64_t bound, MemoryPlan* best) {
  const auto count = static_cast<int64_t>(blocks.size());
  std::vector<double> rank(blocks.size());
  std::vector<size_t> order(blocks.size());
  std::iota(order.begin(), order.end(), size_t{0});
  for (const bool by_area : {true, false}) {
    for (size_t i = 0; i < blocks.size(); ++i) rank[i] = -kKeys[by_area](blocks[i]);
    double step = 0.3;
    for (int64_t round = 0; round < 200 && round * count * count < (int64_t{1} << 21); ++round) {
      std::stable_sort(order.begin(), order.end(),
                       [&](size_t a, size_t b) { return rank[a] < rank[b]; });
      MemoryPlan plan =
          PlaceInOrder(blocks, order, round % 2 == 0, std::numeric_limits<int64_t>::max());
      for (size_t at = 0; at < order.size(); ++at) rank[order[at]] = double(at) / double(count);
      for (size_t i = 0; i < blocks.size(); ++i) {
        if (plan.offsets[i] + Padded(blocks[i].bytes) > bound) rank[i] -= step;
      }
      step = std::max(0.05, step * 0.98);
      if (plan.bytes < best->bytes) *best = std::move(plan);
      if (best->bytes <= bound) return;
    }
  }
}

}  // namespace

int64_t LiveBytes(absl::Span<const Block> blocks) {
  std::vector<std::pair<int64_t, int64_t>> changes;  // step, bytes
  for (const Block& b : blocks) {
    changes.emplace_back(b.first, Padded(b.bytes));
    changes.emplace_back(int64_t{b.last} + 1, -Padded(b.bytes));
  }
  std::sort(changes.begin(), changes.end());  // what ends goes before what begins
  int64_t live = 0, most = 0;
  for (const auto& change : changes) most = std::max(most, live += change.second);
  return most;
}

MemoryPlan PlanMemory(absl::Span<const Block> blocks) {
  const int64_t bound = LiveBytes(blocks);
  MemoryPlan best;
  best.bytes = std::numeric_limits<int64_t>::max();
  std::vector<size_t> order(blocks.size());
  for (const Key key : kKeys) {
    for (const bool tight : {true, false}) {
      std::iota(order.begin(), order.end(), size_t{0});
      std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
        const double x = key(blocks[a]), y = key(blocks[b]);
        return x != y ? x > y : blocks[a].first < blocks[b].first;
      });
      MemoryPlan plan = PlaceInOrder(blocks, order, tight, best.bytes);
      if (plan.bytes < best.bytes) best = std::move(plan);
      if (best.bytes <= bound + (bound < kWorthRepair ? bound / 100 : 0)) return best;
    }
  }
  if (bound >= kWorthRepair && best.bytes > bound + bound / 100) Repair(blocks, bound, &best);
  return best;
}

}  // namespace frazil::jit
