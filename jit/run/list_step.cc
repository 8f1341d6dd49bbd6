#include "jit/run/list_step.h"

#include <algorithm>

#include "absl/container/flat_hash_map.h"
#include "core/cost.h"
#include "core/threads/long_work.h"
#include "core/threads/parallel.h"

namespace frazil::jit {
namespace {

// The kernels of a plan that one thread runs each; larger ones share out their own points.
bool IsSmall(const Step& step) {
  const KernelStep* kernel = std::get_if<KernelStep>(&step);
  return kernel && kernel->code && !kernel->device && kernel->work < cost::kWorthSharing;
}

// What the entries of a list touch, by block.
class Touched {
 public:
  bool Meets(absl::Span<const Touch> touches) const {
    return std::any_of(touches.begin(), touches.end(), [&](const Touch& t) {
      const auto it = blocks_.find(t.block);
      if (it == blocks_.end()) return false;
      return std::any_of(it->second.begin(), it->second.end(), [&](const Touch& x) {
        return (x.write || t.write) && x.begin < t.end && t.begin < x.end;
      });
    });
  }
  void Add(absl::Span<const Touch> touches) {
    for (const Touch& t : touches) {
      std::vector<Touch>& block = blocks_[t.block];
      const bool known = !block.empty() && block.back().begin == t.begin &&
                         block.back().end == t.end && block.back().write == t.write;
      if (!known) block.push_back(t);  // what all entries read is kept once
    }
  }

 private:
  absl::flat_hash_map<int32_t, std::vector<Touch>> blocks_;
};

}  // namespace

std::vector<Step> MakeLists(std::vector<Step> steps,
                            absl::FunctionRef<std::vector<Touch>(size_t)> touches,
                            std::vector<int32_t>* now) {
  std::vector<Step> lists;
  for (size_t begin = 0; begin < steps.size();) {
    size_t end = begin;
    Touched touched;
    int64_t work = 0;
    for (; end < steps.size() && end - begin < tuned::kMaxListed && IsSmall(steps[end]); ++end) {
      const std::vector<Touch> own = touches(end);
      if (touched.Meets(own)) break;
      touched.Add(own);
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
