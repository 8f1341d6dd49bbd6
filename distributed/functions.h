// Collectives as functions of tensors, part of frazil.h: distributed::all_reduce and so on, the same
// as those of Python's fz.distributed. Called by programs and the bindings.
//
//     fz::distributed::Init();
//     fz::Tensor total = fz::distributed::all_reduce(part);
//
// Each is a call of the op `collective`: recorded, differentiable (the gradient of a sum over ranks
// is a sum over ranks), and in a vmap one exchange for all examples. Errors travel inside the
// returned tensor. Invariant: every rank of the group makes the same calls in the same order.
#pragma once

#include "core/collective.h"
#include "core/tensor.h"
#include "distributed/world.h"

#pragma GCC visibility push(default)
namespace frazil::distributed {

// `group`: a number (distributed/world.h), 0 for all ranks; `peer`: a place in it.
Tensor all_reduce(const Tensor& x, Reduction op = Reduction::kSum, int64_t group = 0);
// The rank's part along axis 0 of what all_reduce gives.
Tensor reduce_scatter(const Tensor& x, Reduction op = Reduction::kSum, int64_t group = 0);
// One after another along axis 0.
Tensor all_gather(const Tensor& x, int64_t group = 0);
Tensor broadcast(const Tensor& x, int64_t from = 0, int64_t group = 0);
// Part i along axis 0 goes to rank i.
Tensor all_to_all(const Tensor& x, int64_t group = 0);
// An array without elements: where its sum is added to a loss, the gradient comes back.
Tensor send(const Tensor& x, int64_t to, int64_t group = 0);
Tensor recv(const Tensor& like, int64_t from, int64_t group = 0);
Status barrier(int64_t group = 0);

}  // namespace frazil::distributed
#pragma GCC visibility pop
