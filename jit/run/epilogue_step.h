// A product whose epilogue takes its rows, block by block, while the cache holds them. Found by
// jit/plan/epilogue.h, run by plans. Invariant: as a StepGroup's.
#pragma once

#include "jit/run/step.h"

namespace frazil::jit {

// A launch goes by rows of its columns if it has one row, otherwise by its rows.
inline int64_t EpilogueParts(int64_t rows, int64_t cols) { return rows == 1 ? cols : rows; }

class EpilogueStep final : public StepGroup {
 public:
  explicit EpilogueStep(Steps steps);  // of a library, and kernels behind it
  Status Run(char* const* slots, absl::Span<Value* const> inputs) const override;

 private:
  const LibraryStep& product_;
  std::vector<const KernelStep*> kernels_;
};

}  // namespace frazil::jit
