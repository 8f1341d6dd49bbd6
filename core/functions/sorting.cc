// Order and running sums along any axis, which are ops; and searchsorted, which reads its data.
#include <algorithm>
#include <cstring>
#include <vector>

#include "core/backend.h"
#include "core/functions/composites.h"
#include "core/threads/parallel.h"
#include "core/tuned.h"

namespace frazil::ops {
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

// Ready, dense data in row-major order, in memory that the CPU addresses.
StatusOr<Tensor> Data(const Tensor& x) {
  const bool dense = x.layout()->dense && !x.value()->immediate;
  Tensor out = dense ? x.Detach() : copy(x.Detach());
  if (!out.ok()) return out.status();
  FZ_RETURN_IF_ERROR(Read(*out.value()));
  FZ_ASSIGN_OR_RETURN(ValueRef host, OnHost(*out.value()));
  return Tensor(std::move(host));
}

template <typename T>
T At(const char* data, int64_t i) {
  T v;
  std::memcpy(&v, data + i * int64_t{sizeof(T)}, sizeof(T));
  return v;
}

// How many of `n` sorted elements `before` is true of, which come first. Without branches, which
// could not be foretold.
template <typename T, typename Before>
int64_t CountFirst(const char* sorted, int64_t n, const Before& before) {
  int64_t first = 0;
  for (int64_t left = n; left > 1;) {
    const int64_t half = left / 2;
    first += half & -int64_t{before(Key(At<T>(sorted, first + half - 1)))};
    left -= half;
  }
  return first + (n > 0 && before(Key(At<T>(sorted, first))));
}

template <typename T>
void Positions(const Value& sorted, const Value& values, bool right, int64_t* out) {
  const char* const data = sorted.data;
  const int64_t n = sorted.size();
  const int64_t numbers = CountFirst<T>(data, n, [](auto v) { return v == v; });  // before NaN
  ParallelFor(values.size(), tuned::kSortedElements, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const auto key = Key(At<T>(values.data, i));
      out[i] = key != key ? (right ? n : numbers)
               : right    ? CountFirst<T>(data, numbers, [key](auto v) { return v <= key; })
                          : CountFirst<T>(data, numbers, [key](auto v) { return v < key; });
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

namespace {

// An op that works along the last axis, along another one.
Tensor Along(OpId op, const Tensor& x, int64_t axis, int64_t attr) {
  if (!x.ok()) return x;
  const auto fixed = CheckAxis(Info(op).name, axis, x.rank());
  if (!fixed.ok()) return Tensor(fixed.status());
  if (*fixed == x.rank() - 1) return Apply(op, {&x}, {&attr, 1});
  const Tensor moved = moveaxis(x, {*fixed}, {-1});
  return moveaxis(Apply(op, {&moved}, {&attr, 1}), {-1}, {*fixed});
}

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

}  // namespace

Tensor argsort(const Tensor& x, int64_t axis, bool descending) {
  return Along(OpId::k_argsort, x, axis, descending);
}
Tensor sort(const Tensor& x, int64_t axis, bool descending) {
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

Tensor searchsorted(const Tensor& sorted, const Tensor& values, bool right) {
  if (!sorted.ok()) return sorted;
  if (!values.ok()) return values;
  if (sorted.rank() != 1) {
    return ValueError("[searchsorted] needs a sorted array of one axis, got ", Describe(sorted),
                      ".");
  }
  const DType dtype = Promote(sorted.dtype(), values.dtype());
  if (IsComplex(dtype)) {
    return TypeError("[searchsorted] is not defined for complex numbers: ", Describe(sorted),
                     " and ", Describe(values), ".");
  }
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

}  // namespace frazil::ops
