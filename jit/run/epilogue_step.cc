#include "jit/run/epilogue_step.h"

#include <deque>

#include "absl/container/inlined_vector.h"

namespace frazil::jit {

EpilogueStep::EpilogueStep(Steps all)
    : StepGroup(std::move(all)), product_(dynamic_cast<const LibraryStep&>(*steps()[0])) {
  for (size_t i = 1; i < steps().size(); ++i)
    kernels_.push_back(&dynamic_cast<const KernelStep&>(*steps()[i]));
}

Status EpilogueStep::Run(char* const* slots, absl::Span<Value* const> inputs) const {
  absl::InlinedVector<char*, 3> operands;
  for (const Pointer& p : product_.operands) operands.push_back(slots[p.slot] + p.offset);
  std::deque<StepArgs> args;  // which do not move
  for (const KernelStep* kernel : kernels_) args.emplace_back(*kernel, slots, inputs);
  const int64_t rows = product_.call->rows();
  char* const result = slots[product_.result.slot] + product_.result.offset;
  return product_.call->RunByRows(operands, result, [&](int64_t begin, int64_t end) {
    for (size_t i = 0; i < args.size(); ++i) {
      const KernelStep& kernel = *kernels_[i];
      const int64_t parts = EpilogueParts(kernel.rows, kernel.cols) / rows;
      if (kernel.rows == 1) {
        kernel.code->Run(args[i].For(kernel), 0, 1, begin * parts, end * parts);
      } else {
        kernel.code->Run(args[i].For(kernel), begin * parts, end * parts, 0, kernel.cols);
      }
    }
  });
}

}  // namespace frazil::jit
