// log and log1p. Called through kernels/fn.h. Invariant: accurate for every input within the bounds
// of fn.def; log(0) = -inf, negative arguments give NaN, log1p(-0) = -0.
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
  V z = s * s;
  V r = z *
        Horner(z, {0.6666666666666734, 0.39999999999416574, 0.28571428742055233, 0.2222219860128839,
                   0.18183563089636248, 0.15314077793243153, 0.14795712483974766});  // 2^-58.5
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

}  // namespace frazil::fn
