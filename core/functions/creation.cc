#include <cmath>

#include "core/device_memory.h"
#include "core/functions/composites.h"

namespace frazil::ops {
Tensor filled(Dims dims, const Scalar& value, DType dtype, Device device) {
  // What the CPU addresses it fills itself.
  const Tensor t = full(dims, value, dtype, CpuAddresses(device) ? Device() : device);
  return t.ok() ? to_device(Apply(OpId::k_copy, {&t}), device) : t;
}

Tensor arange(const Scalar& start, const Scalar& stop, const Scalar& step,
              std::optional<DType> dtype) {
  bool floating = false;
  for (const Scalar* s : {&start, &stop, &step}) floating |= s->kind == Scalar::Kind::kFloat;
  const DType out = dtype.value_or(floating ? DType::kF32 : DType::kI64);
  const double d = step.AsDouble();
  if (d == 0 || std::isnan(d)) return ValueError("[arange] step must not be zero, got ", d, ".");
  const double count = std::ceil((stop.AsDouble() - start.AsDouble()) / d);
  if (!(count < 9e15))
    return ValueError("[arange] ", start.AsDouble(), " to ", stop.AsDouble(), " by ", d,
                      " has no end.");
  const int64_t n = count > 0 ? static_cast<int64_t>(count) : 0;
  if (!floating) return astype(iota(n, DType::kI64) * Arg(step) + Arg(start), out);
  return astype(iota(n, DType::kF64) * d + start.AsDouble(), out);
}

Tensor linspace(double start, double stop, int64_t n, bool endpoint, DType dtype) {
  if (n < 0)
    return ValueError("[linspace] the number of samples must not be negative, got ", n, ".");
  const int64_t gaps = endpoint ? n - 1 : n;
  const Tensor i = iota(n, DType::kF64);
  const Tensor line = i * (gaps > 0 ? (stop - start) / static_cast<double>(gaps) : 0.0) + start;
  // The last sample is `stop` itself, whatever rounding says.
  if (!endpoint || n < 2) return astype(line, dtype);
  return astype(where(equal(i, static_cast<double>(n - 1)), stop, line), dtype);
}

Tensor eye(int64_t rows, int64_t columns, int64_t k, DType dtype) {
  if (Status s = CheckDims("eye", {rows, columns}, SizeOf(dtype)); !s.ok())
    return Tensor(std::move(s));
  const Tensor row = reshape(iota(rows, DType::kI64), {rows, 1}) + Arg(k);
  return astype(equal(iota(columns, DType::kI64), row), dtype);
}

}  // namespace frazil::ops
