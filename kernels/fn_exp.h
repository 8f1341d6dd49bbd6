// exp and expm1. Called through kernels/fn.h. Invariant: accurate for every input within the bounds
// of fn.def; exp >= 0, expm1 >= -1 and both are exact at 0.
//
// Method: Cody and Waite's reduction x = n ln 2 + r with |r| <= ln 2 / 2 (x - n hi is exact with
// fma because hi and x are multiples of the last place of r), then e^r = 1 + r + r^2 q(r) with a
// minimax q (tools/fit_functions.py).
#pragma once

#include "kernels/fn_base.h"

namespace frazil::fn {

// q with e^r = 1 + r + r^2 q(r). The f32 polynomial is enough for e^r, and with `longer` for e^r
// - 1.
template <class V>
V ExpTail(V r, bool longer) {
  if (r.type == DType::kF32 && longer) {  // error of e^r 2^-33.2
    return Horner(
        r, {0.5f, 0.166666672f, 0.041666463f, 0.00833320618f, 0.00139351154f, 0.000199463335f});
  }
  if (r.type == DType::kF32) {  // 2^-28.2
    return Horner(r, {0.5f, 0.166665196f, 0.0416664034f, 0.00836883299f, 0.00139404566f});
  }
  return Horner(
      r, {0.50000000000000133, 0.16666666666666669, 0.041666666666510484, 0.0083333333333291595,
          0.0013888888948348462, 0.00019841269864627459, 2.4801488517117169e-05,
          2.7557268046778182e-06, 2.7631805128972815e-07, 2.5100037681812446e-08});  // 2^-58
}

// x = n ln 2 + head + tail, head exactly what hi leaves, r = head + tail rounded. nbits holds n in
// its low bits (the layout's magic above them).
template <class V>
struct ExpReduced {
  V n, nbits, head, tail, r;
};

// Of x, or of x + *x_lo. Without `split` head and tail are not set.
template <class V>
ExpReduced<V> ReduceExp(V x, const V* x_lo = nullptr, bool split = true) {
  const Layout& layout = LayoutOf(x);
  const Ln2& ln2 = x.type == DType::kF64 ? kLn2F64 : kLn2F32;
  V magic = K(x, layout.magic), minus_lo = K(x, -ln2.lo);
  V t = fma(x, K(x, kLog2e), magic);
  V n = t - magic;
  V head = fma(n, K(x, -ln2.hi), x);
  if (!split) return {n, ToBits(t), head, head, fma(n, minus_lo, head)};
  if (!x_lo) return {n, ToBits(t), head, n * minus_lo, fma(n, minus_lo, head)};
  V tail = fma(n, minus_lo, *x_lo);
  return {n, ToBits(t), head, tail, head + tail};
}

// What head lacks of e^(head + tail) - 1.
template <class V>
V ExpM1Tail(const ExpReduced<V>& x, bool longer) {
  return fma(x.r * x.r, ExpTail(x.r, longer), x.tail);
}

template <class V>
V ExpM1Reduced(const ExpReduced<V>& x) {
  return x.head + ExpM1Tail(x, false);
}

// 2^(n + add) as a float, n + add in the range of normal exponents.
template <class V>
V PowerOfTwo(V like, V nbits, int add) {
  const Layout& layout = LayoutOf(like);
  V shift = KBits(nbits, uint64_t(layout.mantissa));
  V bias = KBits(nbits, layout.one + (uint64_t(int64_t(add)) << layout.mantissa));
  return bitcast(like.type, (nbits << shift) + bias);
}

// p 2^n with one rounding, for n down to twice the least exponent: by one instruction, or by two
// factors of half the exponent.
template <class V>
V ScaleByPowerOfTwo(V p, const ExpReduced<V>& x) {
  if (HasScale(p)) return scale(p, x.n);
  const Layout& layout = LayoutOf(p);
  V nbits = x.nbits;
  V shift = KBits(nbits, uint64_t(layout.mantissa));
  V one = KBits(nbits, layout.one);
  V half = (nbits >> KBits(nbits, 1)) << shift;
  V rest = (nbits << shift) - half;
  return p * bitcast(p.type, half + one) * bitcast(p.type, rest + one);
}

// x brought into [lo, hi]; NaN stays.
template <class V>
V Clamp(V x, double lo, double hi) {
  V low = K(x, lo), high = K(x, hi);
  x = select(x < low, low, x);
  return select(x > high, high, x);
}

template <class V>
V Exp(V x) {
  // Beyond these bounds the scaling below gives 0 and infinity. A 0 that the scaling rounds to
  // costs a processor a hundred cycles, and masked scores are full of them: it is put in before.
  bool f64 = x.type == DType::kF64;
  const double low = f64 ? -746.0 : -104.0;
  V vanishes = x < K(x, low);
  if (!HasScale(x)) x = select(vanishes, K(x, low), x);  // one instruction takes any exponent
  V high = K(x, f64 ? 710.0 : 89.0);
  ExpReduced<V> reduced = ReduceExp<V>(select(x > high, high, x), nullptr, false);
  V r = reduced.r, one = K(x, 1);
  V p = fma(fma(ExpTail(r, false), r, one), r, one);
  return ScaleByPowerOfTwo(select(vanishes, K(x, 0), p), reduced);
}

// e^x - 1 for x above about -20 (f32) or -40 (f64), from 2^n p + (2^n - 1). Half of it is made
// first: 2^n may overflow.
template <class V>
V ExpM1Core(V x) {
  ExpReduced<V> reduced = ReduceExp(x);
  V scale = PowerOfTwo(x, reduced.nbits, -1);
  V base = scale - K(x, 0.5);
  // What the roundings of base (large n) and of base + scale r (which nearly cancels for n = 1)
  // lost goes to the tail.
  V base_lo = (scale - base) - K(x, 0.5);
  V head = fma(scale, reduced.head, base);
  V lost = fma(scale, reduced.head, (base - head) + base_lo);
  V y = head + fma(scale, ExpM1Tail(reduced, true), lost);
  return y + y;
}

template <class V>
V Expm1(V x) {
  bool f64 = x.type == DType::kF64;
  V y = ExpM1Core(Clamp(x, f64 ? -38.0 : -18.0, f64 ? 710.0 : 89.0));
  // Near 0 the result is x, also for -0 and for subnormals, of which half is not exact.
  return select(abs(x) < K(x, f64 ? 0x1p-55 : 0x1p-26), x, y);
}

}  // namespace frazil::fn
