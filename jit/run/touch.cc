#include "jit/run/touch.h"

#include <functional>

namespace frazil::jit {

std::vector<int32_t> Touched::Before(absl::Span<const Touch> touches) const {
  std::vector<int32_t> steps;
  for (const Touch& touch : touches) {
    const auto found = blocks_.find(touch.block);
    if (found == blocks_.end()) continue;
    const auto look = [&](const std::vector<Entry>& entries) {
      for (const Entry& entry : entries) {
        if (Conflict(entry.touch, touch)) steps.push_back(entry.step);
      }
    };
    look(found->second.writes);
    if (touch.write) look(found->second.reads);
  }
  std::sort(steps.begin(), steps.end(), std::greater<>());
  steps.erase(std::unique(steps.begin(), steps.end()), steps.end());
  return steps;
}

void Touched::Add(int32_t step, absl::Span<const Touch> touches) {
  for (const Touch& touch : touches) {
    Block& block = blocks_[touch.block];
    if (touch.write) {
      // Whoever conflicts with what is overwritten waits for this step, which waits for that.
      const auto overwritten = [&](const Entry& entry) {
        return touch.begin <= entry.touch.begin && entry.touch.end <= touch.end;
      };
      std::erase_if(block.reads, overwritten);
      std::erase_if(block.writes, overwritten);
    }
    (touch.write ? block.writes : block.reads).push_back({touch, step});
  }
}

std::vector<std::vector<int32_t>> DependenciesOf(absl::Span<const std::vector<Touch>> touches) {
  const size_t n = touches.size();
  std::vector<std::vector<int32_t>> out(n);
  std::vector<std::vector<bool>> before(n, std::vector<bool>(n, false));  // waits for, at last
  Touched touched;
  for (size_t step = 0; step < n; ++step) {
    for (const int32_t earlier : touched.Before(touches[step])) {
      if (before[step][earlier]) continue;
      out[step].push_back(earlier);
      before[step][earlier] = true;
      for (int32_t i = 0; i < earlier; ++i)
        if (before[earlier][i]) before[step][i] = true;
    }
    touched.Add(int32_t(step), touches[step]);
  }
  return out;
}

}  // namespace frazil::jit
