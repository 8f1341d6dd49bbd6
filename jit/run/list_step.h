// Small kernels of a plan that do not wait for each other (the update of each of a hundred
// parameters) as one step: their calls are a list that threads share out. Put together by the
// planner, run by plans. Invariant: no entry writes what another touches.
#pragma once

#include "jit/run/step.h"
#include "jit/run/touch.h"

namespace frazil::jit {

class ListStep final : public StepGroup {
 public:
  explicit ListStep(std::vector<KernelStep> entries)
      : entries_(std::move(entries)), work_(StepGroup::work()) {}

  Status Run(char* const* slots, absl::Span<Value* const> inputs) const override;
  void ForEach(absl::FunctionRef<void(const Step&)> f) const override {
    for (const KernelStep& entry : entries_) f(entry);
  }
  int64_t work() const override { return work_; }
  const std::vector<KernelStep>& entries() const { return entries_; }

 private:
  std::vector<KernelStep> entries_;
  int64_t work_;
};

// Puts runs of neighbouring steps into lists. `touches(i)` is what step i touches.
JoinedSteps MakeLists(Steps steps, absl::FunctionRef<std::vector<Touch>(size_t)> touches);

}  // namespace frazil::jit
