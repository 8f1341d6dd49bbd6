// x[...] = v, with the rules of x[...].
#include <algorithm>

#include "core/check.h"
#include "core/functions/assign.h"
#include "core/functions/index_parts.h"
#include "core/tuned.h"

namespace frazil::ops {
namespace {

using DimVec = absl::InlinedVector<int64_t, 8>;

// v as something that broadcasts to what is assigned, without leading axes of extent 1.
Tensor Fitting(const Tensor& x, const Tensor& v, int rank) {
  const bool number = v.device() == Device() && v.size() == 1;  // goes with any device
  const Tensor same = astype(v, x.dtype());
  const Tensor here = number ? to_device(same, x.device()) : same;
  if (!here.ok()) return here;
  int extra = 0;
  while (here.rank() - extra > rank && here.dims()[extra] == 1) ++extra;
  return extra ? reshape(here, here.dims().subspan(extra)) : here;
}

Tensor Spread(const Tensor& x, const Tensor& v, Dims dims) {
  const Tensor here = Fitting(x, v, static_cast<int>(dims.size()));
  const Tensor out = broadcast_to(here, dims);
  if (out.ok()) return out;
  return ValueError("[setitem] cannot assign ", Describe(v), " to a part of shape ", ToString(dims),
                    ".");
}

// x[mask] = v where v is the same for every element, or row, that the mask chooses: no number of
// them is needed, so nothing is read.
Tensor Masked(const Tensor& x, const ArrayIndex& index, const Tensor& v) {
  DimVec dims(static_cast<size_t>(x.rank()), 1);
  const Dims mask = index.array.dims();
  std::copy(mask.begin(), mask.end(), dims.begin() + index.axis);
  Tensor chosen;
  {
    const KeepsContent keeps;
    chosen = to_device(reshape(index.array, dims), x.device());
  }
  // The op itself, since nothing else may hold what is written over.
  return chosen.ok() ? Apply(OpId::k_where, {&chosen, &v, &x}) : chosen;
}

// Whether v has one part for all that a mask chooses: extent 1, or nothing, along their axis.
bool IsSame(const Tensor& x, const ArrayIndex& index, const Tensor& v) {
  const int after = x.rank() - index.axis - index.axes;
  if (v.rank() > after + 1 || (v.rank() == after + 1 && v.dims()[0] != 1)) return false;
  const auto shape = BroadcastShapes("setitem", x.shape(), v.shape());
  return shape.ok() && *shape == x.shape();
}

// How far apart the elements of x[basic] lie along each of its axes, in the flat array, and where
// the first is.
struct Steps {
  Steps(const Tensor& x, const IndexParts& parts) {
    int axis = x.rank();
    int64_t stride = 1;
    for (size_t i = parts.basic.size(); i-- > 0;) {
      if (parts.basic[i].kind == Index::Kind::kNewAxis) {
        each.push_back(0);
        continue;
      }
      --axis;
      first += parts.box[3 * axis] * stride;
      if (parts.basic[i].kind != Index::Kind::kInt)
        each.push_back(parts.box[3 * axis + 1] * stride);
      stride *= x.dims()[axis];
    }
    std::reverse(each.begin(), each.end());
  }

