// log, log1p, log2 and log10. Called through kernels/fn.h. Invariant: accurate for every input
// within the bounds of fn.def; log(0) = -inf, negative arguments give NaN, log1p(-0) = -0; log2 is
// exact at powers of 2, log10 at powers of 10.
//
// Method: x = 2^e m with m in [sqrt(1/2), sqrt(2)), f = m - 1 exactly. f32: log(1+f) = f - f^2/2 +
// f^3 P(f). f64: with s = f / (2 + f), log(1+f) = 2 atanh(s) = f - (f^2/2 - s (f^2/2 + R(s^2))),
// the arrangement of the Sun Microsystems library (fdlibm, e_log.c), in which f carries no
// rounding. Coefficients: tools/fit_functions.py.
#pragma once

#include "kernels/fn_base.h"

namespace frazil::fn {

// x = 2^e (1 + f), e an integer in x's type.
template <class V>
struct LogSplit {
  V e, f;
};

// x positive, finite; subnormal only if `subnormals`.
template <class V>
LogSplit<V> SplitForLog(V x, bool subnormals) {
  bool f64 = x.type == DType::kF64;
  const Layout& layout = LayoutOf(x);
  const uint64_t half_root = f64 ? 0x3FE6A09E667F3BCD : 0x3F3504F3;  // the bits of sqrt(1/2)
  // The exponent e + bias in the low bits of 2^mantissa is the number 2^mantissa + e + bias.
  const double offset = (f64 ? 0x1p52 : 0x1p23) + (f64 ? 1023 : 127);
  V minus = K(x, offset);
  if (subnormals) {
    V small = x < K(x, f64 ? 0x1p-1022 : 0x1p-126);
    x = select(small, x * K(x, f64 ? 0x1p52 : 0x1p23), x);
    minus = select(small, K(x, offset + layout.mantissa), minus);
  }
  V bits = ToBits(x);
  bits = bits + KBits(bits, layout.one - half_root);
  V e = bits >> KBits(bits, uint64_t(layout.mantissa));
  V ulp_one = KBits(bits, f64 ? 0x4330000000000000 : 0x4B000000);
  V m = bits & KBits(bits, (uint64_t(1) << layout.mantissa) - 1);
  return {bitcast(x.type, e | ulp_one) - minus,
          bitcast(x.type, m + KBits(bits, half_root)) - K(x, 1)};
}

// r with log(1 + f) = f - (f^2/2 - s (f^2/2 + r)), s = f / (2 + f), z = s^2; f64.
template <class V>
V LogTail(V z) {
  return z * Horner(z, {0.6666666666666734, 0.39999999999416574, 0.28571428742055233,
                        0.2222219860128839, 0.18183563089636248, 0.15314077793243153,
                        0.14795712483974766});  // 2^-58.5
}

// e ln 2 + log(1 + f) + c for a small correction c.
template <class V>
V LogFrom(const LogSplit<V>& x, V c) {
  V e = x.e, f = x.f;
  if (f.type == DType::kF32) {  // 2^-27.3
    V p = Horner(f, {0.333333313f, -0.250008196f, 0.200012565f, -0.166234404f, 0.142012402f,
                     -0.131588802f, 0.127641052f, -0.0764063895f});
    V tail = fma(f * f, fma(f, p, K(f, -0.5)), fma(e, K(f, kLn2F32.lo), c));
    return fma(e, K(f, kLn2F32.hi), f + tail);
  }
  V s = f / (f + K(f, 2));
  V r = LogTail(s * s);
  V half_square = f * f * K(f, 0.5);
  V tail = half_square - fma(s, half_square + r, fma(e, K(f, kLn2F64.lo), c));
  return fma(e, K(f, kLn2F64.hi), f - tail);
}

// y where x > zero_at and finite; +inf, NaN and the values at and below zero_at otherwise.
template <class V>
V LogSpecial(V x, V y, double zero_at) {
  V zero = K(x, zero_at);
  y = select(x == K(x, kInf), x, y);
  return select(x > zero, y, select(x == zero, K(x, -kInf), K(x, kNaN)));
}

template <class V>
V Log(V x) {
  return LogSpecial(x, LogFrom(SplitForLog(x, true), K(x, 0)), 0);
}

template <class V>
V Log1p(V x) {
  // log(u) + c / u with u + c = 1 + x exactly (Dekker's fast two-sum, the larger first).
  V one = K(x, 1);
  V u = x + one;
  V large = x > one;
  V c = select(large, one, x) - (u - select(large, x, one));
  V y = LogSpecial(x, LogFrom(SplitForLog(u, false), c / u), -1);
  return select(x == K(x, 0), x, y);
}

// The logarithm of a base: ln(base) and log(2) to that base as sums. `two` has 40 bits, so that
// its product with an exponent is exact.
struct LogBase {
  double inverse, inverse_lo;  // 1 / ln(base)
  double two, two_lo;
};
inline constexpr LogBase kBase2 = {0x1.71547652b82fep+0, 0x1.777d0ffda0d24p-56, 1, 0};
inline constexpr LogBase kBase10 = {0x1.bcb7b1526e50ep-2, 0x1.95355baaafad3p-57,
                                    0x1.34413509f8000p-2, -0x1.80433b83b532ap-44};

// f32 computes in f64, which carries log(1 + f) as a sum of two numbers.
template <class V>
V LogTo(const LogBase& base, V x) {
  V wide = cast(DType::kF64, x);
  LogSplit<V> split = SplitForLog(wide, true);
  V f = split.f;
  V s = f / (f + K(f, 2));
  V half = f * K(f, 0.5);
  V hi = fma(-half, f, f);
  V lo = fma(-half, f, f - hi) + s * fma(half, f, LogTail(s * s));
  V inverse = K(f, base.inverse);
  V p = hi * inverse;
  V p_lo = fma(hi, inverse, -p) + fma(hi, K(f, base.inverse_lo), lo * inverse);
  V whole = split.e * K(f, base.two);
  V y = whole + p;
  y = y + (((whole - y) + p) + fma(split.e, K(f, base.two_lo), p_lo));
  return cast(x.type, LogSpecial(wide, y, 0));
}

template <class V>
V Log2(V x) {
  return LogTo(kBase2, x);
}

template <class V>
V Log10(V x) {
  return LogTo(kBase10, x);
}

}  // namespace frazil::fn
