// asin and acos. Called through kernels/fn.h. Invariant: asin is odd to the last bit, both are NaN
// beyond -1 and 1 and accurate for every other input within the bounds of fn.def.
//
// Method: asin s = s + s R(s^2) for s <= 1/2, with the rational R of the Sun Microsystems library
// (fdlibm, e_asin.c); above, asin x = pi/2 - 2 asin sqrt((1 - x) / 2), where what the root rounds
// away is kept. f32 computes in f64.
#pragma once

#include "kernels/fn_base.h"

namespace frazil::fn {

// asin s = s + s r(z), z = s^2 <= 1/4, f64. Error 2^-58.
template <class V>
V ArcTail(V z) {
  V p = Horner(
      z, {1.66666666666666657415e-01, -3.25565818622400915405e-01, 2.01212532134862925881e-01,
          -4.00555345006794114027e-02, 7.91534994289814532176e-04, 3.47933107596021167570e-05});
  V q = Horner(z, {1.0, -2.40339491173441421878e+00, 2.02094576023350569471e+00,
                   -6.88283971605453293030e-01, 7.70381505559019352791e-02});
  return z * p / q;
}

// For |x| <= 1/2 asin |x| = s + low; for larger |x| asin sqrt((1 - |x|) / 2) = s + low.
template <class V>
struct ArcHalf {
  V s, low;
  V far;  // |x| > 1/2
};

template <class V>
ArcHalf<V> HalfArc(V x) {
  V a = abs(x), half = K(x, 0.5), zero = K(x, 0);
  V far = a > half;
  V z = select(far, (K(x, 1) - a) * half, a * a);  // the first is exact
  V root = sqrt(z);
  V root_lo = fma(-root, root, z) / select(z == zero, K(x, 1), root + root);
  V s = select(far, root, a);
  return {s, fma(s, ArcTail(z), select(far, root_lo, zero)), far};
}

// turn - (s + low) for a multiple `turn` of pi/2 that is at least s.
template <class V>
V FromTurn(V s, V low, double turn, double turn_lo) {
  V from = K(s, turn);
  V y = from - s;
  return y + (((from - y) - s) + (K(s, turn_lo) - low));
}

inline constexpr double kHalfPi = 0x1.921fb54442d18p+0, kHalfPiLo = 0x1.1a62633145c07p-54;

template <class V>
V Asin(V x) {
  V wide = cast(DType::kF64, x);
  ArcHalf<V> arc = HalfArc(wide);
  V far = FromTurn(arc.s + arc.s, arc.low + arc.low, kHalfPi, kHalfPiLo);
  return cast(x.type, OrSign(select(arc.far, far, arc.s + arc.low), wide));
}

template <class V>
V Acos(V x) {
  V wide = cast(DType::kF64, x);
  ArcHalf<V> arc = HalfArc(wide);
  V two_s = arc.s + arc.s, two_low = arc.low + arc.low;
  V near = FromTurn(XorSign(arc.s, wide), XorSign(arc.low, wide), kHalfPi, kHalfPiLo);
  V left = FromTurn(two_s, two_low, 2 * kHalfPi, 2 * kHalfPiLo);
  V far = select(wide < K(wide, 0), left, two_s + two_low);
  return cast(x.type, select(arc.far, far, near));
}

}  // namespace frazil::fn
