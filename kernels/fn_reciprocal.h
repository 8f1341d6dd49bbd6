// rsqrt = 1 / sqrt(x) and sigmoid = 1 / (1 + e^-x). Called through kernels/fn.h. Invariant: accurate
// for every input within the bounds of fn.def, subnormal arguments and results too; rsqrt is an
// infinity with the sign of a zero and NaN below, sigmoid is exactly 1/2 at 0.
#pragma once

#include <cmath>

#include "kernels/fn_exp.h"

namespace frazil::fn {

// sqrt(1 / x) and not 1 / sqrt(x): the root halves what the quotient lost, so that 0.86 units of the
// last place are left of 1.5. A power of four keeps the quotient a normal number.
template <class V>
V Rsqrt(V x) {
  const double step = x.type == DType::kF64 ? 0x1p54 : 0x1p24, root = std::sqrt(step);
  V large = x > K(x, 1);
  V inverse = K(x, 1) / (x * select(large, K(x, 1 / step), K(x, step)));
  V y = sqrt(inverse) * select(large, K(x, 1 / root), K(x, root));
  V beyond = select(x == K(x, 0), inverse, K(x, kNaN));  // inverse: an infinity of either sign
  return select(x > K(x, 0), y, beyond);
}

// With x = n ln 2 + r it is 2^n / (2^n + e^-r), whose denominator is kept as a sum of two: one
// rounding of the quotient is left, and one of e^-r - 1.
template <class V>
V Sigmoid(V x) {
  bool f64 = x.type == DType::kF64;
  // Beyond these bounds it is 0 and 1.
  ExpReduced<V> reduced = ReduceExp(Clamp(x, f64 ? -746.0 : -104.0, f64 ? 38.0 : 18.0));
  V r = -reduced.r, one = K(x, 1);
  V m = fma(r * r, ExpTail(r, false), -reduced.tail) - reduced.head;
  V power = ScaleByPowerOfTwo(one, reduced);
  // power + 1 + m as d + low. The first difference is exact for powers up to 1 and for those that
  // leave the 1 whole; where it is lost altogether, so is its weight.
  V base = power + one;
  V base_low = power - (base - one);
  V d = base + m;
  V low = (m - (d - base)) + base_low;
  V q = one / d;
  V y = fma(q, fma(-q, low, fma(-q, d, one)), q);
  return ScaleByPowerOfTwo(y, reduced);
}

}  // namespace frazil::fn
