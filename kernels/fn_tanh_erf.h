// tanh and erf. Called through kernels/fn.h. Invariant: odd to the last bit, |result| <= 1, exact
// at 0, accurate for every input within the bounds of fn.def. Coefficients: tools/fit_functions.py.
#pragma once

#include "kernels/fn_exp.h"

namespace frazil::fn {

// e^x, or e^(x + *x_lo), without care for overflow: 2^n is a normal number for the arguments used
// here.
template <class V>
V ExpCore(V x, const V* x_lo = nullptr) {
  ExpReduced<V> reduced = ReduceExp(x, x_lo);
  V scale = PowerOfTwo(x, reduced.nbits, 0);
  return fma(scale, ExpM1Reduced(reduced), scale);
}

template <class V>
V Tanh(V x) {
  V a = abs(x), one = K(x, 1), two = K(x, 2);
  if (x.type == DType::kF64) {
    // t / (t + 2) with t = e^(2|x|) - 1; 1 from 22 on.
    V bounded = select(a > K(x, 22), K(x, 22), a);
    V t = ExpM1Core(bounded + bounded);
    // The quotient corrected once by its remainder, in which the rounding of t + 2 is undone.
    V den = t + two;
    V den_lo = t - (den - two);
    V inverse = one / den;
    V y = t * inverse;
    return OrSign(fma(inverse, fma(-y, den_lo, fma(-y, den, t)), y), x);
  }
  // An odd polynomial below 1 (2^-27.9); above, 1 - 2 / (e^(2|x|) + 1), whose errors shrink with
  // the quotient.
  V z = a * a;
  V small = fma(a * z,
                Horner(z, {-0.333332986f, 0.133324042f, -0.0538835935f, 0.0214977656f,
                           -0.00796258915f, 0.00231340714f, -0.00036189385f}),
                a);
  V bounded = select(a > K(x, 10), K(x, 10), a);
  V large = one - two / (ExpCore(bounded + bounded) + one);
  return OrSign(select(a > one, large, small), x);
}

template <class V>
V Erf(V x) {
  // Below 0.9 an odd polynomial, above 1 - e^-u with u(|x|) = -log(1 - erf |x|), which is smooth:
  // nearly x^2.
  V a = abs(x), one = K(x, 1);
  V z = a * a;
  bool f64 = x.type == DType::kF64;
  V top = K(x, f64 ? 6 : 4);  // erf rounds to 1 from here on
  V t = select(a > top, top, a) - one;
  V p, w;
  double u0;
  if (f64) {
    p = Horner(
        z, {0.12837916709551259, -0.37612638903184115, 0.11283791670972584, -0.026866170648407517,
            0.0052239776568592852, -0.00085483287702399968, 0.00012055392905816845,
            -1.4926946317387931e-05, 1.6479460649614469e-06, -1.6497272235270714e-07,
            1.5193028670961133e-08, -1.1044106485794291e-09});  // 2^-56.2
    w = Horner(
        t, {2.6389675142347908, 0.84310725635849904, 0.041561098046640287, -0.010033825436955633,
            0.0019779030259276633, -0.00023732458800153445, -2.6271375597781795e-05,
            2.7145064642305633e-05, -9.5870110517664389e-06, 2.0347249298950863e-06,
            -1.2161635674547922e-07, -1.1096363438441248e-07, 5.8297428576928858e-08,
            -1.7036838550975279e-08, 3.3735238328121263e-09, -4.498037803324343e-10,
            3.6624195861658325e-11, -1.3767201132150373e-12});  // 2^-57.9
    u0 = 1.8496055099332482;
  } else {
    p = Horner(z, {0.128379166f, -0.376126289f, 0.112836242f, -0.0268555805f, 0.00519188726f,
                   -0.000804236974f, 7.95911546e-05f});  // 2^-29.9
    w = Horner(t, {2.63896775f, 0.84310025f, 0.0415651165f, -0.00996255875f, 0.00184267713f,
                   -0.000179210387f});  // 2^-26.9
    u0 = 1.84960556f;
  }
  // -u = minus_u + minus_u_lo with u = u0 + t w
  V minus_u = fma(-t, w, K(x, -u0));
  V minus_u_lo = fma(-t, w, K(x, -u0) - minus_u);
  V y = select(a > K(x, 0.9), one - ExpCore(minus_u, &minus_u_lo), fma(a, p, a));
  return OrSign(y, x);
}

}  // namespace frazil::fn
