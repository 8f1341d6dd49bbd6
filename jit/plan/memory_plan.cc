#include "jit/plan/memory_plan.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <random>
#include <utility>

#include "core/tuned.h"

namespace frazil::jit {
namespace {

bool Meet(const Block& a, const Block& b) { return a.first <= b.last && b.first <= a.last; }

// A block that has its place.
struct Placed {
  int64_t begin, end;
  Block block;
};

// The start of the smallest gap that is free for the whole life of `block` between those `placed`,
// which lie in the order of their places; behind them all if there is none. `tight` false: of the
// first gap.
int64_t FindGap(absl::Span<const Placed> placed, const Block& block, bool tight) {
  const int64_t bytes = Padded(block.bytes);
  int64_t end = 0, best = -1, best_size = std::numeric_limits<int64_t>::max();
  for (const Placed& other : placed) {
    if (!Meet(block, other.block)) continue;
    const int64_t size = other.begin - end;
    if (size >= bytes && size < best_size) {
      best = end;
      best_size = size;
      if (!tight) break;
    }
    end = std::max(end, other.end);
  }
  return best >= 0 ? best : end;
}

constexpr int64_t kNoLimit = std::numeric_limits<int64_t>::max();

// Blocks one by one in the order given. Gives up when `limit` is reached.
MemoryPlan PlaceInOrder(absl::Span<const Block> blocks, absl::Span<const size_t> order, bool tight,
                        int64_t limit) {
  MemoryPlan plan;
  plan.offsets.resize(blocks.size());
  std::vector<Placed> placed;
  placed.reserve(blocks.size());
  for (size_t i = 0; i < order.size() && plan.bytes < limit; ++i) {
    const Block& block = blocks[order[i]];
    const int64_t at = FindGap(placed, block, tight);
    const Placed own = {at, at + Padded(block.bytes), block};
    placed.insert(
        std::upper_bound(placed.begin(), placed.end(), own,
                         [](const Placed& a, const Placed& b) { return a.begin < b.begin; }),
        own);
    plan.offsets[order[i]] = at;
    plan.bytes = std::max(plan.bytes, own.end);
  }
  return plan;
}

// What a block is placed by: the greatest first, then the one that lives first.
using Key = double (*)(const Block&);
constexpr Key kByArea = [](const Block& b) { return double(b.bytes) * (b.last - b.first + 1); };
constexpr Key kByLife = [](const Block& b) { return double(b.last - b.first); };
constexpr Key kKeys[] = {
    [](const Block& b) { return double(b.bytes); },
    kByArea,
    kByLife,
    [](const Block& b) { return -double(b.first); },
    [](const Block& b) { return double(b.last); },
};

std::vector<size_t> OrderBy(absl::Span<const Block> blocks, Key key) {
  std::vector<size_t> order(blocks.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    const double x = key(blocks[a]), y = key(blocks[b]);
    return x != y ? x > y : blocks[a].first < blocks[b].first;
  });
  return order;
}

bool CloseTo(int64_t bound, const MemoryPlan& plan) { return plan.bytes <= bound + bound / 100; }

// Blocks that stand out above the bound go before others, again and again (squeaky wheel
// optimisation: Joslin and Clements 1999).
void Repair(absl::Span<const Block> blocks, int64_t bound, MemoryPlan* best) {
  const auto count = static_cast<int64_t>(blocks.size());
  std::vector<double> rank(blocks.size());
  for (const Key key : kKeys) {
    std::vector<size_t> order = OrderBy(blocks, key);
    double step = 0.3;
    for (int64_t round = 0; round * count * count * int64_t(std::size(kKeys)) < tuned::kRepairPairs;
         ++round) {
      MemoryPlan plan = PlaceInOrder(blocks, order, round % 2 == 0, kNoLimit);
      for (size_t at = 0; at < order.size(); ++at) rank[order[at]] = double(at) / double(count);
      for (size_t i = 0; i < blocks.size(); ++i) {
        if (plan.offsets[i] + Padded(blocks[i].bytes) > bound) rank[i] -= step;
      }
      step = std::max(0.05, step * 0.98);
      if (plan.bytes < best->bytes) *best = std::move(plan);
      if (best->bytes <= bound) return;
      std::stable_sort(order.begin(), order.end(),
                       [&](size_t a, size_t b) { return rank[a] < rank[b]; });
    }
  }
}

// Where a placement stands out above the bound, two of the blocks that live there change places in
// the order, or one goes before the other, at random; what is no worse is kept (hill climbing).
class Climber {
 public:
  Climber(absl::Span<const Block> blocks, int64_t bound) : blocks_(blocks), bound_(bound) {}

  void Run(Key key, MemoryPlan* best) {
    std::vector<size_t> order = OrderBy(blocks_, key);
    MemoryPlan now = PlaceInOrder(blocks_, order, true, kNoLimit);
    const auto count = static_cast<int64_t>(blocks_.size());
    for (int64_t round = 0; round * count * count < tuned::kClimbPairs; ++round) {
      if (now.bytes < best->bytes) *best = now;
      if (CloseTo(bound_, *best)) return;
      std::vector<size_t> other = order;
      Change(now, &other);
      MemoryPlan then = PlaceInOrder(blocks_, other, true, kNoLimit);
      if (Height(then) > Height(now) && Below(200) != 0) continue;
      now = std::move(then);
      order = std::move(other);
    }
  }

 private:
  size_t Below(size_t n) { return random_() % n; }

  int64_t Above(const MemoryPlan& plan, size_t i) const {
    const int64_t bytes = Padded(blocks_[i].bytes);
    return std::clamp<int64_t>(plan.offsets[i] + bytes - bound_, 0, bytes);
  }

  // The arena's size, then how much of blocks lies above the bound.
  std::pair<int64_t, int64_t> Height(const MemoryPlan& plan) const {
    int64_t above = 0;
    for (size_t i = 0; i < blocks_.size(); ++i) above += Above(plan, i);
    return {plan.bytes, above};
  }

  void Change(const MemoryPlan& plan, std::vector<size_t>* order) {
    std::vector<size_t> above, beside;
    for (size_t i = 0; i < blocks_.size(); ++i) {
      if (Above(plan, i) > 0) above.push_back(i);
    }
    const Block& out = blocks_[above[Below(above.size())]];
    for (size_t i = 0; i < blocks_.size(); ++i) {
      if (Meet(blocks_[i], out)) beside.push_back(i);
    }
    const auto some = [&] {
      return std::find(order->begin(), order->end(), beside[Below(beside.size())]);
    };
    const auto a = some(), b = some();
    if (Below(2) == 0) {
      std::swap(*a, *b);
    } else if (a > b) {
      std::rotate(b, a, a + 1);
    }
  }

  const absl::Span<const Block> blocks_;
  const int64_t bound_;
  std::minstd_rand random_{1};  // the same everywhere
};

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
  best.bytes = kNoLimit;
  for (const Key key : kKeys) {
    const std::vector<size_t> order = OrderBy(blocks, key);
    for (const bool tight : {true, false}) {
      MemoryPlan plan = PlaceInOrder(blocks, order, tight, best.bytes);
      if (plan.bytes < best.bytes) best = std::move(plan);
      if (best.bytes <= bound + (bound < tuned::kWorthRepair ? bound / 100 : 0)) return best;
    }
  }
  if (bound < tuned::kWorthRepair || CloseTo(bound, best)) return best;
  Repair(blocks, bound, &best);
  Climber climber(blocks, bound);
  for (const Key key : {kByArea, kByLife}) {
    if (!CloseTo(bound, best)) climber.Run(key, &best);
  }
  return best;
}

}  // namespace frazil::jit
