#include "jit/run/list_step.h"

#include <algorithm>

#include "core/cost.h"
#include "core/threads/long_work.h"
#include "core/threads/parallel.h"

namespace frazil::jit {
namespace {

// The kernels of a plan that one thread runs each; larger ones share out their own points.
bool IsSmall(const Step& step) {
  const auto* const kernel = dynamic_cast<const KernelStep*>(&step);
  return kernel && kernel->code && !kernel->device && kernel->work() < cost::kWorthSharing;
}

}  // namespace

JoinedSteps MakeLists(Steps steps, absl::FunctionRef<std::vector<Touch>(size_t)> touches) {
  JoinedSteps lists;
  for (size_t begin = 0; begin < steps.size();) {
    Touched touched;
    size_t end = begin;
    for (; end < steps.size() && end - begin < tuned::kMaxListed && IsSmall(*steps[end]); ++end) {
      const std::vector<Touch> own = touches(end);
      if (!touched.Before(own).empty()) break;
      touched.Add(static_cast<int32_t>(end), own);
    }
    if (end - begin < 2) {
      lists.Add(1, std::move(steps[begin++]));
      continue;
    }
    lists.Add(int32_t(end - begin), std::make_unique<ListStep>(TakeSteps(&steps, begin, end)));
    begin = end;
  }
  return lists;
}

ListStep::ListStep(Steps all) : StepGroup(std::move(all)) {
  for (const auto& step : steps()) entries_.push_back(&dynamic_cast<const KernelStep&>(*step));
}

Status ListStep::Run(char* const* slots, absl::Span<Value* const> inputs) const {
  const auto n = static_cast<int64_t>(entries_.size());
  const auto run = [&](int64_t i) {
    const KernelStep& step = *entries_[static_cast<size_t>(i)];
    const StepArgs values(step, slots, inputs);
    step.code->Run(values.For(step), 0, step.rows, 0, step.cols);
  };
  if (work() < cost::kWorthSharing) {
    // Backwards, so that whatever tests the plans tests that no entry waits for another.
    for (int64_t i = n; i-- > 0;) run(i);
    return absl::OkStatus();
  }
  const int64_t each = std::max<int64_t>(1, work() / n);
  ParallelFor(n, std::max<int64_t>(1, cost::kPart / each), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) run(i);
  });
  return absl::OkStatus();
}

}  // namespace frazil::jit
