// pow. Called through kernels/fn.h. Invariant: C99 annex F's special values, and for every other
// pair of arguments the bounds of fn.def, subnormal results and the edge of overflow included.
//
// Method: e^(y log|x|), the sign from y's parity. f32 computes in f64, with polynomials as long as
// f32 needs; f64 carries the logarithm as a sum of two doubles (error about 2^-64), because y
// multiplies it by up to 2^10 / log x. Dekker's and Knuth's error-free sums and, with fma,
// products. Coefficients: tools/fit_functions.py.
#pragma once

#include "kernels/fn_exp.h"
#include "kernels/fn_log.h"

namespace frazil::fn {

// An unevaluated sum.
template <class V>
struct Two {
  V hi, lo;
};

// a + b exactly, for |a| >= |b| or a == 0.
template <class V>
Two<V> FastTwoSum(V a, V b) {
  V s = a + b;
  return {s, (a - s) + b};
}

// log(x), x positive and finite, f64, with enough for a f64 power.
template <class V>
Two<V> LogTwo(V x) {
  LogSplit<V> split = SplitForLog(x, true);
  V f = split.f;
  // s + s_lo = f / (2 + f)
  Two<V> d = FastTwoSum(K(x, 2), f);
  V inverse = K(x, 1) / d.hi;
  V s = f * inverse;
  V s_lo = inverse * fma(-s, d.lo, fma(-s, d.hi, f));
  // atanh(s) = s (1 + z/3 + z^2 q(z)), z + z_lo = s^2
  V z = s * s;
  V z_lo = fma(s, s, -z) + (s + s) * s_lo;
  V q = z * z *
        Horner(z,
               {0.20000000000001128, 0.14285714285049805, 0.11111111259958016, 0.090908921838515191,
                0.076933786534666496, 0.066284091210153648, 0.065981623899838804});  // 2^-66.3
  V third = K(x, 0x1.5555555555555p-2);
  V w = z * third;
  V w_lo = fma(z, third, -w) + fma(z, K(x, 0x1.5555555555555p-56), z_lo * third);
  Two<V> b = FastTwoSum(w, q);
  b.lo = b.lo + w_lo;
  V p = s * b.hi;
  V p_lo = fma(s, b.hi, -p) + fma(s, b.lo, s_lo * b.hi);
  Two<V> half = FastTwoSum(s, p);
  half.lo = half.lo + (p_lo + s_lo);
  // + e ln 2, whose high part has 40 bits, so that the product is exact
  Two<V> sum = FastTwoSum(split.e * K(x, 0x1.62e42fefa2p-1), half.hi + half.hi);
  return FastTwoSum(sum.hi, sum.lo + fma(split.e, K(x, 0x1.9ef35793c7673p-41), half.lo + half.lo));
}

// log(x), x positive and finite, f64, with 2^-42: enough for a f32 power.
template <class V>
V LogShort(V x) {
  LogSplit<V> split = SplitForLog(x, false);
  V s = split.f / (split.f + K(x, 2));
  V z = s * s;
  V p = Horner(z, {2, 0.66666666675802955, 0.39999995621166001, 0.28572109219656278,
                   0.22176186596336536, 0.19584175450975588});  // 2^-43.9
  return fma(split.e, K(x, kLn2F64.hi), s * p);
}

// e^p in f64 with 2^-34: enough to be rounded to f32. |p| < 700.
template <class V>
V ExpShort(V p) {
  V magic = K(p, kLayoutF64.magic);
  V t = fma(p, K(p, kLog2e), magic);
  V r = fma(t - magic, K(p, -kLn2F64.hi), p);
  V tail = Horner(r, {0.50000000783055243, 0.16666666859862089, 0.041666268566488258,
                      0.008333264459222927, 0.0013946172878594528, 0.00019918361013215356});
  return (fma(r * r, tail, r) + K(p, 1)) * PowerOfTwo(p, ToBits(t), 0);
}

// e^(p + p_lo).
template <class V>
V ExpOfTwo(Two<V> p) {
  ExpReduced<V> reduced = ReduceExp(p.hi, &p.lo);
  return ScaleByPowerOfTwo(ExpM1Reduced(reduced) + K(p.hi, 1), reduced);
}

// |x|^y for f64 arguments; x finite and not 0 unless replaced by log_x = +-inf. f32: the result is
// rounded to f32 next.
template <class V>
V PowCore(V a, V y, bool f32) {
  V zero = K(a, 0), inf = K(a, kInf);
  Two<V> log{zero, zero};
  if (f32) {
    log.hi = LogShort(a);
  } else {
    log = LogTwo(a);
  }
  log.hi = select(a == zero, -inf, select(a == inf, inf, log.hi));
  V p = y * log.hi;
  if (f32) return ExpShort(Clamp(p, -200, 200));
  // Where p is far out (or infinite, which would make the tail NaN) the result is 0 or infinity
  // whatever the tail.
  V p_lo = select(abs(p) > K(a, 800), zero, fma(y, log.hi, -p) + y * log.lo);
  return ExpOfTwo(Two<V>{Clamp(p, -800, 800), p_lo});
}

template <class V>
V Pow(V x, V y) {
  bool f32 = x.type == DType::kF32;
  V wide_x = cast(DType::kF64, x), wide_y = cast(DType::kF64, y);
  V zero = K(wide_x, 0), one = K(wide_x, 1), inf = K(wide_x, kInf);
  V a = abs(wide_x);
  V result = PowCore(a, wide_y, f32);
  // From 2^53 on every number is an even integer; so is an infinite y.
  V half = wide_y * K(wide_y, 0.5);
  V integer = trunc(wide_y) == wide_y;
  V odd = integer & (trunc(half) != half);
  V bits = ToBits(wide_x);
  V sign = select(odd, bits & KBits(bits, kLayoutF64.sign), KBits(bits, 0));
  result = bitcast(DType::kF64, ToBits(result) | sign);
  // A negative finite base needs an integer exponent; a NaN base gives NaN.
  V fails = ((wide_x < zero) & ~integer & (a != inf)) | (wide_x != wide_x);
  result = select(fails, K(wide_x, kNaN), result);
  V is_one = (wide_x == one) | (wide_y == zero) | ((a == one) & (abs(wide_y) == inf));
  return cast(x.type, select(is_one, one, result));
}

}  // namespace frazil::fn
