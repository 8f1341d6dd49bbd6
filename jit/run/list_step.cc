#include "jit/run/list_step.h"

#include <algorithm>

#include "core/cost.h"
#include "core/threads/long_work.h"
#include "core/threads/parallel.h"

namespace frazil::jit {
namespace {

constexpr size_t kMaxEntries = 256;

// A kernel of the plan that one thread runs, or null; larger ones share out their own points.
KernelStep* AsSmall(Step* step) {
  auto* const kernel = dynamic_cast<KernelStep*>(step);
  const bool small =
      kernel && kernel->code && !kernel->device && kernel->work() < cost::kWorthSharing;
  return small ? kernel : nullptr;
}

}  // namespace

Steps MakeLists(Steps steps, absl::FunctionRef<std::vector<Touch>(size_t)> touches,
                std::vector<int32_t>* now) {
  Steps lists;
  for (size_t begin = 0; begin < steps.size();) {
    std::vector<KernelStep*> entries;
    Touched touched;
    for (size_t end = begin; end < steps.size() && end - begin < kMaxEntries; ++end) {
      KernelStep* const entry = AsSmall(steps[end].get());
      if (!entry) break;
      const std::vector<Touch> own = touches(end);
      if (!touched.Before(own).empty()) break;
      touched.Add(static_cast<int32_t>(end), own);
      entries.push_back(entry);
    }
    const size_t count = std::max<size_t>(1, entries.size());
    now->insert(now->end(), count, static_cast<int32_t>(lists.size()));
    if (count == 1) {
      lists.push_back(std::move(steps[begin]));
    } else {
      std::vector<KernelStep> list;
      list.reserve(count);
      for (KernelStep* entry : entries) list.push_back(std::move(*entry));
      lists.push_back(std::make_unique<ListStep>(std::move(list)));
    }
    begin += count;
  }
  return lists;
}

Status ListStep::Run(char* const* slots, absl::Span<Value* const> inputs) const {
  const auto n = static_cast<int64_t>(entries_.size());
  const auto run = [&](int64_t i) {
    const KernelStep& step = entries_[static_cast<size_t>(i)];
    const StepArgs values(step, slots, inputs);
    step.code->Run(values.For(step), 0, step.rows, 0, step.cols);
  };
  if (work_ < cost::kWorthSharing) {
    // Backwards, so that whatever tests the plans tests that no entry waits for another.
    for (int64_t i = n; i-- > 0;) run(i);
    return absl::OkStatus();
  }
  const int64_t each = std::max<int64_t>(1, work_ / n);
  ParallelFor(n, std::max<int64_t>(1, cost::kPart / each), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) run(i);
  });
  return absl::OkStatus();
}

}  // namespace frazil::jit
