// What the special functions share: float64 in and out, finite and with finite gradients wherever
// their arguments are of the range that each names. Called by special.cc, which has their bodies,
// and by incomplete.cc and zeta.cc. Invariant: a branch that `where` does not choose is given
// arguments of its own range (Within), since a NaN there would reach the gradient.
#pragma once

#include <initializer_list>

#include "core/functions/both.h"

namespace frazil::ops::special {

struct Series {
  double low, high;
  int n;
  double c[48];
};

// A number to begin with: an immediate, since a body whose arrays are not made by its ops is no
// program (jit/eager/eager_composite.h).
inline Tensor Constant(double v) { return scalar(Scalar::Float(v), DType::kF64); }
// A series by Clenshaw's rule. Beyond its interval it is that of the ends, nearly.
Tensor Sum(const Series& s, const Tensor& x);
// Coefficients from the lowest power on.
Tensor Polynomial(const Tensor& x, absl::Span<const double> c);
inline Tensor Polynomial(const Tensor& x, std::initializer_list<double> c) {
  return Polynomial(x, absl::MakeConstSpan(c.begin(), c.size()));
}
// x where `here`, else a number that the branch is at home with.
inline Tensor Within(const Tensor& here, const Tensor& x, double home) {
  return where(here, x, home);
}

// sin(pi x) from what x is apart from the nearest integer, which is even or odd.
Tensor SinPi(const Tensor& x);
// gamma(x) and log(gamma(x)) for x >= 0.
Tensor GammaPositive(const Tensor& x);
Tensor GammaLnPositive(const Tensor& x);
// log(gamma(1 + x)) for x >= 0, without cancellation near 0.
Tensor GammaLn1p(const Tensor& x);
// log(gamma(x)) - (x - 1/2) log(x) + x - log(2 pi) / 2 for x > 0: Stirling's series where it may.
Tensor StirlingRest(const Tensor& x);

}  // namespace frazil::ops::special
