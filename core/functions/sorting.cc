// Order: argsort, sort and searchsorted. The permutation is found from the data, so these read it
// (a trace ends its segment); moving the elements is ops, so gradients flow.
#include <algorithm>
#include <cstring>
#include <vector>

#include "core/device_memory.h"
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
void SortRow(const char* data, int64_t n, bool descending, int64_t* out) {
  using K = decltype(Key(T()));
  std::vector<std::pair<K, int64_t>> row(n);
  for (int64_t i = 0; i < n; ++i) {
    T v;
    std::memcpy(&v, data + i * sizeof(T), sizeof(T));
    row[i] = {Key(v), i};
  }
  const auto end =
      std::stable_partition(row.begin(), row.end(), [](const auto& a) { return !IsNaN(a.first); });
  if (descending) {
    std::stable_sort(row.begin(), end,
                     [](const auto& a, const auto& b) { return b.first < a.first; });
  } else {
    std::stable_sort(row.begin(), end,
                     [](const auto& a, const auto& b) { return a.first < b.first; });
  }
  for (int64_t i = 0; i < n; ++i) out[i] = row[i].second;
}

void SortRows(const Value& x, int64_t n, bool descending, int64_t* out) {
  const int64_t size = SizeOf(x.dtype);
  for (int64_t at = 0; at < x.size(); at += n) {
    switch (x.dtype) {
#define FZ_DTYPE(E, name, short_name, T, bytes, kind)        \
  case DType::E:                                             \
    SortRow<T>(x.data + at * size, n, descending, out + at); \
    break;
#include "core/dtypes.def"
#undef FZ_DTYPE
    }
  }
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
  }
  return 0;
}

}  // namespace

Tensor argsort(const Tensor& x, int64_t axis, bool descending) {
  if (!x.ok()) return x;
  const auto fixed = CheckAxis("argsort", axis, x.rank());
  if (!fixed.ok()) return Tensor(fixed.status());
  const auto data = Data(moveaxis(x, {*fixed}, {-1}));
  if (!data.ok()) return Tensor(data.status());
  auto order = Value::Allocate(DType::kI64, Device(), Dense(data->dims()));
  if (!order.ok()) return Tensor(std::move(order).status());
  SortRows(*data->value(), data->layout()->dim(-1), descending,
           reinterpret_cast<int64_t*>((*order)->data));
  return moveaxis(to_device(Tensor(*std::move(order)), x.device()), {-1}, {*fixed});
}

Tensor sort(const Tensor& x, int64_t axis, bool descending) {
  const Tensor order = argsort(x, axis, descending);
  return order.ok() ? take_along_axis(x, order, axis) : order;
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
