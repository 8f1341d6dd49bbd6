// Collectives as functions of tensors. Called by the bindings (fz.distributed,
// bindings/cpp/distributed.h).
//
// Each is a call of the op `collective`, or a few: recorded, differentiable (the gradient of a sum
// over ranks is a sum over ranks), and in a vmap one exchange for all examples. Errors travel inside
// the returned tensor. Invariant: every rank of the group makes the same calls in the same order.
#pragma once

#include "core/collective.h"
#include "core/tensor.h"

namespace frazil::ops {

// `group`: a number (distributed/world.h), 0 for all ranks; `peer`: a place in it.
Tensor all_reduce(const Tensor& x, Reduction op, int64_t group);
// The rank's part along axis 0 of what all_reduce gives.
Tensor reduce_scatter(const Tensor& x, Reduction op, int64_t group);
// One after another along axis 0.
Tensor all_gather(const Tensor& x, int64_t group);
Tensor rank_broadcast(const Tensor& x, int64_t from, int64_t group);
// Part i along axis 0 goes to rank i.
Tensor all_to_all(const Tensor& x, int64_t group);
// An array without elements: where its sum is added to a loss, the gradient comes back.
Tensor send(const Tensor& x, int64_t to, int64_t group);
Tensor recv(const Tensor& like, int64_t from, int64_t group);
Status barrier(int64_t group);

}  // namespace frazil::ops
