// Small kernels of a plan that do not wait for each other (the update of each of a hundred
// parameters) as one step: their calls are a list that threads share out. Put together by the
// planner, run by plans. Invariant: no entry writes what another touches.
#pragma once

#include "absl/functional/function_ref.h"
#include "jit/run/step.h"
#include "jit/run/touch.h"

namespace frazil::jit {

class ListStep final : public StepGroup {
 public:
  explicit ListStep(Steps steps);  // kernels
  Status Run(char* const* slots, absl::Span<Value* const> inputs) const override;
  absl::Span<const KernelStep* const> entries() const { return entries_; }

 private:
  std::vector<const KernelStep*> entries_;  // steps()
};

// Puts runs of neighbouring steps into lists. `touches(i)` is what step i touches.
JoinedSteps MakeLists(Steps steps, absl::FunctionRef<std::vector<Touch>(size_t)> touches);

}  // namespace frazil::jit
