// Gradient rules of matmul, and the gradient of an operand that met many others, as the weights of
// a recurrent network meet the states of all steps. Called by autograd/rules.cc and walk.cc.
// Invariant: what waits for others is decided by shapes and the tape alone, so eager and traced
// gradients have the same bits.
#pragma once

#include <vector>

#include "autograd/tape.h"

namespace frazil::autograd {

Tensor grad_matmul_a(const Tensor& g, const Tensor& a, const Tensor& b);
Tensor grad_matmul_b(const Tensor& g, const Tensor& a, const Tensor& b);

Tensor Transposed(const Tensor& t);  // the last two axes
Tensor Stacked(const Tensor& t);     // the matrices of the leading axes as the rows of one

// Whether the gradient of an operand may wait for others of the same operand. Each is a product
// whose inner axis is short beside its other ones; the sum of all is one product of what lies side
// by side along it, which is neither written nor added up for each.
bool MayWait(const TapeNode& matmul, int input);

// The factors of such products of one operand, newest first.
class WaitingProducts {
 public:
  // The gradient of that operand, for which MayWait() is true, waits. Returns the sum of those that
  // do so no longer: where they are many, or lie otherwise than this one; else it is undefined.
  Tensor Add(const TapeNode& matmul, int input, const Tensor& g);
  // The sum of all that wait; undefined if none does.
  Tensor Take();

 private:
  std::vector<Tensor> left_, right_;
  bool rows_ = true;   // the inner axis is the last but one of both, or the last
  int64_t steps_ = 0;  // its extent in all
  Tensor like_;        // the operand
};

}  // namespace frazil::autograd
