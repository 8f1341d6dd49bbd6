// What stands at places of an axis: parts between them, and elements taken out or put in there.
#include <algorithm>

#include "core/functions/functions.h"
#include "core/functions/joining.h"
#include "core/functions/parts.h"

namespace frazil::ops {

Tensors split(const Tensor& x, const Sections& sections, int64_t axis) {
  return sections.parts ? split(x, *sections.parts, axis) : split_at(x, sections.places, axis);
}

Tensors array_split(const Tensor& x, const Sections& sections, int64_t axis) {
  return sections.parts ? array_split(x, *sections.parts, axis)
                        : split_at(x, sections.places, axis);
}

namespace {

Tensors SplitAlong(const char* op, const Tensor& x, const Sections& sections, int64_t axis,
                   int least) {
  if (!x.ok()) return {x};
  if (x.rank() < least) {
    return {Tensor(
        ValueError("[", op, "] needs at least ", least, " axes, got shape ", Tuple(x), "."))};
  }
  return split(x, sections, axis);
}

}  // namespace

Tensors hsplit(const Tensor& x, const Sections& sections) {
  return SplitAlong("hsplit", x, sections, x.ok() && x.rank() > 1 ? 1 : 0, 1);
}
Tensors vsplit(const Tensor& x, const Sections& sections) {
  return SplitAlong("vsplit", x, sections, 0, 2);
}
Tensors dsplit(const Tensor& x, const Sections& sections) {
  return SplitAlong("dsplit", x, sections, 2, 3);
}

namespace {

// The positions of a slice of n elements, as Python counts them.
std::vector<int64_t> InSlice(const Index& slice, int64_t n) {
  const int64_t step = slice.step.value_or(1), low = step > 0 ? 0 : -1;
  const int64_t high = step > 0 ? n : n - 1;
  const auto bound = [&](std::optional<int64_t> at, int64_t otherwise) {
    if (!at) return otherwise;
    return std::clamp(*at < 0 ? std::max<int64_t>(*at, -n - 1) + n : *at, low, high);
  };
  const int64_t start = bound(slice.start, step > 0 ? low : high);
  const int64_t stop = bound(slice.stop, step > 0 ? high : low);
  std::vector<int64_t> out;
  for (int64_t i = start; step > 0 ? i < stop : i > stop; i += step) out.push_back(i);
  return out;
}

// Places along an axis of n, counted from the front; `beyond`: n is one, too.
StatusOr<std::vector<int64_t>> PlacesOf(const char* op, const Index& where, int64_t n,
                                        bool beyond) {
  if (where.kind == Index::Kind::kSlice) return InSlice(where, n);
  std::vector<int64_t> places = {where.i};
  if (where.kind == Index::Kind::kTensor) {
    const Tensor& chosen = where.tensor;
    if (!chosen.ok()) return chosen.status();
    if (chosen.size() && IsFloat(chosen.dtype()))
      return IndexError("[", op, "] places must be integers, got ", Name(chosen.dtype()), ".");
    FZ_ASSIGN_OR_RETURN(places, Integers(chosen));
    if (IsBool(chosen.dtype())) {
      if (chosen.rank() != 1 || chosen.size() != n)
        return ValueError("[", op, "] a mask for an axis of ", n, " has shape ", Tuple(chosen),
                          ".");
      std::vector<int64_t> on;
      for (int64_t i = 0; i < n; ++i) {
        if (places[static_cast<size_t>(i)]) on.push_back(i);
      }
      return on;
    }
  }
  for (int64_t& i : places) {
    if (i < -n || i >= n + beyond)
      return IndexError("[", op, "] place ", i, " is out of range for an axis of extent ", n, ".");
    if (i < 0) i += n;
  }
  return places;
}

}  // namespace

Tensor delete_(const Tensor& given, const Index& where, std::optional<int64_t> axis) {
  const Tensor x = axis ? given : flatten(given);
  if (!x.ok()) return x;
  const auto along = CheckAxis("delete", axis.value_or(0), x.rank());
  if (!along.ok()) return Tensor(along.status());
  const int64_t n = x.dims()[*along];
  const auto gone = PlacesOf("delete", where, n, false);
  if (!gone.ok()) return Tensor(gone.status());
  std::vector<int64_t> kept;
  for (int64_t i = 0; i < n; ++i) {
    if (std::find(gone->begin(), gone->end(), i) == gone->end()) kept.push_back(i);
  }
  return take(x, OfInts(kept), *along);
}

Tensor insert(const Tensor& given, const Index& where, const Tensor& values,
              std::optional<int64_t> axis) {
  const Tensor x = axis ? given : flatten(given);
  if (const Tensor* error = FirstError({&x, &values})) return *error;
  const auto along = CheckAxis("insert", axis.value_or(0), x.rank());
  if (!along.ok()) return Tensor(along.status());
  const int64_t n = x.dims()[*along];
  auto places = PlacesOf("insert", where, n, true);
  if (!places.ok()) return Tensor(places.status());
  Tensor v = astype(values, x.dtype());
  const bool one = where.kind == Index::Kind::kInt ||
                   (where.kind == Index::Kind::kTensor && where.tensor.rank() == 0);
  if (one && v.rank() > 0 && v.rank() < x.rank()) {  // of one place there may be many values
    DimVec dims(static_cast<size_t>(x.rank() - v.rank()), 1);
    dims.insert(dims.end(), v.dims().begin(), v.dims().end());
    v = MoveAxis(reshape(v, dims), 0, *along);
  }
  if (one && v.ok() && v.rank() == x.rank() && x.rank() > 0)
    places->assign(static_cast<size_t>(v.dims()[*along]), places->front());
  DimVec dims(x.dims().begin(), x.dims().end());
  dims[static_cast<size_t>(*along)] = static_cast<int64_t>(places->size());
  v = broadcast_to(v, dims);
  std::vector<int64_t> order(places->size()), index;
  for (size_t j = 0; j < order.size(); ++j) order[j] = static_cast<int64_t>(j);
  const auto place = [&](int64_t j) { return (*places)[static_cast<size_t>(j)]; };
  std::stable_sort(order.begin(), order.end(),
                   [&](int64_t a, int64_t b) { return place(a) < place(b); });
  auto next = order.begin();
  for (int64_t i = 0; i <= n; ++i) {
    for (; next != order.end() && place(*next) == i; ++next) index.push_back(n + *next);
    if (i < n) index.push_back(i);
  }
  return take(concat({x, v}, *along), OfInts(index), *along);
}

}  // namespace frazil::ops