  DimVec each;
  int64_t first = 0;
};

// `t` along axes [from, from + t.rank()) of `rank`.
Tensor Along(const Tensor& t, int from, int rank) {
  DimVec dims(static_cast<size_t>(rank), 1);
  std::copy(t.dims().begin(), t.dims().end(), dims.begin() + from);
  return reshape(t, dims);
}

// Where the elements of x[index] lie in the flat array, in the shape of x[index].
Tensor FlatPositions(const Tensor& x, const IndexParts& parts) {
  const Steps steps(x, parts);
  const int rank = static_cast<int>(parts.dims.size());
  std::vector<bool> indexed(static_cast<size_t>(rank));
  Tensor joined;  // of the arrays: each counts in steps of its last axis
  for (const ArrayIndex& index : parts.arrays) {
    const int end = index.axis + index.axes;
    std::fill(indexed.begin() + index.axis, indexed.begin() + end, true);
    const Tensor one = Positions("setitem", x, parts.dims, {&index, 1});
    const Tensor scaled = one.ok() ? astype(one, DType::kI64) * Arg(steps.each[end - 1]) : one;
    if (!scaled.ok()) return scaled;
    if (joined.defined() && !BroadcastShapes("setitem", joined.shape(), scaled.shape()).ok()) {
      return IndexError("[setitem] index arrays do not broadcast: ", ToString(joined.dims()),
                        " and ", ToString(scaled.dims()), ".");
    }
    joined = joined.defined() ? joined + scaled : scaled;
  }
  // Then the other axes, each by itself.
  const int at = AreAdjacent(parts.arrays) ? parts.arrays[0].axis : 0;
  const auto others = static_cast<int>(std::count(indexed.begin(), indexed.end(), false));
  const int total = others + joined.rank();
  Tensor positions = Along(joined + Arg(steps.first), at, total);
  int out = 0;
  for (int axis = 0; axis < rank; ++axis) {
    if (out == at) out += joined.rank();
    if (indexed[axis]) continue;
    const Tensor along = iota(parts.dims[axis], DType::kI64, x.device()) * Arg(steps.each[axis]);
    positions = Along(along, out++, total) + positions;
  }
  return positions;
}

// Arrays next to each other whose other axes are whole.
Tensor PutInAxes(const Tensor& x, const std::vector<ArrayIndex>& arrays, const Tensor& v) {
  const Tensor positions = Positions("setitem", x, x.dims(), arrays);
  if (!positions.ok()) return positions;
  const int begin = arrays.front().axis, end = arrays.back().axis + arrays.back().axes;
  DimVec dims(x.dims().begin(), x.dims().begin() + begin);
  dims.insert(dims.end(), positions.dims().begin(), positions.dims().end());
  dims.insert(dims.end(), x.dims().begin() + end, x.dims().end());
  return PutAt(x, positions, Spread(x, v, dims), begin, end - begin);
}

Tensor PutFlat(const Tensor& x, const IndexParts& parts, const Tensor& v) {
  Tensor positions;
  {
    const KeepsContent keeps;
    positions = FlatPositions(x, parts);
  }
  if (!positions.ok()) return positions;
  const Tensor wide = Spread(x, v, positions.dims());
  if (x.rank() > 0) return PutAt(x, positions, wide, 0, x.rank());
  return reshape(PutAt(reshape(x, {1}), positions, wide, 0), {});
}

}  // namespace

Tensor setitem(const Tensor& x, absl::Span<const Index> index, const Tensor& v) {
  if (!x.ok()) return x;
  if (!v.ok()) return v;
  const auto whole = [&](const Tensor& part) {
    const Tensor same = part.ok() ? reshape(part, x.dims()) : part;
    return same.ok() ? to_device(Apply(OpId::k_copy, {&same}), x.device()) : same;
  };
  if (index.size() == 1 && index[0].kind == Index::Kind::kEllipsis)
    return whole(Spread(x, v, x.dims()));
  auto parts = PartsOf(x, index);
  if (!parts.ok()) return Tensor(parts.status());
  if (parts->arrays.empty()) {
    const Tensor part = Spread(x, v, parts->dims);
    return x.rank() > 0 ? AssignBox(x, parts->box, part) : whole(part);
  }
  const bool all = IsWhole(x, parts->box) && Dims(parts->dims) == x.dims();
  const ArrayIndex& first = parts->arrays[0];
  if (all && parts->arrays.size() == 1 && IsBool(first.array.dtype()) && first.array.size() > 0) {
    const Tensor same = Fitting(x, v, x.rank());
    if (!same.ok()) return same;
    // Long rows one by one, if it costs nothing to look how many there are.
    const bool rows =
        x.size() >= tuned::kLongMaskedRow * first.array.size() && State().door == nullptr;
    if (!rows && IsSame(x, first, same)) return Masked(x, first, same);
  }
  if (Status s = FindMasked(&*parts); !s.ok()) return Tensor(std::move(s));
  return all && AreAdjacent(parts->arrays) ? PutInAxes(x, parts->arrays, v) : PutFlat(x, *parts, v);
}

}  // namespace frazil::ops
