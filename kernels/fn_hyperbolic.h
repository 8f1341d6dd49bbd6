// sinh, cosh and their inverses with atanh. Called through kernels/fn.h. Invariant: sinh, asinh and
// atanh are odd to the last bit and exact at 0, cosh >= 1, and all are accurate for every input
// within the bounds of fn.def. f32 computes in f64.
//
// Method: sinh x = x + x^3 P(x^2) below 1, otherwise (e^x -+ e^-x) / 2 with e^x as a sum of two
// numbers. The inverses are logarithms of a sum or quotient u + u_lo, of which log takes u_lo as a
// correction.
#pragma once

#include "kernels/fn_exp.h"
#include "kernels/fn_log.h"

namespace frazil::fn {

// (e^a -+ e^-a) / 2 for a >= 0, f64.
template <class V>
V HyperbolicCore(V a, bool minus) {
  // A quarter of e^a does not overflow before twice the sum does.
  ExpReduced<V> reduced = ReduceExp(Clamp(a, 0, 710.5));
  V one = K(a, 1), zero = K(a, 0);
  V hi = one + reduced.head;
  V lo = ((one - hi) + reduced.head) + ExpM1Tail(reduced, false);
  V scale = PowerOfTwo(a, reduced.nbits, -2);
  V back = PowerOfTwo(a, KBits(reduced.nbits, 0) - reduced.nbits, -2);
  V inverse = select(a > K(a, 40), zero, back / (hi + lo));
  V y = scale * hi + fma(scale, lo, minus ? -inverse : inverse);
  return y + y;
}

template <class V>
V Sinh(V x) {
  V wide = cast(DType::kF64, x);
  V a = abs(wide);
  V z = a * a;
  // Taylor's series: x^20 / 21! is below 2^-65 where it is used.
  V p = Horner(z, {1.0 / 6, 1.0 / 120, 1.0 / 5040, 1.0 / 362880, 1.0 / 39916800, 1.0 / 6227020800,
                   1.0 / 1307674368000, 1.0 / 355687428096000, 1.0 / 121645100408832000});
  V y = select(a < K(a, 1), fma(a * z, p, a), HyperbolicCore(a, true));
  return cast(x.type, OrSign(y, wide));
}

template <class V>
V Cosh(V x) {
  return cast(x.type, HyperbolicCore(abs(cast(DType::kF64, x)), false));
}

// log(a + sqrt(a^2 + sign)), f64, with a >= 0 and, for sign = -1, a >= 1.
template <class V>
V LogOfSumWithRoot(V a, double sign) {
  V zero = K(a, 0), one = K(a, 1), constant = K(a, sign);
  V large = a > K(a, 0x1p60);  // the root is a
  V x = select(large, one, a);
  V square = x * x;
  V square_lo = fma(x, x, -square);
  V sum = square + constant;
  V larger = select(square > one, square, constant),
    smaller = select(square > one, constant, square);
  V sum_lo = ((larger - sum) + smaller) + square_lo;
  V root = sqrt(sum);
  V root_lo = (fma(-root, root, sum) + sum_lo) / select(root == zero, one, root + root);
  V top = select(root > x, root, x), low = select(root > x, x, root);
  V u = top + low;
  V u_lo = ((top - u) + low) + root_lo;
  LogSplit<V> split = SplitForLog(select(large, a, u), false);
  split.e = split.e + select(large, one, zero);
  return LogFrom(split, select(large, zero, u_lo / u));
}

template <class V>
V Asinh(V x) {
  V wide = cast(DType::kF64, x);
  V a = abs(wide);
  V y = LogOfSumWithRoot(a, 1);
  y = select(a < K(a, 0x1p-28), a, y);
  return cast(x.type, OrSign(select(a < K(a, kInf), y, a), wide));
}

template <class V>
V Acosh(V x) {
  V wide = cast(DType::kF64, x);
  V y = select(wide < K(wide, kInf), LogOfSumWithRoot(wide, -1), wide);
  return cast(x.type, select(wide >= K(wide, 1), y, K(wide, kNaN)));
}

template <class V>
V Atanh(V x) {
  V wide = cast(DType::kF64, x);
  V a = abs(wide), one = K(wide, 1);
  // Half of log((1 + a) / (1 - a)), the quotient with what its three roundings lost.
  V num = one + a, den = one - a;
  V num_lo = (one - num) + a, den_lo = (one - den) - a;
  V q = num / den;
  V rest = fma(-q, den, num) + fma(-q, den_lo, num_lo);
  V y = LogFrom(SplitForLog(q, false), rest / num) * K(wide, 0.5);
  y = select(a < K(a, 0x1p-28), a, y);
  y = select(a < one, y, select(a == one, K(a, kInf), K(a, kNaN)));
  return cast(x.type, OrSign(y, wide));
}

}  // namespace frazil::fn
