// Arrays turned round, repeated and brought to one shape, under the names of NumPy and the array API.
#include <algorithm>
#include <numeric>

#include "core/functions/functions.h"
#include "core/functions/parts.h"

namespace frazil::ops {

Tensor transpose(const Tensor& x, const Axes& axes) {
  if (!x.ok()) return x;
  if (axes) return permute_dims(x, *axes);
  DimVec order(static_cast<size_t>(x.rank()));
  std::iota(order.rbegin(), order.rend(), 0);
  return permute_dims(x, order);
}

Tensors unstack(const Tensor& x, int64_t axis) {
  if (!x.ok()) return {x};
  const auto along = CheckAxis("unstack", axis, x.rank());
  if (!along.ok()) return {Tensor(along.status())};
  const Tensor first = MoveAxis(x, *along, 0);
  Tensors out;
  for (int64_t i = 0; i < x.dims()[*along]; ++i) out.push_back(Pick(first, 0, i));
  return out;
}

Tensor roll(const Tensor& x, const Ints& shift, const Axes& axes) {
  if (!x.ok()) return x;
  if (!axes) return reshape(roll(flatten(x), shift, Over({0})), x.dims());
  if (shift.size() != 1 && shift.size() != axes->size())
    return ValueError("[roll] ", shift.size(), " shifts for ", axes->size(), " axes.");
  Tensor out = x;
  for (size_t i = 0; i < axes->size(); ++i) {
    const auto axis = CheckAxis("roll", (*axes)[i], x.rank());
    if (!axis.ok()) return Tensor(axis.status());
    const int64_t n = x.dims()[*axis], by = n ? shift[shift.size() == 1 ? 0 : i] % n : 0;
    if (by == 0) continue;
    const int64_t cut = by > 0 ? n - by : -by;
    out = concat({Narrow(out, *axis, cut, n - cut), Narrow(out, *axis, 0, cut)}, *axis);
  }
  return out;
}

Tensor repeat(const Tensor& given, const Ints& repeats, std::optional<int64_t> axis) {
  const Tensor x = axis ? given : flatten(given);
  if (!x.ok()) return x;
  const auto along = CheckAxis("repeat", axis.value_or(0), x.rank());
  if (!along.ok()) return Tensor(along.status());
  const int64_t n = x.dims()[*along];
  for (const int64_t count : repeats) {
    if (count < 0) return ValueError("[repeat] counts must not be negative, got ", count, ".");
  }
  if (repeats.size() == 1) {
    DimVec dims(x.dims().begin(), x.dims().end());
    dims.insert(dims.begin() + *along + 1, repeats[0]);
    const Tensor spread = broadcast_to(expand_dims(x, *along + 1), dims);
    dims.erase(dims.begin() + *along + 1);
    dims[static_cast<size_t>(*along)] *= repeats[0];
    return reshape(spread, dims);
  }
  if (static_cast<int64_t>(repeats.size()) != n)
    return ValueError("[repeat] ", repeats.size(), " counts for an axis of extent ", n, ".");
  int64_t all = 0;
  for (const int64_t count : repeats) {
    const bool over = __builtin_add_overflow(all, count, &all);
    if (Status s = CheckDims("repeat", {all, over ? all : 1}, sizeof(int64_t)); over || !s.ok())
      return MemoryError("[repeat] the counts add up to more elements than memory holds.");
  }
  std::vector<int64_t> places;
  for (int64_t i = 0; i < n; ++i)
    places.insert(places.end(), static_cast<size_t>(repeats[static_cast<size_t>(i)]), i);
  return take(x, OfInts(places), *along);
}

StatusOr<std::vector<int64_t>> broadcast_shapes(absl::Span<const std::vector<int64_t>> shapes) {
  std::vector<int64_t> out;
  for (std::vector<int64_t> shape : shapes) {
    const size_t rank = std::max(out.size(), shape.size());
    out.insert(out.begin(), rank - out.size(), 1);
    shape.insert(shape.begin(), rank - shape.size(), 1);
    for (size_t i = 0; i < rank; ++i) {
      const int64_t a = out[i], b = shape[i];
      if (a != b && a != 1 && b != 1) {
        std::string all;
        for (const auto& each : shapes) StrAppend(&all, all.empty() ? "" : ", ", Tuple(each));
        return ValueError("[broadcast_shapes] shapes do not broadcast: [", all, "] (", a, " vs ", b,
                          ").");
      }
      out[i] = a == 1 ? b : a;
    }
  }
  return out;
}

Tensors broadcast_arrays(TensorSpan arrays) {
  std::vector<std::vector<int64_t>> shapes;
  for (const Tensor& t : arrays) {
    if (!t.ok()) return {t};
    shapes.emplace_back(t.dims().begin(), t.dims().end());
  }
  const auto shape = broadcast_shapes(shapes);
  if (!shape.ok()) return {Tensor(shape.status())};
  Tensors out;
  for (const Tensor& t : arrays) out.push_back(broadcast_to(t, *shape));
  return out;
}

Tensors meshgrid(TensorSpan arrays, std::string_view indexing) {
  if (indexing != "xy" && indexing != "ij") {
    return {Tensor(ValueError("[meshgrid] indexing must be 'xy' or 'ij', got '", indexing, "'."))};
  }
  Tensors shaped;
  for (size_t i = 0; i < arrays.size(); ++i) {
    if (!arrays[i].ok()) return {arrays[i]};
    DimVec dims(arrays.size(), 1);
    dims[i] = arrays[i].size();
    shaped.push_back(reshape(arrays[i], dims));
  }
  Tensors grids = broadcast_arrays(shaped);
  if (indexing == "xy" && grids.size() >= 2) {
    for (Tensor& grid : grids) grid = swapaxes(grid, 0, 1);
  }
  return grids;
}

Tensor append(const Tensor& x, const Tensor& values, std::optional<int64_t> axis) {
  if (const Tensor* error = FirstError({&x, &values})) return *error;
  return axis ? concat({x, values}, *axis) : concat({flatten(x), flatten(values)}, 0);
}

Tensor atleast_1d(const Tensor& x) { return x.ok() && x.rank() == 0 ? reshape(x, {1}) : x; }

Tensor atleast_2d(const Tensor& x) {
  return x.ok() && x.rank() < 2 ? reshape(x, {1, x.size()}) : x;
}

Tensor atleast_3d(const Tensor& x) {
  if (!x.ok() || x.rank() > 2) return x;
  return x.rank() == 2 ? expand_dims(x, 2) : reshape(x, {1, x.size(), 1});
}

namespace {

Tensor Backwards(const char* op, const Tensor& x, int64_t axis) {
  if (!x.ok()) return x;
  if (x.rank() <= axis)
    return ValueError("[", op, "] needs at least ", axis + 1, " axes, got shape ", Tuple(x), ".");
  return flip(x, Over({axis}));
}

}  // namespace

Tensor fliplr(const Tensor& x) { return Backwards("fliplr", x, 1); }
Tensor flipud(const Tensor& x) { return Backwards("flipud", x, 0); }

Tensor rot90(const Tensor& x, int64_t k, const Axes& given) {
  if (!x.ok()) return x;
  const Axes axes = given ? given : Over({0, 1});
  if (axes->size() != 2) return ValueError("[rot90] needs two axes, got ", Tuple(*axes), ".");
  const auto first = CheckAxis("rot90", (*axes)[0], x.rank());
  const auto second = CheckAxis("rot90", (*axes)[1], x.rank());
  if (!first.ok()) return Tensor(first.status());
  if (!second.ok()) return Tensor(second.status());
  if (*first == *second) {
    return ValueError("[rot90] the axes must differ, got ", Tuple(*axes), " of shape ", Tuple(x),
                      ".");
  }
  switch ((k % 4 + 4) % 4) {
    case 0:
      return x;
    case 1:
      return swapaxes(flip(x, Over({*second})), *first, *second);
    case 2:
      return flip(x, Over({*first, *second}));
    default:
      return flip(swapaxes(x, *first, *second), Over({*second}));
  }
}

Tensor rollaxis(const Tensor& x, int64_t axis, int64_t start) {
  if (!x.ok()) return x;
  const auto from = CheckAxis("rollaxis", axis, x.rank());
  if (!from.ok()) return Tensor(from.status());
  if (start < 0) start += x.rank();
  if (start < 0 || start > x.rank())
    return IndexError("[rollaxis] start ", start, " is out of range for rank ", x.rank(), ".");
  return MoveAxis(x, *from, start - (*from < start));
}

namespace {

// By doubling: after each step an element is the extreme of twice as many.
template <typename Op>
Tensor Extremes(const char* name, const Tensor& given, std::optional<int64_t> axis, const Op& op) {
  const Tensor flat = axis ? given : flatten(given);
  if (!flat.ok()) return flat;
  const auto along = CheckAxis(name, axis.value_or(0), flat.rank());
  if (!along.ok()) return Tensor(along.status());
  Tensor x = MoveAxis(flat, *along, 0);
  const int64_t n = x.dims()[0];
  for (int64_t d = 1; d < n; d *= 2)
    x = concat({Narrow(x, 0, 0, d), op(Narrow(x, 0, d, n - d), Narrow(x, 0, 0, n - d))}, 0);
  return MoveAxis(x, 0, *along);
}

}  // namespace

Tensor cummax(const Tensor& x, std::optional<int64_t> axis) {
  return Extremes("cummax", x, axis, maximum);
}
Tensor cummin(const Tensor& x, std::optional<int64_t> axis) {
  return Extremes("cummin", x, axis, minimum);
}

}  // namespace frazil::ops
