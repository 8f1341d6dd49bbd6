#include "core/functions/assign.h"

#include "core/apply.h"
#include "core/functions/composite.h"
#include "core/functions/indices.h"
#include "core/tuned.h"

namespace frazil::ops {
namespace {

using DimVec = absl::InlinedVector<int64_t, 8>;

struct Box {
  int64_t start, step, size;

  bool Whole(int64_t extent) const { return start == 0 && step == 1 && size == extent; }
};

Box At(Dims box, int axis) { return {box[3 * axis], box[3 * axis + 1], box[3 * axis + 2]}; }

// Where an index along `axis` is inside; broadcasts against x. Made of constants of the body,
// so that a loop that assigns to the same box has it once.
Tensor Inside(const Tensor& x, Dims box, int axis) {
  const Box b = At(box, axis);
  const int64_t extent = x.dims()[axis];
  DimVec dims(x.rank(), 1);
  dims[axis] = extent;
  const Tensor index = reshape(iota(extent, DType::kI64, x.device()), dims);
  if (b.start == 0) return less(index, b.size);
  const Tensor from = greater_equal(index, b.start);
  return b.start + b.size == extent ? from : logical_and(from, less(index, b.start + b.size));
}

Tensor Choose(const Tensor& x, Dims box, const Tensor& v) {
  Tensor inside;
  DimVec edges;
  for (int a = 0; a < x.rank(); ++a) {
    const Box b = At(box, a);
    edges.insert(edges.end(), {b.start, x.dims()[a] - b.start - b.size});
    if (b.Whole(x.dims()[a])) continue;
    const Tensor along = Inside(x, box, a);
    inside = inside.defined() ? logical_and(inside, along) : along;
  }
  if (!inside.defined()) inside = Inside(x, box, 0);
  return where(inside, pad(v, edges, Scalar::Int(0)), x);
}

// Positions start, start + step, ...
Tensor Along(const Tensor& x, const Box& b, int64_t extent) {
  const int64_t part[] = {b.start, b.step, b.size};
  return slice(iota(extent, DType::kI64, x.device()), part);
}

Tensor PutFlat(const Tensor& x, Dims box, const Tensor& v) {
  Tensor positions;
  int64_t stride = 1;
  for (int a = x.rank() - 1; a >= 0; --a) {
    DimVec dims(x.rank(), 1);
    dims[a] = At(box, a).size;
    const Tensor along = Along(x, At(box, a), x.dims()[a]);
    const Tensor scaled = reshape(stride == 1 ? along : multiply(along, Scalar::Int(stride)), dims);
    positions = positions.defined() ? add(scaled, positions) : scaled;
    stride *= x.dims()[a];
  }
  return reshape(PutAt(reshape(x, {-1}), flatten(positions), flatten(v), 0), x.dims());
}

// Where more than one axis is cut: into a copy of what one of the cuts leaves, all of the other
// axes, which is then put back. That leaves the rest of x where it is; but gradients would be sums,
// with zeros added.
Tensor PutBack(const Tensor& x, Dims box, const Tensor& v, int axis) {
  DimVec whole, inner(box.begin(), box.end());
  for (int a = 0; a < x.rank(); ++a) {
    const Box b = a == axis ? At(box, a) : Box{0, 1, x.dims()[a]};
    whole.insert(whole.end(), {b.start, b.step, b.size});
  }
  inner[3 * axis] = 0;
  inner[3 * axis + 1] = 1;
  const Tensor part = AssignBox(slice(x, whole), inner, v);
  return part.ok() ? PutAt(x, Along(x, At(box, axis), x.dims()[axis]), part, axis) : part;
}

}  // namespace

Tensor AssignBox(const Tensor& x, Dims box, const Tensor& v) {
  if (!v.ok()) return v;
  DimVec sizes;
  int parts = 0, part = -1;  // axes of which only a part is assigned: how many, the smallest part
  bool dense = true;
  for (int a = 0; a < x.rank(); ++a) {
    const Box b = At(box, a);
    sizes.push_back(b.size);
    dense &= b.step == 1 || b.size <= 1;
    if (b.Whole(x.dims()[a])) continue;
    ++parts;
    if (part < 0 ||
        double(b.size) * double(x.dims()[part]) < double(At(box, part).size) * double(x.dims()[a]))
      part = a;
  }
  const Tensor same = reshape(v, sizes);
  if (!same.ok() || same.size() == 0) return same.ok() ? x : same;
  if (dense && same.size() >= x.size() / tuned::kLargePart) {
    const KeepsContent keeps;  // one kernel for all of it is faster than several in place
    const Tensor before = x;
    return Composite(CompositeId::k_assign_box, {&before, &same}, box,
                     [&] { return Choose(before, box, same); });
  }
  if (parts == 1) return PutAt(x, Along(x, At(box, part), x.dims()[part]), same, part);
  const bool gradient = NeedsGrad(State(), x) || NeedsGrad(State(), same);
  return gradient ? PutFlat(x, box, same) : PutBack(x, box, same, part);
}

}  // namespace frazil::ops
