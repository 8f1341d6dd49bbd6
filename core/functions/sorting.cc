// Order and running sums along any axis, which are ops; and searchsorted, which reads its data where
// nobody follows what is done.
#include <algorithm>
#include <cstring>
#include <vector>

#include "core/backend.h"
#include "core/functions/composite.h"
#include "core/functions/indices.h"
#include "core/functions/parts.h"
#include "core/infer.h"
#include "core/threads/parallel.h"
#include "core/tuned.h"

namespace frazil::ops {
StatusOr<Tensor> Data(const Tensor& x) {
  const bool dense = x.layout()->dense && !x.value()->immediate;
  Tensor out = dense ? x.Detach() : copy(x.Detach());
  if (!out.ok()) return out.status();
  FZ_RETURN_IF_ERROR(Read(*out.value()));
  FZ_ASSIGN_OR_RETURN(ValueRef host, OnHost(*out.value()));
  return Tensor(std::move(host));
}

namespace {

// Elements as a type that has an order but for NaN, which is above everything; -0 equals +0.
template <typename T>
auto Key(T v) {
  if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>) {
    return ToFloat(v);
  } else {
    return v;
  }
}

template <typename T>
T At(const char* data, int64_t i) {
  T v;
  std::memcpy(&v, data + i * int64_t{sizeof(T)}, sizeof(T));
  return v;
}

constexpr int64_t kTogether = 16;  // searches

// Of each search s below `searches`: how many of `n` sorted elements before(s, element) is true of,
// which come first. Without branches, which could not be foretold, and in step, as each would wait
// for memory.
template <typename T, typename Before>
void CountFirst(const char* sorted, int64_t n, int64_t searches, const Before& before,
                int64_t* first) {
  std::fill(first, first + searches, 0);
  if (n == 0) return;
  for (int64_t left = n; left > 1;) {
    const int64_t half = left / 2;
    for (int64_t s = 0; s < searches; ++s)
      first[s] += half & -int64_t{before(s, Key(At<T>(sorted, first[s] + half - 1)))};
    left -= half;
  }
  for (int64_t s = 0; s < searches; ++s) first[s] += before(s, Key(At<T>(sorted, first[s])));
}

template <typename T>
void Positions(const Value& sorted, const Value& values, bool right, int64_t* out) {
  const char* const data = sorted.data;
  const int64_t n = sorted.size();
  int64_t numbers;  // before NaN
  CountFirst<T>(
      data, n, 1, [](int64_t, auto v) { return v == v; }, &numbers);
  ParallelFor(values.size(), tuned::kSortedElements, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; i += kTogether) {
      const int64_t searches = std::min(kTogether, end - i);
      decltype(Key(At<T>(data, 0))) keys[kTogether];
      for (int64_t s = 0; s < searches; ++s) keys[s] = Key(At<T>(values.data, i + s));
      if (right) {
        const auto before = [&](int64_t s, auto v) { return v <= keys[s]; };
        CountFirst<T>(data, n, searches, before, out + i);
      } else {
        const auto before = [&](int64_t s, auto v) { return v < keys[s]; };
        CountFirst<T>(data, n, searches, before, out + i);
      }
      for (int64_t s = 0; s < searches; ++s) {
        if (keys[s] != keys[s]) out[i + s] = right ? n : numbers;
      }
    }
  });
}

void Positions(DType dtype, const Value& sorted, const Value& values, bool right, int64_t* out) {
  switch (dtype) {
#define FZ_DTYPE(E, name, short_name, T, bytes, kind) \
  case DType::E:                                      \
    return Positions<T>(sorted, values, right, out);
#include "core/dtypes.def"
#undef FZ_DTYPE
    default:
      return;
  }
}

}  // namespace

Tensor Along(OpId op, const Tensor& x, int64_t axis, int64_t attr) {
  if (!x.ok()) return x;
  const auto fixed = CheckAxis(Info(op).name, axis, x.rank());
  if (!fixed.ok()) return Tensor(fixed.status());
  if (*fixed == x.rank() - 1) return Apply(op, {&x}, {&attr, 1});
  const Tensor moved = moveaxis(x, {*fixed}, {-1});
  return moveaxis(Apply(op, {&moved}, {&attr, 1}), {-1}, {*fixed});
}

