// Poisson and binomial counts: by inversion where the mean is below 10, else by transformed rejection
// (Hoermann 1993, PTRS and BTRS).
#include <cmath>
#include <limits>

#include "core/functions/draw.h"

namespace frazil::ops {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr int64_t kTries = 16;  // of which 0.8 are good
constexpr int kSteps = 48;      // of a count whose mean is below 10

// How many steps the distribution function stays at or below u: `mass` of 0, then ratios.
template <typename Ratio>
Tensor Below(const Tensor& u, Tensor mass, const Ratio& ratio) {
  if (!u.ok()) return u;
  Tensor total = mass, count = u * 0.0;
  for (int k = 0; k < kSteps; ++k) {
    count = count + astype(greater_equal(u, total), u.dtype());
    mass = mass * ratio(static_cast<double>(k));
    total = total + mass;
  }
  return count;
}

// Candidates under the hat of transformed rejection: counts, and what decides.
struct Hat {
  Hat(Draw* draw, const Tensor& a, const Tensor& b, const Tensor& centre) {
    const Tensor u = draw->Uniform(kTries) - 0.5;
    v = 1.0 - draw->Uniform(kTries);
    us = maximum(0.5 - abs(u), 0x1p-54);
    k = floor((2.0 * a / us + b) * u + centre);
  }
  // The first candidate under the density, or -1.
  Tensor Taken(const Tensor& quick, const Tensor& scale, const Tensor& exact,
               const Tensor& inside) const {
    const Tensor squeezed = And(greater_equal(us, 0.07), less_equal(v, quick));
    const Tensor wrong = Or(bitwise_invert(inside), And(less(us, 0.013), greater(v, us)));
    const Tensor under = less_equal(log(v * scale), exact);
    return FirstGood(Or(squeezed, And(bitwise_invert(wrong), under)), k, -1.0);
  }
  Tensor k, us, v;
};

// By the method for means below 10, or else by the other one; both draw the same numbers whatever the
// parameters are, unless the mean is one number.
template <typename Few, typename Many>
Tensor ByMean(std::optional<double> number, const Tensor& mean, const Few& few, const Many& many) {
  if (number) return *number < 10 ? few() : many();
  const Tensor small = few(), large = many();
  return where(less(mean, 10), small, large);
}

}  // namespace

Tensor Draw::Poisson(const Tensor& given, std::optional<double> number) {
  const Tensor mean = given.Detach();
  const Tensor out = ByMean(
      number, mean, [&] { return FewOf(mean); }, [&] { return ManyOf(mean); });
  return where(greater_equal(mean, 0), out, kNaN);
}

Tensor Draw::FewOf(const Tensor& mean) {
  const Tensor low = where(less(mean, 10), mean, 1.0);
  const Tensor u = Uniform();
  return Below(u, exp(-low), [&](double k) { return low / (k + 1.0); });
}

Tensor Draw::ManyOf(const Tensor& mean) {
  const Tensor m = where(less(mean, 10), 10.0, mean);
  const Tensor b = 0.931 + 2.53 * sqrt(m);
  const Tensor a = -0.059 + 0.02483 * b;
  const Tensor scale = 1.1239 + 1.1328 / (b - 3.4), quick = 0.9277 - 3.6224 / (b - 2.0);
  const Hat hat(this, a, b, m + 0.43);
  const Tensor exact = hat.k * log(m) - m - gammaln(maximum(hat.k, 0.0) + 1.0);
  const Tensor found =
      hat.Taken(quick, scale / (a / (hat.us * hat.us) + b), exact, greater_equal(hat.k, 0));
  return where(less(found, 0), floor(m), found);
}

Tensor Draw::Binomial(const Tensor& given_n, const Tensor& given_p, std::optional<double> number) {
  const Tensor n = broadcast_to(given_n.Detach(), shape_);
  const Tensor p = broadcast_to(given_p.Detach(), shape_);
  const Tensor q = minimum(p, 1.0 - p), mean = n * q, small = less(mean, 10);
  Tensor out = ByMean(
      number, mean, [&] { return FewSuccesses(n, where(small, q, 0.0)); },
      [&] { return ManySuccesses(where(small, 40.0, n), where(small, 0.5, q)); });
  out = where(greater(p, 0.5), n - out, out);
  const Tensor valid = And(And(greater_equal(n, 0), greater_equal(p, 0)), less_equal(p, 1));
  return where(valid, out, kNaN);
}

Tensor Draw::FewSuccesses(const Tensor& n, const Tensor& q) {
  const Tensor odds = q / (1.0 - q), none = exp(n * log1p(-q));
  const Tensor u = Uniform();
  const auto ratio = [&](double k) { return odds * maximum(n - k, 0.0) / (k + 1.0); };
  return minimum(Below(u, none, ratio), n);
}

Tensor Draw::ManySuccesses(const Tensor& n, const Tensor& q) {
  const Tensor deviation = sqrt(n * q * (1.0 - q));
  const Tensor b = 1.15 + 2.53 * deviation;
  const Tensor a = -0.0873 + 0.0248 * b + 0.01 * q;
  const Tensor alpha = (2.83 + 5.1 / b) * deviation, quick = 0.92 - 4.2 / b;
  const Tensor mode = floor((n + 1.0) * q);
  const Hat hat(this, a, b, n * q + 0.5);
  const Tensor& k = hat.k;
  const Tensor safe = clip(k, Arg(0.0), Arg(n));
  Tensor exact = gammaln(mode + 1.0) + gammaln(n - mode + 1.0);
  exact = exact - gammaln(safe + 1.0) - gammaln(n - safe + 1.0);
  exact = exact + (safe - mode) * log(q / (1.0 - q));
  const Tensor inside = And(greater_equal(k, 0), less_equal(k, n));
  const Tensor found = hat.Taken(quick, alpha / (a / (hat.us * hat.us) + b), exact, inside);
  return where(less(found, 0), mode, found);
}

}  // namespace frazil::ops
