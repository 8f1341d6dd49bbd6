// sigmoid and 1 / sqrt. Called through kernels/fn.h. Invariant: accurate for every input within the
// bounds of fn.def, so what the quotient and its operands lose together is below one unit; sigmoid
// is within [0, 1].
#pragma once

#include "kernels/fn_exp.h"

namespace frazil::fn {

// 1 / sqrt(x) as the root of 1 / x, which rounds twice but loses only half of the quotient's error.
// A power of four is taken out first, lest 1 / x leaves the normal numbers.
template <class V>
V Rsqrt(V x) {
  const bool f64 = x.type == DType::kF64;
  const double root = f64 ? 0x1p27 : 0x1p12;
  V one = K(x, 1), zero = K(x, 0), above = x > one;
  V factor = select(above, K(x, 1 / (root * root)), K(x, root * root));
  V back = select(above, K(x, 1 / root), K(x, root));
  V y = sqrt(one / (x * factor)) * back;
  y = select(x == zero, OrSign(K(x, kInf), x), y);  // the root of -0 is -0
  return select(x < zero, K(x, kNaN), y);
}

// 2^n / (2^n + e^-r) for x = n ln 2 + r: neither part overflows where the result is a number, and
// the denominator is kept as a sum of two, of which the quotient's residue takes what rounding it
// lost.
template <class V>
V Sigmoid(V x) {
  const bool f64 = x.type == DType::kF64;
  V one = K(x, 1);
  ExpReduced<V> reduced = ReduceExp(Clamp(x, f64 ? -746.0 : -104.0, f64 ? 38.0 : 18.0));
  V r = -reduced.r;
  V m = fma(r * r, ExpTail(r, false), -reduced.tail) - reduced.head;  // e^-r - 1
  V power = ScaleByPowerOfTwo(one, reduced);
  V base = power + one;
  V base_low = power - (base - one);
  V d = base + m;
  V low = (m - (d - base)) + base_low;
  V q = one / d;
  V y = fma(q, fma(-q, low, fma(-q, d, one)), q);
  return ScaleByPowerOfTwo(y, reduced);
}

}  // namespace frazil::fn
