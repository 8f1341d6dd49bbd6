#include "jit/run/epilogue_step.h"

#include <deque>

#include "absl/container/inlined_vector.h"
#include "jit/run/step_group.h"

namespace frazil::jit {

Status RunEpilogue(const EpilogueStep& step, char* const* slots, absl::Span<Value* const> inputs) {
  absl::InlinedVector<char*, 3> operands;
  for (const Pointer& p : step.product.operands) operands.push_back(slots[p.slot] + p.offset);
  std::deque<StepArgs> args;  // which do not move
  for (const KernelStep& kernel : step.kernels) args.emplace_back(kernel, slots, inputs);
  const LibraryCall& call = *step.product.call;
  const int64_t rows = call.rows();
  char* const result = slots[step.product.result.slot] + step.product.result.offset;
  return call.RunByRows(operands, result, [&](int64_t begin, int64_t end) {
    for (size_t i = 0; i < args.size(); ++i) {
      const KernelStep& kernel = step.kernels[i];
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
