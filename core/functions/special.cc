// Special functions, in float64 whatever the dtype, so that narrower ones round once. Every branch
// has arguments of its own range (Within), so that what is not chosen is finite and its gradient,
// which is that of the formulas, no NaN. Near the gamma function: its recurrence up to 10 and
// Stirling's series from there (Abramowitz and Stegun 6.1, 6.3); the rest are Chebyshev series of
// smooth factors, on the intervals and in the forms of Moshier's Cephes library, of the project's own
// fitting (tools/fit_special.py).
#include "core/functions/special.h"

#include <cmath>
#include <iterator>

namespace frazil::ops {
namespace {

using namespace special;  // NOLINT(google-build-using-namespace): what this file shares

#define FZ_NUMBER(name, value) constexpr double name = value;
#define FZ_SERIES(name, low, high, ...)           \
  constexpr double name##Terms[] = {__VA_ARGS__}; \
  constexpr Series name = {low, high, static_cast<int>(std::size(name##Terms)), {__VA_ARGS__}};
#define FZ_TABLE(...)
#include "core/functions/special.def"

template <typename Body>
Tensor Special(CompositeId id, const Tensor& x, const Body& body) {
  if (!x.ok()) return x;
  const Tensor f = astype(x, FloatFor(x.dtype()));
  return Composite(id, {&f}, {}, [&] { return astype(body(Wider(f)), f.dtype()); });
}

// -- The gamma function and its logarithm

constexpr int kShift = 10;  // Stirling's series begins here

// s in [10, 11) or x itself beyond, by steps of 1 from x >= 0; `step` sees each x before it goes on.
template <typename Step>
Tensor Shifted(const Tensor& x, const Step& step) {
  Tensor s = x;
  for (int k = 0; k < kShift; ++k) {
    const Tensor low = less(s, double(kShift));
    step(low, s);
    s = where(low, s + 1.0, s);
  }
  return s;
}

}  // namespace

namespace special {

Tensor Sum(const Series& s, const Tensor& x) {
  const double middle = (s.low + s.high) / 2, half = (s.high - s.low) / 2;
  const Tensor twice = clip((x - middle) * (2 / half), -2.001, 2.001);
  Tensor before = Constant(s.c[s.n - 1]);
  Tensor last = twice * s.c[s.n - 1] + s.c[s.n - 2];
  for (int k = s.n - 3; k >= 1; --k) {
    const Tensor next = twice * last - before + s.c[k];
    before = last;
    last = next;
  }
  return twice * 0.5 * last - before + s.c[0];
}

Tensor Polynomial(const Tensor& x, absl::Span<const double> c) {
  const double* p = c.end() - 1;
  Tensor y = x * *p + *(p - 1);
  for (p -= 2; p >= c.begin(); --p) y = y * x + *p;
  return y;
}

// log(gamma(s)) - (s - 1/2) log(s) + s - log(2 pi) / 2 for s >= kShift.
static Tensor Stirling(const Tensor& s) {
  const Tensor inverse = 1.0 / s;
  return inverse * Polynomial(inverse * inverse, {1.0 / 12, -1.0 / 360, 1.0 / 1260, -1.0 / 1680,
                                                  1.0 / 1188, -691.0 / 360360, 1.0 / 156});
}

Tensor SinPi(const Tensor& x) {
  const Tensor whole = round(x.Detach()), apart = x - whole;
  const Tensor odd = not_equal(whole, floor(whole * 0.5) * 2.0);
  return sin(apart * M_PI) * where(odd, -1.0, 1.0);
}

Tensor GammaLnPositive(const Tensor& x) {
  const Tensor near = bitwise_and(greater_equal(x, 0.75), less(x, 3.0));
  const Tensor centre = Within(near, x, 1.5), away = where(near, 12.0, x);
  Tensor product = Constant(1);
  const Tensor s = Shifted(away, [&](const Tensor& low, const Tensor& v) {
    product = where(low, product * v, product);
  });
  const Tensor stirling = (s - 0.5) * (log(s) - 1.0) + (Stirling(s) + 0.41893853320467274);
  return where(near, (centre - 1.0) * (centre - 2.0) * Sum(kGammaLn, centre),
               stirling - log(product));
}

Tensor GammaLn1p(const Tensor& x) {
  const Tensor near = less(x, 2.0), small = Within(near, x, 0.5);
  return where(near, small * (small - 1.0) * Sum(kGammaLn, small + 1.0),
               GammaLnPositive(where(near, 4.0, x + 1.0)));
}

Tensor StirlingRest(const Tensor& x) {
  const Tensor large = greater_equal(x, double(kShift)), small = where(large, 2.0, x);
  return where(large, Stirling(where(large, x, double(kShift))),
               GammaLnPositive(small) - (small - 0.5) * log(small) + (small - 0.9189385332046727));
}

Tensor GammaPositive(const Tensor& x) {
  Tensor product = Constant(1);
  const Tensor s = Shifted(
      x, [&](const Tensor& low, const Tensor& v) { product = where(low, product * v, product); });
  const Tensor bounded = minimum(s, 180.0);
  const Tensor half = pow(bounded, bounded * 0.5 - 0.25);  // twice: the whole may be too large
  const Tensor value =
      half * (exp(-bounded) * half) * exp(Stirling(bounded)) * 2.5066282746310005 / product;
  // Of integers it is one.
  const Tensor whole = bitwise_and(equal(x, floor(x)), less(abs(value), 0x1p52));
  const Tensor exact = value + (round(value.Detach()) - value.Detach());
  return where(isnan(x), x, where(equal(x, INFINITY), x, where(whole, exact, value)));
}

}  // namespace special

namespace {

// -- The error function's family

struct Erfcx {
  Tensor scaled, factor;  // erfc(x) = scaled * factor, factor = exp(-x^2)
};

// For x >= 0.5.
Erfcx ErfcxOf(const Tensor& x) {
  const Tensor t = (x - 2.0) / (x + 2.0);
  // The square is exact for what float32 holds; the rest of the exponent is small.
  const Tensor high = Wider(astype(x.Detach(), DType::kF32));
  return {Sum(kErfcx, t) / (x * 2.0 + 1.0), exp(-(high * high)) * exp(-((x - high) * (x + high)))};
}

Tensor ErfcOf(const Tensor& x) {
  const Tensor size = abs(x), near = less(size, 0.5);
  const Erfcx tail = ErfcxOf(where(near, 1.0, minimum(size, 30.0)));
  Tensor far = tail.scaled * tail.factor;
  far = where(less(x, 0.0), 2.0 - far, far);
  return where(near, 1.0 - erf(Within(near, x, 0.0)), far);
}

// The normal quantile from the distance y to the middle and the smaller tail, of which y has lost
// digits; NaN for a negative tail.
Tensor NormalQuantile(const Tensor& y, const Tensor& tail) {
  const Tensor near = less_equal(abs(y), 0.425);
  const Tensor middle = Within(near, y, 0.1);
  const Tensor r = sqrt(log(where(near, 0.01, tail)) * -2.0), inverse = 1.0 / r;
  const Tensor below = where(less(r, 8.0), Sum(kQuantileTail, inverse), Sum(kQuantileFar, inverse));
  const Tensor far = r - below * inverse;
  return where(near, middle * Sum(kQuantileMiddle, middle * middle),
               where(less(y, 0.0), -far, far));
}

// -- Bessel functions

struct Order {
  double zero1, zero2;  // squares of the first zeros
  const Series &j, &y, &p, &q;
  int order;
};
const Order kZero = {kJ0Zero1, kJ0Zero2, kJ0Small, kY0Small, kP0, kQ0, 0};
const Order kOne = {kJ1Zero1, kJ1Zero2, kJ1Small, kY1Small, kP1, kQ1, 1};

// Up to 5; x >= 0.
Tensor SmallJ(const Order& f, const Tensor& x) {
  const Tensor z = x * x, value = (z - f.zero1) * (z - f.zero2) * Sum(f.j, z);
  return f.order ? value * x : value;
}

// j, or y, from 5 on: amplitude and phase.
Tensor LargeJY(const Order& f, const Tensor& x, bool second) {
  const Tensor w = 5.0 / x, p = Sum(f.p, w * w), q = Sum(f.q, w * w) * w;
  const Tensor s = sin(x), c = cos(x);
  // Of x - pi / 4, or x - 3 pi / 4, times sqrt(2).
  const Tensor cosine = f.order ? s - c : c + s, sine = f.order ? -(s + c) : s - c;
  const Tensor wave = second ? p * sine + q * cosine : p * cosine - q * sine;
  return wave * 0.5641895835477563 / sqrt(x);  // 1 / sqrt(pi)
}

Tensor J(const Order& f, const Tensor& x) {
  const Tensor size = abs(x), near = less_equal(size, 5.0);
  Tensor out =
      where(near, SmallJ(f, Within(near, size, 1.0)), LargeJY(f, where(near, 10.0, size), false));
  out = where(isinf(x), 0.0, out);
  return f.order ? where(less(x, 0.0), -out, out) : out;
}

Tensor Y(const Order& f, const Tensor& x) {
  const Tensor near = less_equal(x, 5.0), small = Within(near, x, 1.0);
  const Tensor j = SmallJ(f, small), rest = Sum(f.y, small * small);
  const Tensor low = f.order ? rest * small + (j * log(small) - 1.0 / small) * M_2_PI
                             : rest + j * log(small) * M_2_PI;
  const Tensor out = where(near, low, LargeJY(f, where(near, 10.0, x), true));
  const Tensor edge = where(equal(x, 0.0), -INFINITY, where(isinf(x), 0.0, out));
  return where(less(x, 0.0), NAN, edge);
}

// exp(-|x|) I(x)
Tensor ScaledI(const Series& small, const Series& large, bool odd, const Tensor& x) {
  const Tensor size = abs(x), near = less_equal(size, 8.0);
  const Tensor low = Within(near, size, 1.0), high = where(near, 10.0, size);
  const Tensor inner = Sum(small, low), outer = Sum(large, 8.0 / high) / sqrt(high);
  if (!odd) return where(near, inner, outer);
  return where(near, inner * Within(near, x, 1.0), where(less(x, 0.0), -outer, outer));
}

Tensor TimesExp(const Tensor& scaled, const Tensor& x) {
  const Tensor half = exp(abs(x) * 0.5);  // twice: the whole may be too large where I is not
  return where(isinf(x), where(signbit(scaled), -INFINITY, INFINITY), half * (scaled * half));
}

}  // namespace

Tensor gammaln(const Tensor& x) {
  return Special(CompositeId::k_gammaln, x, [](const Tensor& v) {
    const Tensor size = abs(v), positive = GammaLnPositive(size), below = less(v, 0.0);
    const Tensor left = Within(below, size, 0.5);
    const Tensor reflected = 1.1447298858494002 - log(left * abs(SinPi(left))) - positive;
    return where(equal(size, INFINITY), INFINITY, where(below, reflected, positive));
  });
}

Tensor gamma(const Tensor& x) {
  return Special(CompositeId::k_gamma, x, [](const Tensor& v) {
    const Tensor below = less(v, 0.0), size = abs(v),
                 positive = GammaPositive(where(below, size, v));
    const Tensor left = Within(below, size, 0.5), sine = SinPi(left);
    const Tensor reflected = -M_PI / (left * sine * positive);
    const Tensor pole = bitwise_or(equal(sine.Detach(), 0.0), isinf(left));
    return where(below, where(pole, NAN, reflected), positive);
  });
}

Tensor digamma(const Tensor& x) {
  return Special(CompositeId::k_digamma, x, [](const Tensor& v) {
    const Tensor below = less(v, 0.0), y = where(below, 1.0 - v, v);
    Tensor sum = where(isnan(v), v, 0.0);
    const Tensor s = Shifted(y, [&](const Tensor& low, const Tensor& t) {
      sum = where(low, sum - 1.0 / where(low, t, 1.0), sum);
    });
    const Tensor inverse = 1.0 / s;
    const Tensor z = inverse * inverse;
    const Tensor series = z * Polynomial(z, {1.0 / 12, -1.0 / 120, 1.0 / 252, -1.0 / 240, 1.0 / 132,
                                             -691.0 / 32760, 1.0 / 12});
    const Tensor positive = sum + (log(s) - inverse * 0.5 - series);
    const Tensor left = Within(below, v, 0.25);
    const Tensor apart = left - round(left.Detach());
    const Tensor pole = equal(apart.Detach(), 0.0);
    const Tensor reflected = positive - M_PI / tan(where(pole, 0.25, apart) * M_PI);
    return where(below, where(pole, NAN, reflected), positive);
  });
}

Tensor erfc(const Tensor& x) { return Special(CompositeId::k_erfc, x, ErfcOf); }

Tensor ndtr(const Tensor& x) {
  return Special(CompositeId::k_ndtr, x,
                 [](const Tensor& v) { return ErfcOf(v * -M_SQRT1_2) * 0.5; });
}

Tensor log_ndtr(const Tensor& x) {
  return Special(CompositeId::k_log_ndtr, x, [](const Tensor& v) {
    const Tensor tail = less(v, -1.0), low = where(tail, v, -2.0);
    const Tensor below = log(ErfcxOf(low * -M_SQRT1_2).scaled * 0.5) - low * low * 0.5;
    const Tensor rest = log1p(ErfcOf(where(tail, 0.0, v) * M_SQRT1_2) * -0.5);
    return where(equal(v, -INFINITY), v, where(tail, below, rest));
  });
}

Tensor ndtri(const Tensor& x) {
  return Special(CompositeId::k_ndtri, x, [](const Tensor& p) {
    return NormalQuantile(p - 0.5, where(less(p, 0.5), p, 1.0 - p));
  });
}

Tensor erfinv(const Tensor& x) {
  return Special(CompositeId::k_erfinv, x, [](const Tensor& v) {
    return NormalQuantile(v * 0.5, (1.0 - abs(v)) * 0.5) * M_SQRT1_2;
  });
}

Tensor erfcinv(const Tensor& x) {
  return Special(CompositeId::k_erfcinv, x, [](const Tensor& v) {
    return NormalQuantile((1.0 - v) * 0.5, where(less(v, 1.0), v, 2.0 - v) * 0.5) * M_SQRT1_2;
  });
}

Tensor j0(const Tensor& x) {
  return Special(CompositeId::k_j0, x, [](const Tensor& v) { return J(kZero, v); });
}
Tensor j1(const Tensor& x) {
  return Special(CompositeId::k_j1, x, [](const Tensor& v) { return J(kOne, v); });
}
Tensor y0(const Tensor& x) {
  return Special(CompositeId::k_y0, x, [](const Tensor& v) { return Y(kZero, v); });
}
Tensor y1(const Tensor& x) {
  return Special(CompositeId::k_y1, x, [](const Tensor& v) { return Y(kOne, v); });
}
Tensor i0e(const Tensor& x) {
  return Special(CompositeId::k_i0e, x,
                 [](const Tensor& v) { return ScaledI(kI0Small, kI0Large, false, v); });
}
Tensor i1e(const Tensor& x) {
  return Special(CompositeId::k_i1e, x,
                 [](const Tensor& v) { return ScaledI(kI1Small, kI1Large, true, v); });
}
Tensor i0(const Tensor& x) {
  return Special(CompositeId::k_i0, x, [](const Tensor& v) {
    return TimesExp(ScaledI(kI0Small, kI0Large, false, v), v);
  });
}
Tensor i1(const Tensor& x) {
  return Special(CompositeId::k_i1, x,
                 [](const Tensor& v) { return TimesExp(ScaledI(kI1Small, kI1Large, true, v), v); });
}

Tensor logit(const Tensor& x) {
  return Special(CompositeId::k_logit, x, [](const Tensor& p) {
    // Near 1/2 the quotient is near 1: its logarithm is that of 1 + (2 p - 1) / (1 - p).
    const Tensor near = less(abs(p - 0.5), 0.2);
    const Tensor safe = where(near, p, 0.5), far = where(near, 0.5, p);
    return where(near, log1p((safe * 2.0 - 1.0) / (1.0 - safe)), log(far / (1.0 - far)));
  });
}

}  // namespace frazil::ops
