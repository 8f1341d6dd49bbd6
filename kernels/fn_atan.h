// atan. Called through kernels/fn.h. Invariant: odd to the last bit, |result| <= pi / 2 rounded,
// exact at 0, accurate for every input within the bounds of fn.def.
//
// Method: atan |x| = b + atan t, with b = 0, pi/4 or pi/2 and t = |x|, (|x| - 1) / (|x| + 1) or
// -1 / |x|, so that |t| <= tan(pi/8). What the quotient and the sum round away is added to the odd
// polynomial's part. Coefficients: tools/fit_functions.py.
#pragma once

#include "kernels/fn_base.h"

namespace frazil::fn {

template <class V>
V Atan(V x) {
  bool f64 = x.type == DType::kF64;
  V zero = K(x, 0), one = K(x, 1);
  // From here on atan rounds to pi / 2; infinity would make NaN of the remainder below.
  V top = K(x, f64 ? 0x1p60 : 0x1p30);
  V a = abs(x);
  a = select(a > top, top, a);
  auto middle = a > K(x, 0.41421356237309503);
  auto far = a > K(x, 2.4142135623730951);
  V num = select(far, -one, select(middle, a - one, a));
  V den = select(far, a, select(middle, a + one, one));
  // In the middle both round: |x| + 1 by den_lo, |x| - 1 by num_lo. What is left of a sum p + q is
  // (p - (s - v)) + (q - v) with v = s - p (Knuth, TAOCP 2, 4.2.2).
  V add_v = den - a, subtract_v = num - a;
  V den_lo = (a - (den - add_v)) + (one - add_v);
  V num_lo = (a - (num - subtract_v)) - (one + subtract_v);
  auto exact = far | (a <= K(x, 0.41421356237309503));
  den_lo = select(exact, zero, den_lo);
  num_lo = select(exact, zero, num_lo);
  V inverse = one / den;
  V t = num * inverse;
  V t_lo = inverse * (fma(-t, den_lo, fma(-t, den, num)) + num_lo);
  V z = t * t, p;
  if (f64) {
    p = Horner(z, {-0.33333333333333198, 0.19999999999953819, -0.14285714280220785,
                   0.11111110784702409, -0.090908977939330463, 0.076920608612232946,
                   -0.066631113644757364, 0.058479419799159778, -0.050395385669640441,
                   0.038070398643335175, -0.017913478769429437});  // 2^-59.5
  } else {
    p = Horner(
        z, {-0.333333164f, 0.199985325f, -0.142445102f, 0.10600166f, -0.0609271191f});  // 2^-30.5
  }
  V base = select(far, K(x, f64 ? 0x1.921fb54442d18p+0 : 0x1.921fb6p+0),
                  select(middle, K(x, f64 ? 0x1.921fb54442d18p-1 : 0x1.921fb6p-1), zero));
  V base_lo = select(far, K(x, f64 ? 0x1.1a62633145c07p-54 : -0x1.777a5cp-25),
                     select(middle, K(x, f64 ? 0x1.1a62633145c07p-55 : -0x1.777a5cp-26), zero));
  V sum = base + t;
  V sum_lo = select(middle, t - (sum - base), zero);
  return OrSign(sum + fma(t * z, p, (sum_lo + base_lo) + t_lo), x);
}

}  // namespace frazil::fn
