// Reductions that leave NaN out. Integers have none: they reduce as the plain functions do. No
// element of theirs is read on the way, so programs stay whole.
#include <bit>
#include <cmath>

#include "core/functions/composite.h"

namespace frazil::ops {
namespace {

bool MayHoldNaN(const Tensor& x) { return x.ok() && IsInexact(x.dtype()); }

Tensor In(const Tensor& x, std::optional<DType> dtype) {
  return x.ok() && dtype ? astype(x, *dtype) : x;
}

// A composite that reduces x over axes; `more` is an attribute besides these.
template <typename Body>
Tensor Over(CompositeId id, const Tensor& x, const Axes& axes, int64_t more, bool keepdims,
            const Body& body) {
  const std::optional<int64_t> mask = AxisMask(axes, x.rank());
  if (!mask) return body();
  const int64_t attrs[] = {*mask, more, keepdims};
  return Composite(id, {&x}, attrs, body);
}

Tensor Without(const Tensor& x, double instead) { return where(isnan(x), instead, x); }

Tensor CountOf(const Tensor& x, const Axes& axes, bool keepdims) {
  return sum(astype(logical_not(isnan(x.Detach())), x.dtype()), axes, keepdims);
}

// The extreme of what is no NaN; `last` comes after every number.
Tensor Extreme(CompositeId id, const Tensor& x, const Axes& axes, bool keepdims, double last,
               Tensor (*reduce)(const Tensor&, const Axes&, bool)) {
  if (!MayHoldNaN(x)) return reduce(x, axes, keepdims);
  return Over(id, x, axes, 0, keepdims, [&] {
    const Tensor out = reduce(Without(x, last), axes, keepdims);
    return where(all(isnan(x.Detach()), axes, keepdims), NAN, out);
  });
}

Tensor Place(CompositeId id, const Tensor& x, const Axes& axes, bool keepdims, double last,
             Tensor (*extreme)(const Tensor&, const Axes&, bool),
             Tensor (*reduce)(const Tensor&, const Axes&, bool)) {
  if (!MayHoldNaN(x)) return reduce(x, axes, keepdims);
  return Over(id, x, axes, 0, keepdims, [&] {
    // The first that equals the extreme: a NaN beside numbers that are all `last` is not it.
    const Tensor f = x.Detach(), top = extreme(Without(f, last), axes, true);
    const Tensor hit = bitwise_and(equal(f, top), logical_not(isnan(f)));
    const Tensor place = argmax(hit, axes, keepdims);
    return where(any(hit, axes, keepdims), place, Scalar::Int(-1));
  });
}

// 16-bit floats are summed in float32: their count may be too large for 16 bits.
Tensor Wide(const Tensor& x) { return x.ok() && IsHalf(x.dtype()) ? astype(x, DType::kF32) : x; }

Tensor MeanOf(const Tensor& x, const Axes& axes, bool keepdims) {
  return sum(Without(x, 0), axes, keepdims) / CountOf(x, axes, keepdims);
}

}  // namespace

Tensor nansum(const Tensor& given, const Axes& axes, std::optional<DType> dtype, bool keepdims) {
  const Tensor x = In(given, dtype);
  const auto out = [&](const Tensor& t) { return In(t, dtype); };
  if (!MayHoldNaN(x)) return out(sum(x, axes, keepdims));
  return Over(CompositeId::k_nansum, x, axes, 0, keepdims,
              [&] { return sum(Without(x, 0), axes, keepdims); });
}

Tensor nanprod(const Tensor& given, const Axes& axes, std::optional<DType> dtype, bool keepdims) {
  const Tensor x = In(given, dtype);
  const auto out = [&](const Tensor& t) { return In(t, dtype); };
  if (!MayHoldNaN(x)) return out(prod(x, axes, keepdims));
  return Over(CompositeId::k_nanprod, x, axes, 0, keepdims,
              [&] { return prod(Without(x, 1), axes, keepdims); });
}

Tensor nanmax(const Tensor& x, const Axes& axes, bool keepdims) {
  return Extreme(CompositeId::k_nanmax, x, axes, keepdims, -INFINITY, max);
}
Tensor nanmin(const Tensor& x, const Axes& axes, bool keepdims) {
  return Extreme(CompositeId::k_nanmin, x, axes, keepdims, INFINITY, min);
}
Tensor nanargmax(const Tensor& x, const Axes& axes, bool keepdims) {
  return Place(CompositeId::k_nanargmax, x, axes, keepdims, -INFINITY, max, argmax);
}
Tensor nanargmin(const Tensor& x, const Axes& axes, bool keepdims) {
  return Place(CompositeId::k_nanargmin, x, axes, keepdims, INFINITY, min, argmin);
}

Tensor nanmean(const Tensor& given, const Axes& axes, std::optional<DType> dtype, bool keepdims) {
  const Tensor f = AsFloat(In(given, dtype)), x = Wide(f);
  if (!x.ok()) return x;
  const Tensor out =
      Over(CompositeId::k_nanmean, x, axes, 0, keepdims, [&] { return MeanOf(x, axes, keepdims); });
  return astype(out, dtype.value_or(f.dtype()));
}

Tensor nanvar(const Tensor& given, const Axes& axes, Correction correction, bool keepdims) {
  const Tensor f = AsFloat(given), x = Wide(f);
  if (!x.ok()) return x;
  const auto less_by = std::bit_cast<int64_t>(correction.less);
  const Tensor out = Over(CompositeId::k_nanvar, x, axes, less_by, keepdims, [&] {
    const Tensor apart = where(isnan(x), 0.0, x - MeanOf(x, axes, true));
    const auto squared = [](const Tensor& t) { return t * t; };
    const Tensor square =
        IsComplex(x.dtype()) ? squared(real(apart)) + squared(imag(apart)) : squared(apart);
    const Tensor there = astype(logical_not(isnan(x.Detach())), square.dtype());
    const Tensor n = sum(there, axes, keepdims) - correction.less;
    return sum(square, axes, keepdims) / where(greater(n, 0.0), n, NAN);
  });
  return IsComplex(f.dtype()) ? out : astype(out, f.dtype());
}

Tensor nanstd(const Tensor& x, const Axes& axes, Correction correction, bool keepdims) {
  return sqrt(nanvar(x, axes, correction, keepdims));
}

Tensor ptp(const Tensor& x, const Axes& axes, bool keepdims) {
  if (!x.ok()) return x;
  return Over(CompositeId::k_ptp, x, axes, 0, keepdims,
              [&] { return max(x, axes, keepdims) - min(x, axes, keepdims); });
}

}  // namespace frazil::ops
