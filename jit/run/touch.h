// What steps touch, and which of them touch the same memory: the one answer to whether two steps
// may change places, run side by side or become one. Asked by the planner for branches, epilogues,
// products and their readers, steps in place, lists and groups of a device. Invariant: a step waits
// for every earlier one with which it conflicts, if only by way of others that it waits for.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/types/span.h"

namespace frazil::jit {

struct Touch {
  int32_t block;  // a memory of the plan or, once memory is assigned, a slot of its runs
  bool write;
  int64_t begin = 0, end = std::numeric_limits<int64_t>::max();  // bytes; all if nobody says
};

// One writes bytes that the other touches.
inline bool Conflict(const Touch& a, const Touch& b) {
  return (a.write || b.write) && a.block == b.block &&
         std::max(a.begin, b.begin) < std::min(a.end, b.end);
}

// Steps in their order, by what they touch.
class Touched {
 public:
  // Those that a step which touches this waits for, the last first, each once. One that another of
  // them waits for may be missing.
  std::vector<int32_t> Before(absl::Span<const Touch> touches) const;
  void Add(int32_t step, absl::Span<const Touch> touches);

 private:
  struct Entry {
    Touch touch;
    int32_t step;
  };
  struct Block {
    std::vector<Entry> reads, writes;
  };
  absl::flat_hash_map<int32_t, Block> blocks_;
};

// For each step the earlier ones it must wait for, the last first; those that another of them waits
// for are left out.
std::vector<std::vector<int32_t>> DependenciesOf(absl::Span<const std::vector<Touch>> touches);

}  // namespace frazil::jit
