// Hurwitz's and Riemann's zeta functions and the derivatives of digamma, in float64 whatever the
// dtype: ten terms, and what the rest comes to by Euler's and Maclaurin's formula (Abramowitz and
// Stegun 23.2; the form of Moshier's Cephes library), which is differentiable in both arguments and
// goes on below x = 1.
#include <cmath>
#include <iterator>

#include "core/functions/special.h"

namespace frazil::ops {
namespace {

using namespace special;  // NOLINT(google-build-using-namespace): what the special functions share

#define FZ_NUMBER(...)
#define FZ_SERIES(...)
#define FZ_TABLE(name, ...) [[maybe_unused]] constexpr double name[] = {__VA_ARGS__};
#include "core/functions/special.def"

constexpr int kTerms = 10;

// q > 0, x != 1
Tensor ZetaPositive(const Tensor& x, const Tensor& q) {
  Tensor sum = pow(q, -x);
  for (int k = 1; k < kTerms; ++k) sum = sum + pow(q + double(k), -x);
  // Of a large x the rest is nothing, and its parts are no numbers.
  const Tensor y = minimum(x, 2000.0), w = q + double(kTerms), inverse = 1.0 / w;
  Tensor factor = y * inverse, rest = factor * kEuler[0];
  for (size_t j = 1; j < std::size(kEuler); ++j) {
    const double k = 2.0 * double(j);
    factor = factor * ((y + (k - 1)) * inverse) * ((y + k) * inverse);
    rest = rest + factor * kEuler[j];
  }
  return sum + (pow(w, 1.0 - x) / (x - 1.0) + pow(w, -x) * (rest + 0.5));
}

// x > 1. Below 0 the terms of negative numbers are those of positive ones but for the sign of an
// odd power: from q on they are zeta(x, q - floor(q)) and a difference.
Tensor Hurwitz(const Tensor& x, const Tensor& q) {
  const Tensor good = greater(x, 1.0), y = Within(good, x, 2.0);
  const Tensor below = less(q, 0.0), down = floor(q.Detach());
  const Tensor whole = bitwise_or(equal(q, 0.0), bitwise_and(below, equal(q, down)));
  const Tensor ended = bitwise_or(isinf(q), bitwise_or(whole, isnan(q)));
  const Tensor safe = where(ended, 0.5, q), fraction = safe - where(ended, 0.0, down);
  const Tensor first = ZetaPositive(y, where(below, fraction, safe));
  const Tensor left = where(below, 1.0 - fraction, 0.5), right = where(below, 1.0 - safe, 1.5);
  const Tensor odd = not_equal(floor(y * 0.5) * 2.0, y);
  const Tensor sign = where(odd, -1.0, 1.0);
  // In this order: around -1/2 the first two cancel.
  const Tensor all = first + ZetaPositive(y, left) * sign - ZetaPositive(y, right) * sign;
  const Tensor none = bitwise_and(below, not_equal(y, floor(y)));
  const Tensor value = where(below, where(none, NAN, all), first);
  const Tensor edge = where(isnan(q), q, where(equal(q, INFINITY), 0.0, INFINITY));
  const Tensor out = where(ended, edge, value);
  return where(good, out, where(bitwise_and(equal(x, 1.0), equal(q, q)), INFINITY, NAN));
}

Tensor Riemann(const Tensor& x) {
  const Tensor one = equal(x, 1.0), below = less(x, 0.0);
  const Tensor y = where(below, 1.0 - x, where(one, 2.0, x));
  const Tensor right = ZetaPositive(y, Constant(1));
  const Tensor left = Within(below, x, -0.5), z = 1.0 - left;
  // Kept finite: at even integers the sine is 0.
  const Tensor size =
      exp(minimum(GammaLnPositive(z) - z * 1.8378770664093453, 709.0));  // log(2 pi)
  const Tensor reflected = SinPi(left * 0.5) * size * 2.0 * right;
  const Tensor open = where(one, INFINITY, where(equal(x, -INFINITY), NAN, right));
  return where(bitwise_and(below, isfinite(x)), reflected, open);
}

}  // namespace

Tensor zeta(const Arg& x, const std::optional<Arg>& q) {
  if (q) {
    return OfBoth(CompositeId::k_zeta, x, *q, [](const Tensor& s, const Tensor& v) {
      return astype(Hurwitz(Wider(s), Wider(v)), s.dtype());
    });
  }
  if (x.tensor() && !x.tensor()->ok()) return *x.tensor();
  const Tensor f = As(x, FloatOf({&x}), true);
  if (IsComplex(f.dtype())) {
    return TypeError("[zeta] is not defined for complex numbers: ", Describe(f), ".");
  }
  return Composite(CompositeId::k_zeta, {&f}, {},
                   [&] { return astype(Riemann(Wider(f)), f.dtype()); });
}

Tensor polygamma(const Arg& n, const Arg& x) {
  return OfBoth(CompositeId::k_polygamma, n, x, [](const Tensor& order, const Tensor& v) {
    const Tensor m = Wider(order.Detach()), y = Wider(v);
    const Tensor known = bitwise_and(greater_equal(m, 0.0), equal(m, floor(m)));
    const Tensor first = equal(m, 0.0), k = where(bitwise_or(first, logical_not(known)), 1.0, m);
    const Tensor even = equal(floor(k * 0.5) * 2.0, k);
    const Tensor high = GammaPositive(k + 1.0) * Hurwitz(k + 1.0, y) * where(even, -1.0, 1.0);
    return astype(where(known, where(first, digamma(y), high), NAN), order.dtype());
  });
}

}  // namespace frazil::ops
