// What the mathematical functions of kernels/fn_*.h share: polynomials, powers of two, sign bits.
// Called by those headers only. Invariant: everything is written over a value type V found by
// argument-dependent lookup (kir::V, the tests' scalar), with IEEE operations and explicit fma
// alone, so every executor produces the same bits.
//
// A V needs: V::type (a DType), + - * / unary- < <= > >= == != & | ^ ~ << >>, and the free
// functions K, KBits, fma, select, cast, bitcast, abs, sqrt, floor, ceil, trunc, rint, min, max,
// rem, mulhi with the meaning of jit/kir/ops.def; HasScale(v) and HasLookup(v), which say whether
// scale(v, exponent) and lookup(table, index) are to be used.
#pragma once

#include <bit>
#include <cstdint>
#include <initializer_list>
#include <limits>

#include "core/dtype.h"

namespace frazil::fn {

inline constexpr double kInf = std::numeric_limits<double>::infinity();
inline constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

// c[0] + c[1] x + c[2] x^2 + ... by Horner's rule with fma.
template <class V>
V Horner(V x, std::initializer_list<double> c) {
  const double* p = c.end() - 1;
  V y = K(x, *p);
  while (p != c.begin()) y = fma(y, x, K(x, *--p));
  return y;
}

// ln 2 as the nearest number of the type plus the nearest to what is left.
struct Ln2 {
  double hi, lo;
};
inline constexpr Ln2 kLn2F32 = {0x1.62e43p-1, -0x1.05c61p-29};
inline constexpr Ln2 kLn2F64 = {0x1.62e42fefa39efp-1, 0x1.abc9e3b39803fp-56};
inline constexpr double kLog2e = 0x1.71547652b82fep+0;  // K rounds it to the type

// The layout of a float type, as what the code below needs of it.
struct Layout {
  DType bits;     // the unsigned type of the same size
  int mantissa;   // stored mantissa bits
  double magic;   // 1.5 * 2^mantissa: x + magic - magic rounds x to an integer, its low bits are
                  // that integer
  uint64_t one;   // the bits of 1.0
  uint64_t sign;  // the sign bit
};
inline constexpr Layout kLayoutF32 = {DType::kU32, 23, 0x1.8p23, 0x3F800000, 0x80000000};
inline constexpr Layout kLayoutF64 = {DType::kU64, 52, 0x1.8p52, 0x3FF0000000000000,
                                      0x8000000000000000};

template <class V>
const Layout& LayoutOf(V x) {
  return x.type == DType::kF64 ? kLayoutF64 : kLayoutF32;
}

template <class V>
V ToBits(V x) {
  return bitcast(LayoutOf(x).bits, x);
}

// |magnitude| with the sign of x put over it: for odd functions evaluated at |x|, or results whose
// sign is x's.
template <class V>
V OrSign(V magnitude, V x) {
  V bits = ToBits(x);
  return bitcast(x.type, ToBits(magnitude) | (bits & KBits(bits, LayoutOf(x).sign)));
}

// y with its sign flipped where x is negative (-0 included).
template <class V>
V XorSign(V y, V x) {
  V bits = ToBits(x);
  return bitcast(x.type, ToBits(y) ^ (bits & KBits(bits, LayoutOf(x).sign)));
}

}  // namespace frazil::fn