namespace {

Tensor Cumulative(OpId op, const Tensor& x, int64_t axis, std::optional<DType> dtype,
                  bool include_initial) {
  if (!x.ok()) return x;
  const auto fixed = CheckAxis(Info(op).name, axis, x.rank());
  if (!fixed.ok()) return Tensor(fixed.status());
  const int64_t attr = *fixed;
  const DType whole = IsUnsigned(x.dtype()) ? DType::kU64 : DType::kI64;
  const Tensor wide = astype(x, dtype.value_or(IsInexact(x.dtype()) ? x.dtype() : whole));
  const Tensor out = Apply(op, {&wide}, {&attr, 1});
  if (!include_initial || !out.ok()) return out;
  absl::InlinedVector<int64_t, 8> widths(2 * static_cast<size_t>(x.rank()));
  widths[2 * attr] = 1;
  return pad(out, widths, Scalar::Int(op == OpId::k_cumulative_prod));
}

// Complex numbers as NumPy orders them: by the real parts, equal ones by the imaginary parts; behind
// them those with a NaN as their imaginary, their real and as both parts.
Tensor ComplexOrder(OpId op, const Tensor& x, int64_t axis, bool descending) {
  if (const auto fixed = CheckAxis(Info(op).name, axis, x.rank()); !fixed.ok())
    return Tensor(fixed.status());
  const Tensor re = real(x), im = imag(x);
  const Tensor nans =
      add(multiply(astype(isnan(re), DType::kI8), 2), astype(isnan(im), DType::kI8));
  Tensor order = argsort(im, axis, descending);
  for (const Tensor* key : {&re, &nans}) {
    const Tensor by = argsort(take_along_axis(*key, order, axis), axis, descending);
    order = take_along_axis(order, by, axis);
  }
  return order;
}

bool IsComplex(const Tensor& x) { return x.ok() && frazil::IsComplex(x.dtype()); }

}  // namespace

Tensor argsort(const Tensor& x, int64_t axis, bool descending) {
  if (IsComplex(x)) return ComplexOrder(OpId::k_argsort, x, axis, descending);
  return Along(OpId::k_argsort, x, axis, descending);
}
Tensor sort(const Tensor& x, int64_t axis, bool descending) {
  if (IsComplex(x))
    return take_along_axis(x, ComplexOrder(OpId::k_sort, x, axis, descending), axis);
  return Along(OpId::k_sort, x, axis, descending);
}

Tensor cumulative_sum(const Tensor& x, int64_t axis, std::optional<DType> dtype,
                      bool include_initial) {
  return Cumulative(OpId::k_cumulative_sum, x, axis, dtype, include_initial);
}
Tensor cumulative_prod(const Tensor& x, int64_t axis, std::optional<DType> dtype,
                       bool include_initial) {
  return Cumulative(OpId::k_cumulative_prod, x, axis, dtype, include_initial);
}

namespace {

// A binary search of all values at once, which reads nothing: for those that differ between the
// examples of a vmap, and for calls that are followed, which could not be skipped otherwise. It looks
// where CountFirst looks, so that they agree even about what is not sorted.
Tensor SearchedByOps(const Tensor& sorted, const Tensor& values, bool right) {
  if (!sorted.ok()) return sorted;
  if (!values.ok()) return values;
  const bool nans = IsFloat(values.dtype());  // which come last
  const Tensor none = nans ? isnan(values) : Tensor();
  Tensor count = full(values.dims(), Scalar::Int(0), DType::kI64, values.device());
  const auto step = [&](const Tensor& at, int64_t more) {
    const Tensor here = TakeAt(sorted, at, 0);
    Tensor before = right ? less_equal(here, values) : less(here, values);
    if (nans) {
      before = bitwise_or(before, right ? none : bitwise_and(none, logical_not(isnan(here))));
    }
    return where(before, count + more, count);
  };
  for (int64_t left = sorted.dims()[0]; left > 0; left -= std::max<int64_t>(left / 2, 1)) {
    const int64_t half = std::max<int64_t>(left / 2, 1);
    count = step(half > 1 ? count + (half - 1) : count, half);
  }
  return count;
}

}  // namespace

