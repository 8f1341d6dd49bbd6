// take and put where examples have indices of their own: the examples become one axis with the
// indexed one, and example i's indices begin at i times its extent.
#include "batch/rules.h"
#include "core/functions/indices.h"
#include "core/functions/ops.h"

namespace frazil::batch {
namespace {

using DimVec = absl::InlinedVector<int64_t, 8>;

// Of positions among `extent` in one example, those among all.
Tensor Offset(const Tensor& indices, int64_t extent, int64_t size) {
  DimVec dims(static_cast<size_t>(indices.rank()), 1);
  dims[0] = size;
  const Tensor first = ops::multiply(ops::iota(size, DType::kI64, indices.device()), extent);
  return ops::add(ops::astype(indices, DType::kI64), ops::reshape(first, dims));
}

// `count` axes from `from` on, moved to begin at `to`.
Tensor MoveAxes(const Tensor& x, int64_t from, int64_t count, int64_t to) {
  if (!x.ok() || from == to || count == 0) return x;
  DimVec order;
  for (int64_t i = 0; i < x.rank(); ++i)
    if (i < from || i >= from + count) order.push_back(i);
  for (int64_t i = 0; i < count; ++i) order.insert(order.begin() + to + i, from + i);
  return ops::permute_dims(x, order);
}

}  // namespace

Tensor WholeTake(Operands in, AttrSpan attrs, int64_t size) {
  const Operand &x = in[0], &indices = in[1];
  const int64_t axis = attrs[0];
  if (!indices.batched) return ops::TakeAt(x.t, indices.t, axis + 1);
  if (!x.batched) return MoveAxis(ops::TakeAt(x.t, indices.t, axis), static_cast<int>(axis), 0);
  const Tensor front = MoveAxes(x.t, axis + 1, 1, 1);
  if (!front.ok()) return front;
  const int64_t extent = front.dims()[1];
  DimVec dims(front.dims().begin() + 1, front.dims().end());
  dims[0] = size * extent;
  const Tensor taken = ops::TakeAt(ops::reshape(front, dims), Offset(indices.t, extent, size), 0);
  return MoveAxes(taken, 1, indices.rank(), 1 + axis);
}

Tensor WholePut(Operands in, AttrSpan attrs, int64_t size) {
  const int64_t axis = attrs[0], axes = attrs[2];
  const bool add = attrs[1] != 0;
  const Operand& indices = in[1];
  const Tensor x = Spread(in[0], size), updates = Spread(in[2], size);
  if (!x.ok()) return x;
  if (!indices.batched) return ops::PutAt(x, indices.t, updates, axis + 1, axes, add);
  int64_t extent = 1;
  for (int64_t a = 0; a < axes; ++a) extent *= x.dims()[1 + axis + a];
  const Tensor put = ops::PutAt(MoveAxes(x, 1 + axis, axes, 1), Offset(indices.t, extent, size),
                                MoveAxes(updates, 1 + axis, indices.rank(), 1), 0, axes + 1, add);
  return MoveAxes(put, 1, axes, 1 + axis);
}

}  // namespace frazil::batch
