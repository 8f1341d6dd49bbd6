#include <algorithm>
#include <cmath>
#include <cstring>

#include "absl/numeric/int128.h"
#include "core/backend.h"
#include "core/default_dtype.h"
#include "core/functions/composite.h"
#include "core/str.h"
#include "core/tuned.h"

namespace frazil::ops {
namespace {

// A few elements, which take less time than a call of a kernel. `one` is an immediate.
StatusOr<ValueRef> Few(Dims dims, const Value& one) {
  FZ_ASSIGN_OR_RETURN(ValueRef out, Value::Allocate(one.dtype, Device(), Dense(dims)));
  const size_t bytes = SizeOf(one.dtype), all = static_cast<size_t>(out->size()) * bytes;
  for (size_t at = 0; at < all; at += bytes) std::memcpy(out->data + at, one.data, bytes);
  return out;
}

}  // namespace

Tensor filled(Dims dims, const Scalar& value, DType dtype, Device device) {
  if (State().door == nullptr && !State().checks && device == Device() &&
      CheckDims("full", dims, SizeOf(dtype)).ok()) {
    int64_t bytes = SizeOf(dtype);
    for (const int64_t n : dims) bytes *= n;
    const Tensor one = bytes <= tuned::kFewElements ? scalar(value, dtype) : Tensor();
    if (one.defined() && one.ok() && one.value()->immediate) {
      auto made = Few(dims, *one.value());
      return made.ok() ? Tensor(*std::move(made)) : Tensor(made.status());
    }
  }
  // What the CPU addresses it fills itself.
  const Tensor t = full(dims, value, dtype, CpuAddresses(device) ? Device() : device);
  return t.ok() ? to_device(Apply(OpId::k_copy, {&t}), device) : t;
}

namespace {

std::string Text(const Scalar& s) {
  return s.kind == Scalar::Kind::kFloat || s.beyond() ? StrCat(s.AsDouble())
         : s.big                                      ? StrCat(static_cast<uint64_t>(s.i))
                                                      : StrCat(s.i);
}

Status NoEnd(const Scalar& start, const Scalar& stop, const Scalar& step) {
  return ValueError("[arange] ", Text(start), " to ", Text(stop), " by ", Text(step),
                    " has too many elements.");
}

absl::int128 Exact(const Scalar& s) {
  return s.big ? absl::int128(static_cast<uint64_t>(s.i)) : absl::int128(s.i);
}

// Of integers: the length and every element are exact. Elements that the dtype does not hold wrap.
Tensor IntegerRange(const Scalar& start, const Scalar& stop, const Scalar& step,
                    std::optional<DType> dtype) {
  for (const Scalar* s : {&start, &stop, &step}) {
    if (s->beyond())
      return OverflowError("[arange] the integer ", Text(*s), " is out of bounds for 64 bits.");
  }
  const absl::int128 first = Exact(start), d = Exact(step), way = Exact(stop) - first;
  const bool some = way != 0 && (way > 0) == (d > 0);
  const absl::int128 count = some ? (way - (d > 0 ? 1 : -1)) / d + 1 : 0;
  if (count > INT64_MAX / 8) return NoEnd(start, stop, step);
  const absl::int128 last = some ? first + (count - 1) * d : first;
  const absl::int128 low = std::min(first, last), high = std::max(first, last);
  const bool big = some && high > INT64_MAX;
  if (big && !dtype && low < 0) {
    return OverflowError("[arange] ", Text(start), " to ", Text(stop),
                         " fits neither into int64 nor into uint64; give a dtype.");
  }
  // Modulo 2**64, as int64 computes and as uint64 reads it.
  const DType out = dtype.value_or(big ? DType::kU64 : DType::kI64);
  const auto n = static_cast<int64_t>(count);
  if (start.i == 0 && step.i == 1) return astype(iota(n, DType::kI64), out);
  const auto number = [](int64_t v) { return scalar(Scalar::Int(v), DType::kI64); };
  const Tensor by = number(step.i), from = number(start.i);
  const Attrs attrs = {n, static_cast<int64_t>(out), big, 1};
  return Composite(CompositeId::k_samples, {&by, &from}, attrs, [&] {
    const Tensor all = iota(n, DType::kI64) * by + from;
    return astype(big ? astype(all, DType::kU64) : all, out);
  });
}

}  // namespace

Tensor arange(const Scalar& start, const Scalar& stop, const Scalar& step,
              std::optional<DType> dtype) {
  bool floating = false;
  for (const Scalar* s : {&start, &stop, &step}) floating |= s->kind == Scalar::Kind::kFloat;
  const double d = step.AsDouble();
  if (d == 0 || std::isnan(d))
    return ValueError("[arange] step must not be zero, got ", Text(step), ".");
  if (!floating) return IntegerRange(start, stop, step, dtype);
  const double count = std::ceil((stop.AsDouble() - start.AsDouble()) / d);
  if (!(count < 9e15)) return NoEnd(start, stop, step);
  const int64_t n = count > 0 ? static_cast<int64_t>(count) : 0;
  const DType type = dtype.value_or(DefaultFloat());
  const Tensor way = scalar(step, DType::kF64), first = scalar(start, DType::kF64);
  return Composite(CompositeId::k_samples, {&way, &first}, {n, static_cast<int64_t>(type)},
                   [&] { return astype(iota(n, DType::kF64) * way + first, type); });
}

Tensor linspace(double start, double stop, int64_t n, bool endpoint, DType dtype) {
  if (n < 0)
    return ValueError("[linspace] the number of samples must not be negative, got ", n, ".");
  const int64_t gaps = endpoint ? n - 1 : n;
  const auto number = [](double v) { return scalar(Scalar::Float(v), DType::kF64); };
  const Tensor way = number(gaps > 0 ? (stop - start) / static_cast<double>(gaps) : 0.0);
  const Tensor first = number(start), last = number(stop);
  const Attrs attrs = {n, static_cast<int64_t>(dtype), endpoint};
  return Composite(CompositeId::k_samples, {&way, &first, &last}, attrs, [&] {
    const Tensor i = iota(n, DType::kF64), line = i * way + first;
    // The last sample is `stop` itself, whatever rounding says.
    if (!endpoint || n < 2) return astype(line, dtype);
    return astype(where(equal(i, static_cast<double>(n - 1)), last, line), dtype);
  });
}

Tensor eye(int64_t rows, int64_t columns, int64_t k, DType dtype) {
  if (Status s = CheckDims("eye", {rows, columns}, SizeOf(dtype)); !s.ok())
    return Tensor(std::move(s));
  const Tensor row = reshape(iota(rows, DType::kI64), {rows, 1}) + Arg(k);
  return astype(equal(iota(columns, DType::kI64), row), dtype);
}

}  // namespace frazil::ops
