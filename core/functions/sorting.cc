// Order and running sums along any axis, which are ops; and searchsorted, which reads its data.
#include <algorithm>
#include <cstring>
#include <vector>

#include "core/backend.h"
#include "core/functions/composites.h"

namespace frazil::ops {
namespace {

// Elements as an ordered type; NaN is above everything, -0 equals +0.
template <typename T>
auto Key(T v) {
  if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>) {
    return ToFloat(v);
  } else {
    return v;
  }
}
template <typename K>
bool IsNaN(K a) {
  return a != a;
}
template <typename K>
bool Before(K a, K b) {
  return a < b || (IsNaN(b) && !IsNaN(a));
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
int64_t Position(const char* sorted, int64_t n, const char* value, bool right) {
  T wanted;
  std::memcpy(&wanted, value, sizeof(T));
  int64_t low = 0, high = n;
  while (low < high) {
    const int64_t middle = low + (high - low) / 2;
    T v;
    std::memcpy(&v, sorted + middle * sizeof(T), sizeof(T));
    const bool after = right ? !Before(Key(wanted), Key(v)) : Before(Key(v), Key(wanted));
    if (after) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

int64_t Position(DType dtype, const char* sorted, int64_t n, const char* value, bool right) {
  switch (dtype) {
#define FZ_DTYPE(E, name, short_name, T, bytes, kind) \
  case DType::E:                                      \
    return Position<T>(sorted, n, value, right);
#include "core/dtypes.def"
#undef FZ_DTYPE
    default:
      return 0;
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
  const auto s = Data(astype(sorted, dtype)), v = Data(astype(values, dtype));
  if (!s.ok()) return Tensor(s.status());
  if (!v.ok()) return Tensor(v.status());
  auto out = Value::Allocate(DType::kI64, Device(), Dense(values.dims()));
  if (!out.ok()) return Tensor(std::move(out).status());
  auto* positions = reinterpret_cast<int64_t*>((*out)->data);
  const Value &from = *s->value(), &to = *v->value();
  for (int64_t i = 0; i < to.size(); ++i) {
    positions[i] = Position(dtype, from.data, from.size(), to.data + i * SizeOf(dtype), right);
  }
  return to_device(Tensor(*std::move(out)), values.device());
}

}  // namespace frazil::ops
