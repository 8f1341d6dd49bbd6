// The incomplete gamma and beta functions, in float64 whatever the dtype. Both are integrals of a
// density with one mode up to x. With s as the distance from x in log(t), or in log(t / (1 - t)),
// the density on the far side of the mode is its value at x times exp(-phi(s)), where phi is convex
// and rises from phi(0) = 0; what lies beyond S, where phi is 38, is less than one part of 10^16.
// Gauss and Legendre's rule on [0, S] gives all digits with a fixed number of points, whatever the
// parameters are, and may be differentiated in all of them. The value at x is the saddle-point form of
// Loader (Fast and accurate computation of binomial probabilities, 2000), of which log(1 + m) - m
// is the part that would cancel; below x = 1 the gamma functions are power series (DiDonato and
// Morris, ACM TOMS 12, 1986). The rest of 1 is taken only where it is no small number.
#include <cmath>

#include "core/functions/special.h"

namespace frazil::ops {
namespace {

using namespace special;  // NOLINT(google-build-using-namespace): what the special functions share

#define FZ_NUMBER(...)
#define FZ_SERIES(...)
#define FZ_TABLE(name, ...) [[maybe_unused]] constexpr double name[] = {__VA_ARGS__};
#include "core/functions/special.def"

constexpr double kCut = 38;  // exp(-38) is 2^-55
constexpr double kHalfLog2Pi = 0.9189385332046727;
constexpr double kRoot2Pi = 2.5066282746310005;

// The integral of f from 0 to `end`, which is a constant to the gradient.
template <size_t n, typename F>
Tensor Integral(const double (&points)[n], const double (&weights)[n], const Tensor& end,
                const F& f) {
  Tensor sum = f(end * points[0]) * weights[0];
  for (size_t i = 1; i < n; ++i) sum = sum + f(end * points[i]) * weights[i];
  return sum * end;
}

// Where slope s + second (exp(-s) - 1 + s) is kCut or more, both being positive: exp(-s) - 1 + s is
// at least s^2 / (2 + s).
Tensor EndOf(const Tensor& slope, const Tensor& second) {
  const Tensor square = slope + second, linear = slope * 2.0 - kCut;
  const Tensor root = sqrt(linear * linear + square * (8 * kCut)), up = greater(linear, 0.0);
  return where(up, (4 * kCut) / where(up, linear + root, 1.0), (root - linear) / (square * 2.0));
}

// log(1 + m) - m; `sum` is 1 + m where m is not small.
Tensor LogLessLinear(const Tensor& m, const Tensor& sum) {
  const Tensor near = less(abs(m), 0.5), small = Within(near, m, 0.25);
  const Tensor r = small / (small + 2.0), square = r * r;  // log(1 + m) = 2 atanh(r)
  double terms[17];
  for (int k = 0; k < 17; ++k) terms[k] = 2.0 / (2 * k + 3);
  const Tensor series = r * (square * Polynomial(square, terms) - small);
  return where(near, series, log(Within(logical_not(near), sum, 1.0)) - m);
}

// exp(s) - 1 - s
Tensor ExpLessLinear(const Tensor& s) {
  const Tensor near = less(abs(s), 0.5), small = Within(near, s, 0.25);
  double terms[13], factorial = 2;
  for (int k = 0; k < 13; factorial *= k + 3, ++k) terms[k] = 1 / factorial;
  return where(near, small * small * Polynomial(small, terms),
               expm1(Within(logical_not(near), s, 1.0)) - s);
}

// 1 - power, which is exp(exponent); of small powers so that the gradient is as exact.
Tensor RestOf(const Tensor& exponent, const Tensor& power) {
  const Tensor near = greater(exponent, -0.5);
  return where(near, -expm1(Within(near, exponent, -0.25)), 1.0 - power);
}

struct Parts {
  Tensor lower, upper;  // which sum to 1
};

// -- The gamma function

// x <= 1
Parts GammaSeries(const Tensor& a, const Tensor& x) {
  Tensor term = -x, sum = term / (a + 1.0);
  for (int n = 2; n < 20; ++n) {
    term = term * x * (-1.0 / n);
    sum = sum + term / (a + double(n));
  }
  sum = sum * a;
  const Tensor exponent = a * log(x) - GammaLn1p(a), first = exp(exponent);
  return {first * (sum + 1.0), RestOf(exponent, first) - first * sum};
}

// x^a exp(-x) / gamma(a)
Tensor GammaDensity(const Tensor& a, const Tensor& x) {
  const Tensor large = greater_equal(a, 10.0);
  const Tensor b = where(large, a, 10.0), apart = LogLessLinear((x - b) / b, x / b);
  const Tensor saddle = sqrt(b) * exp(b * apart - StirlingRest(b)) / kRoot2Pi;
  const Tensor c = where(large, 2.0, a), bounded = minimum(x, 1000.0);
  const Tensor half = exp(bounded * -0.5);  // twice: the power may be large where it is small
  return where(large, saddle, pow(bounded, c) * half / GammaPositive(c + 1.0) * half * c);
}

// x > 1
Parts GammaIntegral(const Tensor& a, const Tensor& x) {
  const Tensor below = less_equal(x, a), side = where(below, -1.0, 1.0);
  const Tensor slope = where(below, a - x, x - a);
  // exp(s) - 1 - s is at least s^2 / 2 and, from 1.26 on, (exp(s) - 1) / 2.
  const Tensor k = slope.Detach(), v = x.Detach();
  const Tensor right = minimum((2 * kCut) / (k + sqrt(k * k + v * (2 * kCut))),
                               maximum(log1p((2 * kCut) / v), 1.26));
  const Tensor end = where(below, EndOf(k, v), right);
  const Tensor part =
      GammaDensity(a, x) * Integral(kPoints40, kWeights40, end, [&](const Tensor& s) {
        return exp(-(slope * s + x * ExpLessLinear(s * side)));
      });
  return {where(below, part, 1.0 - part), where(below, 1.0 - part, part)};
}

Parts Gammas(const Tensor& a, const Tensor& x) {
  const Tensor known = bitwise_and(bitwise_and(greater(a, 0.0), isfinite(a)),
                                   bitwise_and(greater(x, 0.0), isfinite(x)));
  const Tensor b = Within(known, a, 1.0), v = Within(known, x, 2.0), near = less_equal(v, 1.0);
  const Parts small = GammaSeries(b, Within(near, v, 0.5));
  const Parts large = GammaIntegral(b, where(near, 2.0, v));
  const Tensor wrong = bitwise_or(bitwise_or(less(a, 0.0), less(x, 0.0)), isnan(a + x));
  const Tensor open =
      bitwise_or(bitwise_and(equal(a, 0.0), equal(x, 0.0)), bitwise_and(isinf(a), isinf(x)));
  const Tensor full = bitwise_or(equal(a, 0.0), isinf(x));
  const Tensor edge = where(bitwise_or(wrong, open), NAN, where(full, 1.0, 0.0));
  return {where(known, where(near, small.lower, large.lower), edge),
          where(known, where(near, small.upper, large.upper), 1.0 - edge)};
}

// -- The beta function

// x^a y^b / beta(a, b), x + y = 1; apart = a y - b x
Tensor BetaDensity(const Tensor& a, const Tensor& b, const Tensor& x, const Tensor& y,
                   const Tensor& apart) {
  const Tensor n = a + b;
  const Tensor p = LogLessLinear(-(apart / a), x * (n / a));
  const Tensor q = LogLessLinear(apart / b, y * (n / b));
  const Tensor rest = StirlingRest(n) - StirlingRest(a) - StirlingRest(b);
  return sqrt(a / n * b) * exp(a * p + b * q + rest) / kRoot2Pi;
}

// log(gamma(x)) - log(gamma(x + step)) for a step below 1.
Tensor GammaLnStep(const Tensor& x, const Tensor& step) {
  const Tensor sum = x + step;
  return step * (1.0 - log(sum)) - (x - 0.5) * log1p(step / x) +
         (StirlingRest(x) - StirlingRest(sum));
}

// The integral of exp(-phi) for x up to the mode: a y >= b x, and a >= 1, so that phi is steep in
// the end.
Tensor BetaIntegral(const Tensor& a, const Tensor& b, const Tensor& x, const Tensor& y) {
  const Tensor n = a + b;
  const auto phi = [](const Tensor& s, const Tensor& slope, const Tensor& sum, const Tensor& v) {
    return slope * s + sum * log1p(v * expm1(-s));
  };
  // phi is at least a s + n log(y), and its second derivative at least n x y exp(-s). From there
  // Newton's method comes nearer, and stays above.
  const Tensor slope = a.Detach(), sum = n.Detach(), v = x.Detach(), w = y.Detach();
  Tensor end = minimum((kCut - sum * log(w)) / slope,
                       EndOf(maximum(slope * w - (sum - slope) * v, 0.0), sum * v * w));
  for (int i = 0; i < 3; ++i) {
    const Tensor low = v * exp(-end);
    end = end - (phi(end, slope, sum, v) - kCut) / (slope - sum * low / (w + low));
  }
  return Integral(kPoints64, kWeights64, end,
                  [&](const Tensor& s) { return exp(-phi(s, a, n, x)); });
}

Tensor BetaLower(const Tensor& a, const Tensor& b, const Tensor& x) {
  const Tensor inside = bitwise_and(greater(x, 0.0), less(x, 1.0));
  const Tensor known = bitwise_and(inside, bitwise_and(bitwise_and(greater(a, 0.0), isfinite(a)),
                                                       bitwise_and(greater(b, 0.0), isfinite(b))));
  const Tensor a1 = Within(known, a, 1.0), b1 = Within(known, b, 1.0), x1 = Within(known, x, 0.5);
  const Tensor y1 = 1.0 - x1, beyond = greater(b1 * x1, a1 * y1);
  const Tensor p = where(beyond, b1, a1), q = where(beyond, a1, b1);
  const Tensor u = where(beyond, y1, x1), w = where(beyond, x1, y1);
  const Tensor n = p + q, small = less(p, 1.0);
  const Tensor integral = BetaIntegral(where(small, p + 1.0, p), q, u, w);
  // Of small p by I(p) = u^p w^q / (p beta(p, q)) + I(p + 1), whose rest of 1 may be small.
  const Tensor tiny = Within(small, p, 0.5);
  const Tensor exponent = tiny * log(u) + q * log1p(-u) - GammaLn1p(tiny) - GammaLnStep(q, tiny);
  const Tensor first = exp(exponent), more = first * (u * (tiny + q) * integral);
  const Tensor part = where(small, first + more, BetaDensity(p, q, u, w, p * w - q * u) * integral);
  const Tensor left = where(small, RestOf(exponent, first) - more, 1.0 - part);
  const Tensor wrong =
      bitwise_or(bitwise_or(bitwise_or(less(a, 0.0), less(b, 0.0)), isnan(a + b + x)),
                 bitwise_or(less(x, 0.0), greater(x, 1.0)));
  const Tensor open =
      bitwise_or(bitwise_and(equal(a, 0.0), equal(b, 0.0)), bitwise_and(isinf(a), isinf(b)));
  const Tensor ahead = bitwise_or(equal(a, 0.0), isinf(b));
  const Tensor between = where(ahead, 1.0, 0.0);
  const Tensor edge = where(bitwise_or(wrong, open), NAN,
                            where(equal(x, 0.0), 0.0, where(equal(x, 1.0), 1.0, between)));
  return where(known, where(beyond, left, part), edge);
}

// log(beta(a, b)) for a, b > 0 whatever their sizes: every term but the rests is negative.
Tensor BetaLnPositive(const Tensor& a, const Tensor& b) {
  const Tensor low = minimum(a, b), high = maximum(a, b);
  const Tensor rest = StirlingRest(low) + StirlingRest(high) - StirlingRest(low + high);
  return rest + kHalfLog2Pi - log(low) * 0.5 - low * log1p(high / low) -
         (high - 0.5) * log1p(low / high);
}

// The sign of gamma(x).
Tensor GammaSign(const Tensor& x) {
  const Tensor down = floor(x.Detach());
  const Tensor odd = not_equal(down, floor(down * 0.5) * 2.0);
  return where(bitwise_and(less(x, 0.0), odd), -1.0, 1.0);
}

}  // namespace

Tensor gammainc(const Arg& a, const Arg& x) {
  return OfBoth(CompositeId::k_gammainc, a, x, [](const Tensor& b, const Tensor& v) {
    return astype(Gammas(Wider(b), Wider(v)).lower, b.dtype());
  });
}

Tensor gammaincc(const Arg& a, const Arg& x) {
  return OfBoth(CompositeId::k_gammaincc, a, x, [](const Tensor& b, const Tensor& v) {
    return astype(Gammas(Wider(b), Wider(v)).upper, b.dtype());
  });
}

Tensor betainc(const Arg& a, const Arg& b, const Arg& x) {
  for (const Arg* one : {&a, &b, &x}) {
    if (one->tensor() && !one->tensor()->ok()) return *one->tensor();
  }
  const DType dtype = FloatOf({&a, &b, &x});
  const Tensor p = As(a, dtype, !b.tensor() && !x.tensor()), q = As(b, dtype, false),
               v = As(x, dtype, false);
  if (IsComplex(dtype)) {
    return TypeError("[betainc] is not defined for complex numbers: ", Describe(p), ", ",
                     Describe(q), " and ", Describe(v), ".");
  }
  return Composite(CompositeId::k_betainc, {&p, &q, &v}, {},
                   [&] { return astype(BetaLower(Wider(p), Wider(q), Wider(v)), dtype); });
}

// Of negative numbers by the gamma functions, and where a is an integer by beta(1 - a - b, b).
Tensor beta(const Arg& a, const Arg& b) {
  return OfBoth(CompositeId::k_beta, a, b, [](const Tensor& first, const Tensor& second) {
    const Tensor x = Wider(first), y = Wider(second);
    const auto pole = [](const Tensor& v) { return bitwise_and(less(v, 0.0), equal(v, floor(v))); };
    // The one at a pole first; turned over there.
    const Tensor swap = pole(y), p = where(swap, y, x), q = where(swap, x, y);
    const Tensor turned = bitwise_and(pole(p), bitwise_and(equal(q, floor(q)), less(p + q, 1.0)));
    const Tensor parity = where(equal(floor(q * 0.5) * 2.0, q), 1.0, -1.0);
    const Tensor u = where(turned, 1.0 - p - q, p);
    const Tensor plain = bitwise_and(greater(u, 0.0), greater(q, 0.0));
    const Tensor near = bitwise_and(plain, less(u + q, 150.0));
    const Tensor un = Within(near, u, 1.0), qn = Within(near, q, 1.0);
    const Tensor direct = GammaPositive(un) / GammaPositive(un + qn) * GammaPositive(qn);
    const Tensor sign = GammaSign(u) * GammaSign(q) * GammaSign(u + q);
    const Tensor far = exp(betaln(where(near, 2.0, u), where(near, 2.0, q))) * sign;
    return astype(where(near, direct, far) * where(turned, parity, 1.0), first.dtype());
  });
}

Tensor betaln(const Arg& a, const Arg& b) {
  return OfBoth(CompositeId::k_betaln, a, b, [](const Tensor& first, const Tensor& second) {
    const Tensor x = Wider(first), y = Wider(second);
    const Tensor plain = bitwise_and(bitwise_and(greater(x, 0.0), greater(y, 0.0)),
                                     bitwise_and(isfinite(x), isfinite(y)));
    const Tensor positive = BetaLnPositive(Within(plain, x, 1.0), Within(plain, y, 1.0));
    const Tensor v = where(plain, 1.5, x), w = where(plain, 1.5, y);
    const Tensor low = minimum(v, w), endless = bitwise_and(isinf(v + w), greater(low, 0.0));
    const Tensor ends = where(equal(low, 0.0), INFINITY, gammaln(v) + gammaln(w) - gammaln(v + w));
    const Tensor other = where(endless, -INFINITY, ends);
    return astype(where(plain, positive, other), first.dtype());
  });
}

}  // namespace frazil::ops