Tensor searchsorted(const Tensor& sorted, const Tensor& values, bool right) {
  if (!sorted.ok()) return sorted;
  if (!values.ok()) return values;
  if (sorted.rank() != 1) {
    return ValueError("[searchsorted] needs a sorted array of one axis, got ", Describe(sorted),
                      ".");
  }
  const DType dtype = Promote(sorted.dtype(), values.dtype());
  if (frazil::IsComplex(dtype)) {
    return TypeError("[searchsorted] is not defined for complex numbers: ", Describe(sorted),
                     " and ", Describe(values), ".");
  }
  bool by_ops = State().door != nullptr;
  for (const Tensor* t : {&sorted, &values}) by_ops |= Behind(t->value_ref()).get() != t->value();
  if (by_ops) return SearchedByOps(astype(sorted, dtype), astype(values, dtype), right);
  const auto s = Data(astype(sorted, dtype)), v = Data(astype(values, dtype));
  if (!s.ok()) return Tensor(s.status());
  if (!v.ok()) return Tensor(v.status());
  auto out = Value::Allocate(DType::kI64, Device(), Dense(values.dims()));
  if (!out.ok()) return Tensor(std::move(out).status());
  auto* positions = reinterpret_cast<int64_t*>((*out)->data);
  const Value &from = *s->value(), &to = *v->value();
  Positions(dtype, from, to, right, positions);
  return to_device(Tensor(*std::move(out)), values.device());
}

namespace {

// Calls found(i) for each element i that differs from the one before.
template <typename T, typename Found>
void ForFirsts(const char* sorted, int64_t n, bool equal_nan, const Found& found) {
  found(0);
  auto before = Key(At<T>(sorted, 0));
  for (int64_t i = 1; i < n; ++i) {
    const auto key = Key(At<T>(sorted, i));
    if (key != before && !(equal_nan && key != key && before != before)) found(i);
    before = key;
  }
}

template <typename T>
StatusOr<ValueRef> Firsts(const Value& sorted, bool equal_nan) {
  int64_t count = 0;
  ForFirsts<T>(sorted.data, sorted.size(), equal_nan, [&](int64_t) { ++count; });
  FZ_ASSIGN_OR_RETURN(ValueRef out, Value::Allocate(sorted.dtype, Device(), Dense({count})));
  auto* to = reinterpret_cast<T*>(out->data);
  ForFirsts<T>(sorted.data, sorted.size(), equal_nan,
               [&](int64_t i) { *to++ = At<T>(sorted.data, i); });
  return out;
}

StatusOr<ValueRef> Firsts(const Value& sorted, bool equal_nan) {
  switch (sorted.dtype) {
#define FZ_DTYPE(E, name, short_name, T, bytes, kind) \
  case DType::E:                                      \
    return Firsts<T>(sorted, equal_nan);
#include "core/dtypes.def"
#undef FZ_DTYPE
    default:
      return TypeError("[unique_values] is not defined for ", Name(sorted.dtype), ".");
  }
}

}  // namespace

Tensor unique_values(const Tensor& x, bool equal_nan) {
  const Tensor ordered = x.ok() ? sort(flatten(x)) : x;
  if (!ordered.ok() || ordered.size() == 0) return ordered;
  const Tensor among = ordered.Detach();
  const bool plain = State().door == nullptr && !NeedsGrad(State(), ordered);
  if (plain && !IsComplex(among)) {  // nobody follows what is done
    const auto data = Data(among);
    if (!data.ok()) return Tensor(data.status());
    auto made = Firsts(*data->value(), equal_nan);
    return made.ok() ? to_device(Tensor(*std::move(made)), x.device()) : Tensor(made.status());
  }
  const int64_t last = among.size() - 1;
  const Tensor first = Composite(CompositeId::k_firsts, {&among}, {equal_nan}, [&] {
    const Tensor before = slice(among, {0, 1, last}), here = slice(among, {1, 1, last});
    Tensor differs = not_equal(here, before);
    if (equal_nan && IsInexact(among.dtype()))
      differs = bitwise_and(differs, logical_not(bitwise_and(isnan(here), isnan(before))));
    return pad(differs, {1, 0}, Scalar::Bool(true));
  });
  Index mask{.kind = Index::Kind::kTensor};
  mask.tensor = first;
  return getitem(ordered, {&mask, 1});
}

}  // namespace frazil::ops
