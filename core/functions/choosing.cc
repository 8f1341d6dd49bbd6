// Choosing, ordering and finding under NumPy's names.
#include <algorithm>
#include <numeric>

#include "core/functions/functions.h"
#include "core/functions/parts.h"

namespace frazil::ops {
namespace {

// The dtype of arrays and numbers, which are weak beside them.
DType Common(ArgSpan operands) {
  std::optional<DType> dtype;
  for (const Arg& a : operands) {
    if (a.tensor()) dtype = dtype ? Promote(*dtype, a.tensor()->dtype()) : a.tensor()->dtype();
  }
  const bool strong = dtype.has_value();
  for (const Arg& a : operands) {
    if (a.tensor()) continue;
    const auto kind = a.scalar().kind;
    dtype = strong  ? Promote(*dtype, kind)
            : dtype ? Promote(*dtype, DefaultFor(kind))
                    : DefaultFor(kind);
  }
  return dtype.value_or(DefaultFor(Scalar::Kind::kFloat));
}

Tensor AsArray(const Arg& a, DType dtype) {
  return astype(a.tensor() ? *a.tensor() : scalar(a.scalar(), DefaultFor(a.scalar().kind)), dtype);
}

Status CheckMode(const char* op, std::string_view mode) {
  if (mode == "raise" || mode == "wrap" || mode == "clip") return absl::OkStatus();
  return ValueError("[", op, "] mode must be 'raise', 'wrap' or 'clip', got '", mode, "'.");
}

// Positions of an axis of n; beyond is an error if `wrong` says so, wraps or is clipped.
template <typename Wrong>
StatusOr<Tensor> InRange(const Tensor& x, int64_t n, std::string_view mode, const Wrong& wrong) {
  if (mode == "wrap") return remainder(x, n);
  if (mode == "clip") return clip(x, Arg(0), Arg(n - 1));
  FZ_ASSIGN_OR_RETURN(const bool beyond, IsAny(bitwise_or(less(x, 0), greater_equal(x, n))));
  if (beyond) return wrong();
  return x;
}

}  // namespace

Tensor select(TensorSpan conditions, ArgSpan choices, const Arg& otherwise) {
  if (conditions.size() != choices.size() || conditions.empty()) {
    return ValueError("[select] ", conditions.size(), " conditions for ", choices.size(),
                      " choices.");
  }
  std::vector<Arg> all(choices.begin(), choices.end());
  all.push_back(otherwise);
  for (const Tensor& each : conditions) {
    if (!each.ok()) return each;
    if (!IsBool(each.dtype()))
      return TypeError("[select] a condition is ", Name(each.dtype()), ", not bool.");
  }
  for (const Arg& a : all) {
    if (a.tensor() && !a.tensor()->ok()) return *a.tensor();
  }
  const DType dtype = Common(all);
  Tensor out = AsArray(otherwise, dtype);
  for (size_t i = conditions.size(); i-- > 0;)
    out = where(conditions[i], AsArray(choices[i], dtype), out);
  return out;
}

Tensor choose(const Tensor& given, ArgSpan choices, std::string_view mode) {
  if (!given.ok()) return given;
  const auto n = static_cast<int64_t>(choices.size());
  if (IsFloat(given.dtype()))
    return TypeError("[choose] places must be integers, got ", Name(given.dtype()), ".");
  if (Status s = CheckMode("choose", mode); !s.ok()) return Tensor(std::move(s));
  const auto places = InRange(astype(given, DType::kI64), n, mode, [&] {
    return ValueError("[choose] a place is not one of ", n, " choices.");
  });
  if (!places.ok()) return Tensor(places.status());
  const Tensor place = mode == "raise" ? clip(*places, Arg(0), Arg(n - 1)) : *places;
  const DType dtype = Common(choices);
  Tensors arrays = {place};
  for (const Arg& a : choices) arrays.push_back(AsArray(a, dtype));
  arrays = broadcast_arrays(arrays);
  if (!arrays[0].ok()) return arrays[0];
  const Tensor stacked = stack(absl::MakeConstSpan(arrays).subspan(1));
  return Pick(take_along_axis(stacked, expand_dims(arrays[0], 0), 0), 0, 0);
}

Tensor compress(const Tensor& condition, const Tensor& x, std::optional<int64_t> axis) {
  if (const Tensor* error = FirstError({&condition, &x})) return *error;
  if (condition.rank() != 1) {
    return ValueError("[compress] the condition must be a vector, got shape ", Tuple(condition),
                      ".");
  }
  return take(axis ? x : flatten(x), nonzero(condition)[0], axis.value_or(0));
}

Tensor extract(const Tensor& condition, const Tensor& x) { return compress(flatten(condition), x); }

Tensor flatnonzero(const Tensor& x) { return nonzero(flatten(x))[0]; }

Tensor argwhere(const Tensor& x) {
  if (!x.ok()) return x;
  if (x.rank() > 0) return stack(nonzero(x), 1);
  const Tensor found = flatnonzero(x);
  return found.ok() ? filled({found.size(), 0}, Scalar::Int(0), DType::kI64) : found;
}

Tensor trim_zeros(const Tensor& x, std::string_view trim) {
  if (!x.ok()) return x;
  if (x.rank() != 1) return ValueError("[trim_zeros] needs a vector, got shape ", Tuple(x), ".");
  if (trim.find_first_not_of("fFbB") != std::string_view::npos) {
    return ValueError("[trim_zeros] trim must be of the letters f (front) and b (back), got '",
                      std::string(trim), "'.");
  }
  const auto places = Integers(flatnonzero(x));
  if (!places.ok()) return Tensor(places.status());
  if (places->empty()) return Narrow(x, 0, 0, 0);
  const bool front = trim.find_first_of("fF") != std::string_view::npos;
  const bool back = trim.find_first_of("bB") != std::string_view::npos;
  const int64_t first = front ? places->front() : 0;
  return Narrow(x, 0, first, (back ? places->back() + 1 : x.size()) - first);
}

Tensor lexsort(TensorSpan keys, int64_t axis) {
  if (keys.empty()) return TypeError("[lexsort] needs at least one key, got 0.");
  Tensors arrays;
  std::string shapes;
  bool same = true;
  for (const Tensor& key : keys) {
    arrays.push_back(atleast_1d(key));
    if (!arrays.back().ok()) return arrays.back();
    StrAppend(&shapes, shapes.empty() ? "" : ", ", Tuple(arrays.back()));
    same &= arrays.back().dims() == arrays[0].dims();
  }
  if (!same) return ValueError("[lexsort] keys differ in shape: [", shapes, "].");
  Tensor order = argsort(arrays[0], axis);
  for (size_t k = 1; k < arrays.size(); ++k) {
    const Tensor by = argsort(take_along_axis(arrays[k], order, axis), axis);
    order = take_along_axis(order, by, axis);
  }
  return order;
}

namespace {

// x, or x flattened without an axis, whose elements kth there must be.
Tensor WithKth(const char* op, const Tensor& given, const Ints& kth, std::optional<int64_t> axis) {
  const Tensor x = axis ? given : flatten(given);
  if (!x.ok()) return x;
  const auto along = CheckAxis(op, axis.value_or(0), x.rank());
  if (!along.ok()) return Tensor(along.status());
  const int64_t n = x.dims()[*along];
  for (const int64_t k : kth) {
    if (k < -n || k >= n) {
      return ValueError("[", op, "] kth ", k, " is out of range for an axis of extent ", n, ".");
    }
  }
  return x;
}

// In order, or around the only kth element.
Tensor Partitioned(OpId op, const Tensor& x, const Ints& kth, std::optional<int64_t> axis) {
  const int64_t along = axis.value_or(0);
  const bool plain = x.ok() && !IsComplex(x.dtype()) && x.rank() > 0 && kth.size() == 1;
  if (!plain) return op == OpId::k_sort ? sort(x, along) : argsort(x, along);
  const int64_t n = x.layout()->dim(static_cast<int>(along)), k = kth.front();
  return Along(op, x, along, 2 + (k < 0 ? k + n : k));
}

}  // namespace

Tensor partition(const Tensor& x, const Ints& kth, std::optional<int64_t> axis) {
  return Partitioned(OpId::k_sort, WithKth("partition", x, kth, axis), kth, axis);
}
Tensor argpartition(const Tensor& x, const Ints& kth, std::optional<int64_t> axis) {
  return Partitioned(OpId::k_argsort, WithKth("argpartition", x, kth, axis), kth, axis);
}

namespace {

constexpr int64_t kBlock = 512;    // elements, of which topk asks for the largest one
constexpr int64_t kFewOfRow = 64;  // of so many elements topk asks for one: they need not be sorted

// The first k indices that sort a long vector, which lie in the k blocks whose own first elements come
// first.
Tensor FirstOfBlocks(const Tensor& x, int64_t k, bool largest) {
  const int64_t count = x.size() / kBlock, whole = count * kBlock;
  const Tensor rows = reshape(Narrow(x, 0, 0, whole), {count, kBlock});
  const Tensor best = largest ? nanmax(rows, Over({1})) : nanmin(rows, Over({1}));
  const Tensor blocks = sort(Narrow(argsort(best, -1, largest), 0, 0, k));
  const Tensor places = expand_dims(blocks, 1) * Arg(kBlock) + iota(kBlock, DType::kI64);
  const Tensor rest = Narrow(iota(x.size(), DType::kI64), 0, whole, x.size() - whole);
  const Tensor every = concat({flatten(places), rest}, 0);
  const Tensor order = argsort(take(x, every, 0), -1, largest);
  return take(every, Narrow(order, 0, 0, k), 0);
}

// The first k indices that sort a row, which a partition finds in any order.
Tensor FirstOfRows(const Tensor& x, int64_t axis, int64_t k, bool largest) {
  const Tensor key = !largest ? x : IsFloat(x.dtype()) ? negative(x) : bitwise_invert(x);
  const Tensor some = Narrow(Along(OpId::k_argsort, key, axis, 1 + k), int(axis), 0, k);
  return take_along_axis(some, argsort(take_along_axis(key, some, axis), axis), axis);
}

}  // namespace

Tensors topk(const Tensor& x, int64_t k, int64_t axis, bool largest) {
  if (!x.ok()) return {x};
  if (k < 0) return {Tensor(ValueError("[topk] k must be at least 0, got ", k, "."))};
  const auto along = CheckAxis("topk", axis, x.rank());
  if (!along.ok()) return {Tensor(along.status())};
  const int64_t n = x.dims()[*along];
  if (k > n) {
    return {Tensor(ValueError("[topk] k ", k, " is more than the axis of extent ", n, " has."))};
  }
  if (x.rank() == 1 && k > 0 && k * kBlock * 4 <= n && !IsBool(x.dtype())) {
    const Tensor order = FirstOfBlocks(x.Detach(), k, largest);
    return {take(x, order, 0), order};
  }
  const bool few = k > 0 && k * kFewOfRow <= n && !IsBool(x.dtype()) && !IsComplex(x.dtype());
  const Tensor order = few ? FirstOfRows(x.Detach(), *along, k, largest)
                           : Narrow(argsort(x, *along, largest), *along, 0, k);
  return {take_along_axis(x, order, *along), order};
}

namespace {

Status CheckOrder(const char* op, std::string_view order) {
  if (order == "C" || order == "F") return absl::OkStatus();
  return ValueError("[", op, "] order must be 'C' or 'F', got '", order, "'.");
}

Status CheckIndices(const char* op, const Tensor& x, Dims shape) {
  if (!x.ok()) return x.status();
  for (const int64_t n : shape) {
    if (n < 0) return ValueError("[", op, "] an extent must be at least 0, got ", n, ".");
  }
  if (!IsFloat(x.dtype()) && !IsBool(x.dtype())) return absl::OkStatus();
  return TypeError("[", op, "] indices must be integers, got ", Name(x.dtype()), ".");
}

}  // namespace

Tensors unravel_index(const Tensor& indices, const Ints& shape, std::string_view order) {
  if (Status s = CheckOrder("unravel_index", order); !s.ok()) return {Tensor(std::move(s))};
  if (Status s = CheckIndices("unravel_index", indices, shape); !s.ok())
    return {Tensor(std::move(s))};
  Tensor flat = astype(indices, DType::kI64);
  int64_t size = 1;
  for (const int64_t n : shape) size *= n;
  if (flat.ok() && flat.size()) {
    const auto beyond = IsAny(bitwise_or(less(flat, 0), greater_equal(flat, size)));
    if (!beyond.ok()) return {Tensor(beyond.status())};
    if (*beyond) {
      return {Tensor(
          ValueError("[unravel_index] an index is out of range for shape ", Tuple(shape), "."))};
    }
  }
  const bool rows = order == "C";
  Tensors out;
  for (size_t i = 0; i < shape.size(); ++i) {
    const int64_t n = shape[rows ? shape.size() - 1 - i : i];
    out.push_back(n ? remainder(flat, n) : flat);
    if (n) flat = floor_divide(flat, n);
  }
  if (rows) std::reverse(out.begin(), out.end());
  return out;
}

Tensor ravel_multi_index(TensorSpan places, const Ints& shape, std::string_view mode,
                         std::string_view order) {
  if (Status s = CheckOrder("ravel_multi_index", order); !s.ok()) return Tensor(std::move(s));
  if (Status s = CheckMode("ravel_multi_index", mode); !s.ok()) return Tensor(std::move(s));
  for (const Tensor& each : places) {
    if (Status s = CheckIndices("ravel_multi_index", each, shape); !s.ok())
      return Tensor(std::move(s));
  }
  if (places.size() != shape.size()) {
    return ValueError("[ravel_multi_index] ", places.size(), " indices for ", shape.size(),
                      " axes.");
  }
  int64_t elements = 1;
  for (const int64_t n : shape) {
    if (n < 1 || __builtin_mul_overflow(elements, n, &elements)) {
      return ValueError("[ravel_multi_index] a shape with extent ", n, " has ",
                        n < 1 ? "no elements." : "more elements than an index can count.");
    }
  }
  Tensor flat;
  for (size_t i = 0; i < shape.size(); ++i) {
    const size_t at = order == "C" ? i : shape.size() - 1 - i;
    const int64_t n = shape[at];
    const auto place = InRange(astype(places[at], DType::kI64), n, mode, [&] {
      return ValueError("[ravel_multi_index] an index is out of range for extent ", n, ".");
    });
    if (!place.ok()) return Tensor(place.status());
    flat = flat.defined() ? flat * Arg(n) + *place : *place;
  }
  return flat.defined() ? flat : filled({}, Scalar::Int(0), DType::kI64);
}

}  // namespace frazil::ops
