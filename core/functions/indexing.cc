// x[...] with NumPy's rules: integers, slices, new axes, ellipsis, integer arrays and bool masks;
// and functions that are made of it.
#include <algorithm>

#include "core/check.h"
#include "core/functions/index_parts.h"

namespace frazil::ops {
namespace {

using DimVec = absl::InlinedVector<int64_t, 8>;

// Slices and integers; new axes and dropped axes by a reshape.
Tensor Basic(const Tensor& x, const IndexParts& parts) {
  const Tensor out = IsWhole(x, parts.box) ? x : slice(x, parts.box);
  return out.ok() && out.dims() != Dims(parts.dims) ? reshape(out, parts.dims) : out;
}

// Index arrays at axes of x (its other axes whole): one take along these, as one axis. If they are
// not next to each other they come first.
Tensor Advanced(const Tensor& x, const std::vector<ArrayIndex>& arrays) {
  const Tensor positions = Positions("getitem", x, x.dims(), arrays);
  DimVec first, order;
  for (const ArrayIndex& index : arrays) {
    for (int a = index.axis; a < index.axis + index.axes; ++a) first.push_back(a);
  }
  Tensor moved = x;
  if (!AreAdjacent(arrays)) {
    order = first;
    for (int a = 0; a < x.rank(); ++a) {
      if (std::find(first.begin(), first.end(), a) == first.end()) order.push_back(a);
    }
    moved = permute_dims(x, order);
  }
  const int axis = order.empty() ? arrays[0].axis : 0;
  if (first.size() > 1 && moved.ok()) {
    DimVec dims(moved.dims().begin(), moved.dims().end());
    const auto at = dims.begin() + axis;
    for (size_t k = 1; k < first.size(); ++k) *at *= at[k];
    dims.erase(at + 1, at + static_cast<int64_t>(first.size()));
    moved = reshape(moved, dims);
  }
  return moved.ok() ? TakeAt(moved, positions, axis) : moved;
}

// x[i]: nothing else is to be found out.
bool IsIntegers(const Index& i) {
  return i.kind == Index::Kind::kTensor && i.tensor.ok() && IsInt(i.tensor.dtype());
}

}  // namespace

Tensor getitem(const Tensor& x, absl::Span<const Index> index) {
  if (!x.ok()) return x;
  if (index.size() == 1 && IsIntegers(index[0]) && x.rank() > 0)
    return Advanced(x, {{index[0].tensor, 0, 1, index[0].normal}});
  auto parts = PartsOf(x, index);
  if (!parts.ok()) return Tensor(parts.status());
  if (Status s = FindMasked(&*parts); !s.ok()) return Tensor(std::move(s));
  const Tensor part = Basic(x, *parts);
  return parts->arrays.empty() || !part.ok() ? part : Advanced(part, parts->arrays);
}

std::vector<Tensor> nonzero(const Tensor& x) {
  const Tensor mask = x.ok() ? astype(x.Detach(), DType::kBool) : x;
  if (!mask.ok()) return {mask};
  if (mask.rank() == 0) {
    return {ValueError("[nonzero] needs at least one axis, got ", Describe(x), "; use reshape.")};
  }
  if (mask.rank() == 1) return {TruePositions(mask, false)};
  const Tensor positions = TruePositions(mask, true);
  if (!positions.ok()) return {positions};
  std::vector<Tensor> out;
  const int64_t count = positions.dims()[1];
  for (int axis = 0; axis < mask.rank(); ++axis)
    out.push_back(reshape(slice(positions, {axis, 1, 1, 0, 1, count}), {count}));
  return out;
}

Tensor take_along_axis(const Tensor& x, const Tensor& indices, int64_t axis) {
  if (!x.ok()) return x;
  if (!indices.ok()) return indices;
  const auto fixed = CheckAxis("take_along_axis", axis, x.rank());
  if (!fixed.ok()) return Tensor(fixed.status());
  if (indices.rank() != x.rank()) {
    return ValueError("[take_along_axis] ranks differ: x is ", Describe(x), ", indices are ",
                      Describe(indices), ".");
  }
  std::vector<Index> index;
  for (int i = 0; i < x.rank(); ++i) {
    if (i == *fixed) {
      index.push_back({.kind = Index::Kind::kTensor, .tensor = indices});
      continue;
    }
    DimVec dims(x.rank(), 1);
    dims[i] = x.dims()[i];
    index.push_back({.kind = Index::Kind::kTensor,
                     .tensor = reshape(iota(x.dims()[i], DType::kI64, x.device()), dims)});
  }
  return getitem(x, index);
}

}  // namespace frazil::ops
