// tanh and erf. Called through kernels/fn.h. Invariant: odd to the last bit, |result| <= 1, exact
// at 0, accurate for every input within the bounds of fn.def. Coefficients: tools/fit_functions.py.
#pragma once

#include "kernels/fn_exp.h"
#include "kernels/fn_tables.h"

namespace frazil::fn {

// e^x, or e^(x + *x_lo), without care for overflow: 2^n is a normal number for the arguments used
// here.
template <class V>
V ExpCore(V x, const V* x_lo = nullptr) {
  ExpReduced<V> reduced = ReduceExp(x, x_lo);
  V scale = PowerOfTwo(x, reduced.nbits, 0);
  return fma(scale, ExpM1Reduced(reduced), scale);
}

// table[index mod 16].
template <class V>
V Lookup(int table, V index) {
  if (HasLookup(index)) return lookup(table, index);
  // By halves, from the lowest bit up.
  V entries[kTableSize];
  V like = bitcast(DType::kF32, index);
  for (int i = 0; i < kTableSize; ++i) entries[i] = K(like, double(kTables[table][i]));
  for (int half = kTableSize / 2, bit = 0; half > 0; half /= 2, ++bit) {
    V zero = KBits(index, 0);
    V odd = (index & KBits(index, uint64_t{1} << bit)) != zero;
    for (int i = 0; i < half; ++i) entries[i] = select(odd, entries[2 * i + 1], entries[2 * i]);
  }
  return entries[0];
}

// An odd function of f32 x that is 1 from `top` on, by polynomials around the centres of the
// intervals of |x|. Its tables are those from `first` on, in the order of Pieces in
// tools/fit_functions.py. The interval is found in |x| + 3/4: two bits of the exponent, two of the
// mantissa.
template <class V>
V OddByPieces(V x, double top, Table first, bool apart) {
  V a = abs(x), bound = K(x, top);
  a = select(bound < a, bound, a);  // NaN stays
  V bits = ToBits(a + K(x, 0.75));
  V index = bits >> KBits(bits, 21);
  const auto entry = [&](int table) { return Lookup(first + table, index); };
  V t = a - entry(0);
  V slope = entry(7);
  for (int i = 6; i >= 2; --i) slope = fma(slope, t, entry(i));
  // Near 0 the centre and the value are 0. A slope there that is no f32 number is 1 and the rest:
  // t + slope t with one rounding.
  V value = entry(1);
  if (apart) value = fma(t, entry(8), value);
  return OrSign(fma(slope, t, value), x);
}

template <class V>
V Tanh(V x) {
  if (x.type == DType::kF32) return OddByPieces(x, 9.25, kTanhCentre, false);
  // t / (t + 2) with t = e^(2|x|) - 1; 1 from 22 on.
  V a = abs(x), one = K(x, 1), two = K(x, 2);
  V bounded = select(a > K(x, 22), K(x, 22), a);
  V t = ExpM1Core(bounded + bounded);
  // The quotient corrected once by its remainder, in which the rounding of t + 2 is undone.
  V den = t + two;
  V den_lo = t - (den - two);
  V inverse = one / den;
  V y = t * inverse;
  return OrSign(fma(inverse, fma(-y, den_lo, fma(-y, den, t)), y), x);
}

template <class V>
V Erf(V x) {
  if (x.type == DType::kF32) return OddByPieces(x, 4.25, kErfCentre, true);
  // Below 0.9 an odd polynomial, above 1 - e^-u with u(|x|) = -log(1 - erf |x|), which is smooth:
  // nearly x^2.
  V a = abs(x), one = K(x, 1), top = K(x, 6);  // erf rounds to 1 from there on
  V z = a * a;
  V t = select(a > top, top, a) - one;
  const double u0 = 1.8496055099332482;
  V p = Horner(
      z, {0.12837916709551259, -0.37612638903184115, 0.11283791670972584, -0.026866170648407517,
          0.0052239776568592852, -0.00085483287702399968, 0.00012055392905816845,
          -1.4926946317387931e-05, 1.6479460649614469e-06, -1.6497272235270714e-07,
          1.5193028670961133e-08, -1.1044106485794291e-09});  // 2^-56.2
  V w = Horner(
      t, {2.6389675142347908, 0.84310725635849904, 0.041561098046640287, -0.010033825436955633,
          0.0019779030259276633, -0.00023732458800153445, -2.6271375597781795e-05,
          2.7145064642305633e-05, -9.5870110517664389e-06, 2.0347249298950863e-06,
          -1.2161635674547922e-07, -1.1096363438441248e-07, 5.8297428576928858e-08,
          -1.7036838550975279e-08, 3.3735238328121263e-09, -4.498037803324343e-10,
          3.6624195861658325e-11, -1.3767201132150373e-12});  // 2^-57.9
  // -u = minus_u + minus_u_lo with u = u0 + t w
  V minus_u = fma(-t, w, K(x, -u0));
  V minus_u_lo = fma(-t, w, K(x, -u0) - minus_u);
  V y = select(a > K(x, 0.9), one - ExpCore(minus_u, &minus_u_lo), fma(a, p, a));
  return OrSign(y, x);
}

}  // namespace frazil::fn
