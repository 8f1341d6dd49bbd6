// The parts of attention that its gradient is made of (core/functions/attention.cc). Called by
// autograd/rules.cc. Invariant: made of ops, so that gradients of any order work and are traced.
#pragma once

#include "core/functions/ops.h"

namespace frazil::ops {

// The elements of `flat` from `start` as an array of shape `dims`.
Tensor part_of_flat(const Tensor& flat, int64_t start, Dims dims);

// The gradients of attend(q, k, v) = y for the gradient g of y, joined to one axis. By the op
// attend_grad; where they are to be differentiated again, by the formula written out.
Tensor attend_gradients(const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& y,
                        const Tensor& g, bool causal);

}  // namespace frazil::ops
