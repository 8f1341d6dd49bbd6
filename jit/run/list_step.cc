#include "jit/run/list_step.h"

#include <algorithm>

#include "core/cost.h"
#include "core/threads/long_work.h"
#include "core/threads/parallel.h"

namespace frazil::jit {
namespace {

constexpr size_t kMaxEntries = 256;

// The kernels of a plan that one thread runs each; larger ones share out their own points.
bool IsSmall(const Step& step) {
  const KernelStep* kernel = std::get_if<KernelStep>(&step);
  return kernel && kernel->code && !kernel->device && kernel->work < cost::kWorthSharing;
}

}  // namespace

std::vector<Step> MakeLists(std::vector<Step> steps,
                            absl::FunctionRef<std::vector<Touch>(size_t)> touches,
                            std::vector<int32_t>* now) {
  std::vector<Step> lists;
  for (size_t begin = 0; begin < steps.size();) {
    size_t end = begin;
    Touched touched;
    int64_t work = 0;
    for (; end < steps.size() && end - begin < kMaxEntries && IsSmall(steps[end]); ++end) {
      const std::vector<Touch> own = touches(end);
      if (!touched.Before(own).empty()) break;
      touched.Add(static_cast<int32_t>(end), own);
      work += std::get<KernelStep>(steps[end]).work;
    }
    if (end - begin < 2) {
      now->push_back(static_cast<int32_t>(lists.size()));
      lists.push_back(std::move(steps[begin++]));
      continue;
    }
    auto list = std::make_unique<KernelList>();
    list->work = work;
    for (; begin < end; ++begin) {
      now->push_back(static_cast<int32_t>(lists.size()));
      list->entries.push_back(std::get<KernelStep>(std::move(steps[begin])));
    }
    lists.push_back(ListStep{std::move(list)});
  }
  return lists;
}

void RunList(const ListStep& list, char* const* slots, absl::Span<Value* const> inputs) {
  const std::vector<KernelStep>& entries = list.list->entries;
  const auto n = static_cast<int64_t>(entries.size());
  const auto run = [&](int64_t i) {
    const KernelStep& step = entries[static_cast<size_t>(i)];
    const StepArgs values(step, slots, inputs);
    step.code->Run(values.For(step), 0, step.rows, 0, step.cols);
  };
  if (list.list->work < cost::kWorthSharing) {
    // Backwards, so that whatever tests the plans tests that no entry waits for another.
    for (int64_t i = n; i-- > 0;) run(i);
    return;
  }
  const int64_t each = std::max<int64_t>(1, list.list->work / n);
  ParallelFor(n, std::max<int64_t>(1, cost::kPart / each), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) run(i);
  });
}

}  // namespace frazil::jit
