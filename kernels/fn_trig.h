// sin, cos and tan. Called through kernels/fn.h. Invariant: every finite argument is reduced
// exactly enough for the bounds of fn.def, |sin|, |cos| <= 1, sin(-0) = -0, infinities give NaN.
//
// Method: |x| = (n + g) pi/2 with |g| <= 1/2 by Payne and Hanek's idea: of the bits of 2/pi only
// those are multiplied that reach neither whole turns nor vanish below the result. f32 does it in
// f64 (two constants chosen by the size of x), f64 in 64-bit integers. Then minimax polynomials on
// [-pi/4, pi/4] (tools/fit_functions.py).
#pragma once

#include <array>

#include "kernels/fn_base.h"

namespace frazil::fn {

// sin = s + s_lo and cos = c + c_lo of the reduced argument; n: quadrant in the low two bits (u64).
template <class V>
struct Quadrant {
  V n, s, s_lo, c, c_lo;
};

// For f32: x is cast to f64. sin and cos carry their own sign of x; s_lo and c_lo are not made.
template <class V>
Quadrant<V> ReduceF32(V x) {
  V a = abs(x);
  // c1 + c2 = 2/pi less the bits whose product with x is a multiple of 4. x c1 stays below 2^46 and
  // x c1 - n is exact; x c2, below 2^-7, adds what reaches 2^-61.
  V c1 = K(x, 0x1.45f306dc9c882p-1), c2 = K(x, 0x1.4a7f09d5f47d5p-54);
  struct {
    double from, c1, c2;
  } const windows[] = {{0x1p44, 0x1.b727220a94fep-23, 0x1.3abe8fa9a6eep-75},
                       {0x1p65, 0x1.1054a7f09d5f4p-42, 0x1.f534ddc0db629p-96},
                       {0x1p86, 0x1.fc2757d1f534cp-64, 0x1.dc0db6295993cp-116},
                       {0x1p107, 0x1.7d1f534ddc0dap-84, 0x1.6295993c43904p-136}};
  for (const auto& window : windows) {
    V far = a >= K(x, window.from);
    c1 = select(far, K(x, window.c1), c1);
    c2 = select(far, K(x, window.c2), c2);
  }
  V magic = K(x, kLayoutF64.magic);
  V t = fma(x, c1, magic);
  V g = fma(x, c2, fma(x, c1, -(t - magic)));  // minus n: keeps the sign of -0
  V r = g * K(x, 0x1.921fb54442d18p+0);
  V z = r * r;
  V s = r * Horner(z, {1, -0.16666666639573705, 0.0083333291457148399, -0.00019839257190461826,
                       2.7175695798626555e-06});  // 2^-37.4
  V c = Horner(z, {1, -0.49999999702578607, 0.041666620688295637, -0.0013886678570575535,
                   2.4382307212531352e-05});  // 2^-34
  return {ToBits(t), s, s, c, c};
}

// Bits of 2/pi (a fact; any table of pi gives it) after one word of zeros, most significant first.
inline constexpr std::array<uint64_t, 20> kTwoOverPi = {0,
                                                        0xA2F9836E4E441529,
                                                        0xFC2757D1F534DDC0,
                                                        0xDB6295993C439041,
                                                        0xFE5163ABDEBBC561,
                                                        0xB7246E3A424DD2E0,
                                                        0x06492EEA09D1921C,
                                                        0xFE1DEB1CB129A73E,
                                                        0xE88235F52EBB4484,
                                                        0xE99C7026B45F7E41,
                                                        0x3991D639835339F4,
                                                        0x9C845F8BBDF9283B,
                                                        0x1FF897FFDE05980F,
                                                        0xEF2F118B5A0A6D1F,
                                                        0x6D367ECF27CB09B7,
                                                        0x4F463F669E5FEA2D,
                                                        0x7527BAC7EBE5F17B,
                                                        0x3D0739F78A5292EA,
                                                        0x6BFB5FB11F8D5D08,
                                                        0x56033046FC7B6BAB};

// The 192 bits of 2/pi from bit `offset` of kTwoOverPi on (offset u64, at most 64 * 17 - 1).
template <class V>
std::array<V, 3> TwoOverPiFrom(V offset) {
  std::array<V, 20> word;
  for (int i = 0; i < 20; ++i) word[i] = KBits(offset, kTwoOverPi[i]);
  V zero = KBits(offset, 0);
  // A barrel shift by words: after the step for 2^b only the next 2^b + 3 words can still be asked
  // for.
  for (int b = 4; b >= 0; --b) {
    int step = 1 << b;
    V taken = (offset & KBits(offset, uint64_t(64) << b)) != zero;
    for (int i = 0; i < step + 3 && i + step < 20; ++i)
      word[i] = select(taken, word[i + step], word[i]);
  }
  V left = offset & KBits(offset, 63);
  V right = KBits(offset, 64) - left;
  std::array<V, 3> out;
  for (int i = 0; i < 3; ++i)
    out[i] = (word[i] << left) | (word[i + 1] >> right);  // a shift by 64 gives 0
  return out;
}

// The u64 below 2^52 as f64, exactly.
template <class V>
V Low52ToF64(V bits, V like) {
  return bitcast(DType::kF64, bits | KBits(bits, 0x4330000000000000)) - K(like, 0x1p52);
}

// |x| = n pi/2 + r + r_lo, n modulo 4.
template <class V>
struct Reduced {
  V n, r, r_lo;
};

template <class V>
Reduced<V> ReduceF64(V a) {
  V bits = ToBits(a);
  V exponent = bits >> KBits(bits, 52);
  V m = (bits & KBits(bits, 0x000FFFFFFFFFFFFF)) | KBits(bits, 0x0010000000000000);
  // a = m 2^(exponent - 1075). a 2/pi / 4 modulo 1 needs 2/pi from bit exponent - 1077 after the
  // point on, which the zero word moves by 64. Arguments below 1/2 are replaced below: what happens
  // to them here does not matter.
  std::array<V, 3> g = TwoOverPiFrom(exponent - KBits(bits, 1013));
  V carry_in = mulhi(m, g[2]);
  V lo = m * g[1] + carry_in;
  V carry = select(lo < carry_in, KBits(bits, 1), KBits(bits, 0));
  V hi = m * g[0] + mulhi(m, g[1]) + carry;  // (hi, lo) is a 2/pi modulo 4 in units of 2^-126
  V n = (hi + KBits(bits, uint64_t(1) << 61)) >> KBits(bits, 62);
  hi = hi - (n << KBits(bits, 62));
  // Sign and magnitude; the complement is one unit short of the negative, which is far below the
  // result.
  V mask = KBits(bits, 0) - (hi >> KBits(bits, 63));
  hi = hi ^ mask, lo = lo ^ mask;
  V top = Low52ToF64(hi >> KBits(bits, 9), a) * K(a, 0x1p-53);
  V middle = Low52ToF64(((hi & KBits(bits, 511)) << KBits(bits, 43)) | (lo >> KBits(bits, 21)), a) *
             K(a, 0x1p-105);
  V low = Low52ToF64(lo & KBits(bits, 0x1FFFFF), a) * K(a, 0x1p-126);
  V f = top + middle;
  V f_lo = ((top - f) + middle) + low;
  // times pi/2
  V half_pi = K(a, 0x1.921fb54442d18p+0);
  V r = f * half_pi;
  V r_lo = fma(f, half_pi, -r) + fma(f, K(a, 0x1.1a62633145c07p-54), f_lo * half_pi);
  V sign = mask & KBits(bits, kLayoutF64.sign);
  r = bitcast(DType::kF64, ToBits(r) ^ sign), r_lo = bitcast(DType::kF64, ToBits(r_lo) ^ sign);
  V small = a < K(a, 0x1.921fb54442d18p-1);
  return {select(small, KBits(bits, 0), n), select(small, a, r), select(small, K(a, 0), r_lo)};
}

// Of |x|. The heads are exact, everything rounded is in the tails (the arrangement of fdlibm's
// k_sin.c, k_cos.c).
template <class V>
Quadrant<V> SinCosF64(V a) {
  Reduced<V> x = ReduceF64(a);
  V one = K(a, 1);
  V z = x.r * x.r;
  V half = z * K(a, 0.5);
  V p = Horner(
      z, {-0.16666666666666627, 0.0083333333333210774, -0.00019841269828699265,
          2.7557313295656623e-06, -2.5050694466152905e-08, 1.5893024010397962e-10});  // 2^-57.8
  V s_lo = fma(z * x.r, p, fma(x.r_lo, -half, x.r_lo));
  V q = Horner(
      z, {0.041666666666666588, -0.0013888888888872054, 2.4801587288142151e-05,
          -2.7557313953227103e-07, 2.0875667585105038e-09, -1.1356698419221726e-11});  // 2^-63.9
  V c = one - half;
  V c_lo = ((one - c) - half) + fma(z * z, q, -(x.r * x.r_lo));
  return {x.n, x.r, s_lo, c, c_lo};
}

// The quadrant's function: n even takes s, odd c, and the second half turn is negative. n u64.
template <class V>
V TakeQuadrant(V n, V s, V c) {
  V one = KBits(n, 1);
  V y = select((n & one) == one, c, s);
  return bitcast(DType::kF64, ToBits(y) ^ ((n >> one) << KBits(n, 63)));
}

template <class V>
V Sin(V x) {
  if (x.type == DType::kF32) {
    Quadrant<V> q = ReduceF32(cast(DType::kF64, x));
    return cast(DType::kF32, TakeQuadrant(q.n, q.s, q.c));
  }
  V a = abs(x);
  Quadrant<V> q = SinCosF64(a);
  V y = TakeQuadrant(q.n, q.s + q.s_lo, q.c + q.c_lo);
  return select(a < K(x, kInf), XorSign(y, x), K(x, kNaN));
}

template <class V>
V Cos(V x) {
  if (x.type == DType::kF32) {
    Quadrant<V> q = ReduceF32(cast(DType::kF64, x));
    return cast(DType::kF32, TakeQuadrant(q.n + KBits(q.n, 1), q.s, q.c));
  }
  V a = abs(x);
  Quadrant<V> q = SinCosF64(a);
  V y = TakeQuadrant(q.n + KBits(q.n, 1), q.s + q.s_lo, q.c + q.c_lo);
  return select(a < K(x, kInf), y, K(x, kNaN));
}

template <class V>
V Tan(V x) {
  bool f64 = x.type == DType::kF64;
  Quadrant<V> q = f64 ? SinCosF64(abs(x)) : ReduceF32(cast(DType::kF64, x));
  V odd = (q.n & KBits(q.n, 1)) != KBits(q.n, 0);
  if (!f64) return cast(DType::kF32, select(odd, -q.c, q.s) / select(odd, q.s, q.c));
  // Heads rounded, tails what that left; the quotient is corrected once by its remainder.
  V s = q.s + q.s_lo, c = q.c + q.c_lo;
  V s_lo = (q.s - s) + q.s_lo, c_lo = (q.c - c) + q.c_lo;
  V num = select(odd, -c, s), num_lo = select(odd, -c_lo, s_lo);
  V den = select(odd, s, c), den_lo = select(odd, s_lo, c_lo);
  V inverse = K(x, 1) / den;
  V y = num * inverse;
  V rest = fma(-y, den, num) + fma(-y, den_lo, num_lo);
  y = fma(rest, inverse, y);
  return select(abs(x) < K(x, kInf), XorSign(y, x), K(x, kNaN));
}

}  // namespace frazil::fn
