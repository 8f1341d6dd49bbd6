// Consecutive steps of a plan on one device, launched as one. Put together by the planner, run by
// plans. Invariant: the effect is that of the steps one after another; what does not touch the same
// memory may run side by side.
#pragma once

#include "core/small_stack.h"
#include "jit/run/steps.h"

namespace frazil::jit {

// What one run of a kernel step is called with.
struct StepArgs {
  SmallStack<void*, 16> buffers;
  SmallStack<uint64_t, 16> scalars;

  StepArgs(const KernelStep& step, char* const* slots, absl::Span<Value* const> inputs);
  kir::KernelArgs For(const KernelStep& step) const {
    return {buffers.begin(), step.extents.data(), step.strides.data(), scalars.begin()};
  }
};

// About what it holds, kernels apart.
int64_t BytesOf(const KernelStep& step);
int64_t BytesOf(const Step& step);

// Runs one step by itself.
Status RunStep(const Step& step, char* const* slots, absl::Span<Value* const> inputs);

class StepGroup {
 public:
  virtual ~StepGroup() = default;
  virtual Status Run(char* const* slots, absl::Span<Value* const> inputs) const = 0;
  virtual int64_t bytes() const = 0;
  virtual absl::Span<const Step> steps() const = 0;
};

}  // namespace frazil::jit
