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
  // An odd polynomial below 1 (2^-27.8); above, 1 - 2 / (e^(2|x|) + 1), whose errors shrink with
  // the quotient.
  V z = a * a;
  V small = fma(a * z,
                Horner(z, {-0.333332986f, 0.133324042f, -0.0538835637f, 0.02149757f,
                           -0.00796213001f, 0.00231294683f, -0.000361726561f}),
                a);
  V bounded = select(a > K(x, 10), K(x, 10), a);
  V large = one - two / (ExpCore(bounded + bounded) + one);
  return OrSign(select(a > one, large, small), x);
}

template <class V>
V Erf(V x) {
  // Below 1 an odd polynomial, above 1 - e^-u with u(|x|) = -log(1 - erf |x|), which is smooth:
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
        z, {0.12837916709551259, -0.37612638903184109, 0.11283791670972065, -0.026866170648281444,
            0.0052239776556900937, -0.00085483287356101555, 0.00012055394341916417,
            -1.492709510141456e-05, 1.6484733457689549e-06, -1.6598365029631763e-07,
            1.6303940329205856e-08, -1.7633519043296067e-09, 1.6387345140844812e-10});  // 2^-56.2
    w = Horner(
        t, {2.6389675142347939, 0.84310725635839023, 0.041561098047539116, -0.010033825434342695,
            0.0019779029448028277, -0.00023732402874313569, -2.6273503062851955e-05,
            2.7150304603479032e-05, -9.5959495970456637e-06, 2.0456665635960627e-06,
            -1.3141068481077499e-07, -1.0450457185881651e-07, 5.5167744115802658e-08,
            -1.5937990921248628e-08, 3.1020071303466986e-09, -4.0511270229602585e-10,
            3.2233224572642037e-11, -1.1822456121157054e-12});  // 2^-58.9
    u0 = 1.8496055099332482;
  } else {
    p = Horner(z, {0.128379166f, -0.376126289f, 0.112836182f, -0.026855126f, 0.00519073335f,
                   -0.000803075032f, 7.92030332e-05f});
    w = Horner(t, {2.63896275f, 0.843172371f, 0.041262202f, -0.00945262611f, 0.00148095097f,
                   -9.00427112e-05f});  // 2^-26.9
    u0 = 1.84960556f;
  }
  // -u = minus_u + minus_u_lo with u = u0 + t w
  V minus_u = fma(-t, w, K(x, -u0));
  V minus_u_lo = fma(-t, w, K(x, -u0) - minus_u);
  V y = select(a > one, one - ExpCore(minus_u, &minus_u_lo), fma(a, p, a));
  return OrSign(y, x);
}

}  // namespace frazil::fn
