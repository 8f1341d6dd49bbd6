// Elementwise functions that take care of signs, infinities and NaN as C and NumPy do. Numbers meet
// in their common floating-point dtype; short formulas compute in float64 where that is wider, so
// that they round once.
#include <cmath>
#include <limits>

#include "core/functions/both.h"

namespace frazil::ops {
namespace {

// -1 or 1, the sign of zero included: odd functions are even ones of x * sign, times sign.
Tensor SignOf(const Tensor& x) { return where(signbit(x.Detach()), -1.0, 1.0); }

double LargestOf(DType dtype) {
  switch (dtype) {
    case DType::kF16:
      return 65504;
    case DType::kBF16:
      return 0x1.fep127;
    case DType::kF32:
      return std::numeric_limits<float>::max();
    default:
      return std::numeric_limits<double>::max();
  }
}

}  // namespace

Tensor atan2(const Arg& a, const Arg& b) {
  return OfBoth(CompositeId::k_atan2, a, b, [](const Tensor& first, const Tensor& second) {
    const Tensor y = Wider(first), x = Wider(second);
    const Tensor sign = SignOf(y);
    const Tensor up = y * sign, right = x * SignOf(x);
    // inf/inf counts as 1 and 0/0 as 0.
    Tensor slope = where(bitwise_and(isinf(up), isinf(right)), 1.0, up / right);
    slope = where(bitwise_and(equal(up, 0.0), equal(right, 0.0)), 0.0, slope);
    const Tensor angle = atan(slope);
    const Tensor left = 3.141592653589793 - (angle - 1.2246467991473532e-16);
    return astype(where(signbit(second.Detach()), left, angle) * sign, first.dtype());
  });
}

Tensor hypot(const Arg& a, const Arg& b) {
  return OfBoth(CompositeId::k_hypot, a, b, [](const Tensor& first, const Tensor& second) {
    Tensor x = Wider(first), y = Wider(second), scale;
    if (first.dtype() == DType::kF64) {  // squares of narrower floats fit
      // A constant to gradients, which do not depend on it, of any order.
      const Tensor large = maximum(abs(x.Detach()), abs(y.Detach()));
      scale = where(equal(large, 0.0), 1.0, large);
      x = x / scale;
      y = y / scale;
    }
    const Tensor square = x * x + y * y, none = equal(square, 0.0);
    Tensor value = where(none, square, sqrt(where(none, 1.0, square)));  // with gradient 0 there
    if (scale.defined()) value = value * scale;
    const Tensor infinite = bitwise_or(isinf(first), isinf(second));
    return astype(where(infinite, INFINITY, value), first.dtype());
  });
}

Tensor logaddexp(const Arg& a, const Arg& b) {
  return OfBoth(CompositeId::k_logaddexp, a, b, [](const Tensor& first, const Tensor& second) {
    const DType wide = IsHalf(first.dtype()) ? DType::kF32 : first.dtype();  // rounded once
    const Tensor x = astype(first, wide), y = astype(second, wide);
    const Tensor apart = where(equal(x, y), 0.0, x - y);  // equal infinities differ by nothing
    return astype(maximum(x, y) + log1p(exp(-abs(apart))), first.dtype());
  });
}

Tensor copysign(const Arg& a, const Arg& b) {
  return OfBoth(CompositeId::k_copysign, a, b, [](const Tensor& x, const Tensor& y) {
    const Tensor size = abs(x);
    return where(signbit(y.Detach()), -size, size);
  });
}

Tensor nan_to_num(const Tensor& x, double nan, std::optional<double> posinf,
                  std::optional<double> neginf) {
  if (x.ok() && IsComplex(x.dtype())) {
    return complex(nan_to_num(real(x), nan, posinf, neginf),
                   nan_to_num(imag(x), nan, posinf, neginf));
  }
  if (!x.ok() || !IsFloat(x.dtype())) return x;
  const Tensor f = x;
  const Tensor instead = Number(nan, f), high = Number(posinf.value_or(LargestOf(f.dtype())), f),
               low = Number(neginf.value_or(-LargestOf(f.dtype())), f);
  return Composite(CompositeId::k_nan_to_num, {&f, &instead, &high, &low}, {}, [&] {
    Tensor out = where(isnan(f), instead, f);
    out = where(equal(out, INFINITY), high, out);
    return where(equal(out, -INFINITY), low, out);
  });
}

Tensor isclose(const Arg& a, const Arg& b, double rtol, double atol, bool equal_nan) {
  const Both both(a, b);
  if (!both.ok()) return both.error();
  const Tensor &x = both.x, &y = both.y;
  const Tensor relative = Number(rtol, x), absolute = Number(atol, x);
  const int64_t attr = equal_nan;
  return Composite(CompositeId::k_isclose, {&x, &y, &relative, &absolute}, {&attr, 1}, [&] {
    const Tensor near = less_equal(abs(x - y), absolute + relative * abs(y));
    const Tensor same = bitwise_or(bitwise_and(near, isfinite(y)), equal(x, y));
    return equal_nan ? bitwise_or(same, bitwise_and(isnan(x), isnan(y))) : same;
  });
}

}  // namespace frazil::ops
