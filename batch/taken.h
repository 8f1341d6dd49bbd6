// The way that some examples of a vmap take, and others do not, though it runs for all: a branch of
// cond, the body of a while_loop, converted code. What the others compute there is thrown away, but
// its gradient is 0 times a derivative, and that is NaN where the derivative is not finite: of
// log(x) behind `x > 0`, say. So within a TakenScope ops take, in the place of what the others have,
// what one example has that does take this way: its derivatives are as good as those that count. The
// gradient of what the examples share counts only if any of them comes here.
//
// Called by frazil.cond and its like. Only where gradients may be wanted: within function-style
// gradients or forward mode, or if one of `operands` has history. Invariant: those that come here
// compute what they computed without it.
#pragma once

#include <memory>

#include "core/tensor.h"

#pragma GCC visibility push(default)
namespace frazil::batch {

class TakenScope {
 public:
  // `taken`: one bool, which differs between examples.
  explicit TakenScope(const Tensor& taken, absl::Span<const Tensor> operands = {});
  ~TakenScope();
  TakenScope(const TakenScope&) = delete;

 private:
  class Operands;
  std::unique_ptr<Operands> operands_;
};

}  // namespace frazil::batch
#pragma GCC visibility pop
