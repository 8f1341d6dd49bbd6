#include "core/functions/distributions.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/backend.h"
#include "core/default_dtype.h"
#include "core/functions/draw.h"

namespace frazil::ops {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr int64_t kCandidates = 8;  // of a gamma number: 0.95 of them are good

std::string Text(double v, bool whole) { return whole ? StrCat(v) : FloatText(v); }

}  // namespace

Given::Given(double v) : tensor(scalar(Scalar::Float(v), DefaultFloat())), known(true), number(v) {}
Given::Given(int v) : tensor(scalar(Scalar::Int(v), DType::kI64)), known(true), number(v) {}

StatusOr<std::vector<double>> Numbers(const Given& given) {
  if (given.number) return std::vector<double>{*given.number};
  const Tensor& numbers = given.exact.defined() ? given.exact : given.tensor;
  const Tensor wide = copy(astype(numbers.Detach(), DType::kF64));
  if (!wide.ok()) return wide.status();
  FZ_RETURN_IF_ERROR(Read(*wide.value()));
  FZ_ASSIGN_OR_RETURN(const ValueRef host, OnHost(*wide.value()));
  const auto* const data = reinterpret_cast<const double*>(host->data);
  return std::vector<double>(data, data + wide.size());
}

constexpr double kMostCounted = 9223372036854775808.0;

Status CheckRange(const Given& given, Range range) {
  if (!given.tensor.ok()) return given.tensor.status();
  if (!given.known || range == Range::kAny) return absl::OkStatus();
  FZ_ASSIGN_OR_RETURN(const std::vector<double> numbers, Numbers(given));
  const bool chance = range == Range::kChance || range == Range::kSomeChance;
  for (const double v : numbers) {
    const auto text = [&] { return Text(v, !IsFloat(given.tensor.dtype())); };
    if ((range == Range::kPositive || range == Range::kSomeChance) && !(v > 0))
      return ValueError("[random] a parameter must be positive, got ", text(), ".");
    if ((range == Range::kNotNegative || range == Range::kCount) && !(v >= 0))
      return ValueError("[random] a parameter must be at least 0, got ", text(), ".");
    if (range == Range::kCount && !(v < kMostCounted))
      return ValueError("[random] a count must be below 2^63, got ", text(), ".");
    if (chance && !(v >= 0 && v <= 1))
      return ValueError("[random] a probability must lie from 0 to 1, got ", text(), ".");
  }
  return absl::OkStatus();
}

Draw::Draw(Generator* generator, std::string_view name, const DrawOptions& options,
           std::initializer_list<Bounded> parameters, std::optional<DType> dtype)
    : generator_(generator),
      dtype_(dtype ? *dtype : options.dtype.value_or(DefaultFloat())),
      wide_(IsHalf(dtype_) ? DType::kF32 : dtype_),
      device_(options.device) {
  for (const auto& [given, range] : parameters) {
    status_ = CheckRange(given, range);
    if (!ok()) return;
  }
  if (!IsFloat(dtype_)) {
    status_ =
        TypeError("[random.", name, "] needs a floating-point dtype, got ", Name(dtype_), ".");
    return;
  }
  std::vector<std::vector<int64_t>> shapes;
  for (const Bounded& each : parameters) {
    parameters_.push_back(astype(each.given.tensor, wide_));
    shapes.emplace_back(each.given.tensor.dims().begin(), each.given.tensor.dims().end());
  }
  auto common = broadcast_shapes(shapes);
  status_ = common.status();
  if (!ok()) return;
  const std::vector<int64_t> shape = options.shape.value_or(*common);
  const auto all = broadcast_shapes({{*common, shape}});
  status_ = all.status();
  if (ok() && *all != shape) {
    status_ = ValueError("[random.", name, "] parameters of shape ", Tuple(*common),
                         " do not broadcast to ", Tuple(shape), ".");
  }
  shape_.assign(shape.begin(), shape.end());
}

DimVec Draw::With(int64_t candidates) const {
  DimVec dims = shape_;
  if (candidates) dims.insert(dims.begin(), candidates);
  return dims;
}

Tensor Draw::Uniform(int64_t candidates) {
  return generator_->uniform(With(candidates), wide_, device_);
}
Tensor Draw::Normal(int64_t candidates) {
  return generator_->normal(With(candidates), wide_, device_);
}
Tensor Draw::Inside() { return maximum(Uniform(), wide_ == DType::kF64 ? 0x1p-54 : 0x1p-25); }

Tensor FirstGood(const Tensor& good, const Tensor& candidates, double otherwise) {
  if (!good.ok()) return good;
  const Tensor at = argmax(good, Over({0}));
  if (!at.ok()) return at;
  DimVec dims(static_cast<size_t>(good.rank()), 1);
  dims[0] = good.dims()[0];
  const Tensor places = reshape(iota(dims[0], DType::kI64), dims);
  const Tensor chosen = And(equal(places, at), good);
  const Tensor out = sum(where(chosen, candidates, 0.0), Over({0}));
  return where(any(good, Over({0})), out, otherwise);
}

// By the method of Marsaglia and Tsang (2000).
Tensor Draw::LogGamma(size_t i, double factor) {
  const Tensor a = parameters_[i].Detach() * factor;
  const Tensor small = less(a, 1.0), d = where(small, a + 1.0, a) - 1.0 / 3;
  const Tensor x = Normal(kCandidates), u = Uniform(kCandidates);
  const Tensor v = pow(1.0 + x / sqrt(9.0 * d), 3), some = greater(v, 0);
  const Tensor log_v = log(where(some, v, 1.0));
  const Tensor good = And(some, less(log(1.0 - u), 0.5 * x * x + d - d * v + d * log_v));
  const Tensor boost = log(1.0 - Uniform()) / a;  // u^(1/a) makes a of a + 1
  return log(d) + FirstGood(good, log_v, 0.0) + where(small, boost, 0.0);
}

namespace {

Tensor Counts(const Tensor& value, const DrawOptions& options) {
  return astype(where(isnan(value), -1.0, value), options.dtype.value_or(DType::kI64));
}

DrawOptions WithLast(const DrawOptions& options, int64_t n) {
  DrawOptions out = options;
  if (out.shape) out.shape->push_back(n);
  return out;
}

constexpr Range kPositive = Range::kPositive, kNotNegative = Range::kNotNegative,
                kChance = Range::kChance, kSomeChance = Range::kSomeChance;

}  // namespace

Tensor Generator::uniform(Dims shape, DType dtype, Device device) {
  return to_device(random_uniform(state_, shape, dtype), device);
}
Tensor Generator::normal(Dims shape, DType dtype, Device device) {
  return to_device(random_normal(state_, shape, dtype), device);
}

Tensor Generator::bernoulli(const Given& p, const DrawOptions& options) {
  Draw d(this, "bernoulli", options, {{p, kChance}});
  return d.ok() ? less(d.Uniform(), d[0]) : d.error();
}

Tensor Generator::beta(const Given& a, const Given& b, const DrawOptions& options) {
  Draw d(this, "beta", options, {{a, kPositive}, {b, kPositive}});
  if (!d.ok()) return d.error();
  const Tensor second = d.LogGamma(1), first = d.LogGamma(0);
  return d.Out(1.0 / (1.0 + exp(second - first)));
}

Tensor Generator::binomial(const Given& n, const Given& p, const DrawOptions& options) {
  Draw d(this, "binomial", options, {{n, Range::kCount}, {p, kChance}}, DType::kF64);
  if (!d.ok()) return d.error();
  std::optional<double> mean;
  if (n.number && p.number) mean = *n.number * std::min(*p.number, 1 - *p.number);
  return Counts(d.Binomial(d[0], d[1], mean), options);
}

Tensor Generator::chisquare(const Given& df, const DrawOptions& options) {
  Draw d(this, "chisquare", options, {{df, kPositive}});
  return d.ok() ? d.Out(2.0 * exp(d.LogGamma(0, 0.5))) : d.error();
}

Tensor Generator::dirichlet(const Given& alpha, const DrawOptions& options) {
  if (!alpha.tensor.ok()) return alpha.tensor;
  if (alpha.tensor.rank() == 0)
    return ValueError("[random.dirichlet] alpha needs at least one axis, got a number.");
  const int64_t k = alpha.tensor.layout()->dim(-1);
  Draw d(this, "dirichlet", WithLast(options, k), {{alpha, kNotNegative}});
  if (!d.ok()) return d.error();
  if (k == 0) return d.Out(d[0]);
  Tensor x = d.LogGamma(0);
  x = exp(x - max(x, Over({-1}), true));
  return d.Out(x / sum(x, Over({-1}), true));
}

Tensor Generator::exponential(const Given& scale, const DrawOptions& options) {
  Draw d(this, "exponential", options, {{scale, kNotNegative}});
  return d.ok() ? d.Out(d.Exponential() * d[0]) : d.error();
}

Tensor Generator::f(const Given& dfnum, const Given& dfden, const DrawOptions& options) {
  Draw d(this, "f", options, {{dfnum, kPositive}, {dfden, kPositive}});
  if (!d.ok()) return d.error();
  const Tensor first = d.LogGamma(0, 0.5), second = d.LogGamma(1, 0.5);
  return d.Out(exp(first - second) * d[1] / d[0]);
}

Tensor Generator::gamma(const Given& a, const Given& scale, const DrawOptions& options) {
  Draw d(this, "gamma", options, {{a, kPositive}, {scale, kNotNegative}});
  return d.ok() ? d.Out(exp(d.LogGamma(0)) * d[1]) : d.error();
}

Tensor Generator::geometric(const Given& p, const DrawOptions& options) {
  Draw d(this, "geometric", options, {{p, kSomeChance}}, DType::kF64);
  if (!d.ok()) return d.error();
  return Counts(floor(d.Exponential() / -log1p(-d[0])) + 1.0, options);
}

Tensor Generator::gumbel(const Given& loc, const Given& scale, const DrawOptions& options) {
  Draw d(this, "gumbel", options, {{loc}, {scale, kNotNegative}});
  return d.ok() ? d.Out(d[0] - d[1] * log(-log(d.Inside()))) : d.error();
}

Tensor Generator::laplace(const Given& loc, const Given& scale, const DrawOptions& options) {
  Draw d(this, "laplace", options, {{loc}, {scale, kNotNegative}});
  if (!d.ok()) return d.error();
  const Tensor u = d.Inside() - 0.5;
  return d.Out(d[0] - d[1] * sign(u) * log1p(-2.0 * abs(u)));
}

Tensor Generator::logistic(const Given& loc, const Given& scale, const DrawOptions& options) {
  Draw d(this, "logistic", options, {{loc}, {scale, kNotNegative}});
  if (!d.ok()) return d.error();
  const Tensor u = d.Inside();
  return d.Out(d[0] + d[1] * (log(u) - log1p(-u)));
}

Tensor Generator::lognormal(const Given& mean, const Given& sigma, const DrawOptions& options) {
  Draw d(this, "lognormal", options, {{mean}, {sigma, kNotNegative}});
  return d.ok() ? d.Out(exp(d[0] + d[1] * d.Normal())) : d.error();
}

// One binomial draw an outcome; the last one has what others leave.
Tensor Generator::multinomial(const Given& n, const Given& pvals, const DrawOptions& options) {
  const Tensor p = astype(pvals.tensor, DType::kF64);
  if (!p.ok()) return p;
  if (p.rank() == 0 || p.layout()->dim(-1) == 0) {
    return ValueError("[random.multinomial] pvals needs at least one outcome, got shape ", Tuple(p),
                      ".");
  }
  const int last = p.rank() - 1;
  const auto k = static_cast<size_t>(p.dims()[last]);
  if (Status s = CheckRange(pvals, kChance); !s.ok()) return Tensor(std::move(s));
  if (pvals.known) {
    const auto chances = Numbers(pvals);
    if (!chances.ok()) return Tensor(chances.status());
    for (size_t row = 0; row < chances->size(); row += k) {
      double total = 0;
      for (size_t i = row; i + 1 < row + k; ++i) total += (*chances)[i];
      if (total > 1.0 + 1e-12) {
        return ValueError("[random.multinomial] all pvals but the last must sum to at most 1, got ",
                          Text(total, false), ".");
      }
    }
  }
  Draw d(this, "multinomial", options, {{n, Range::kCount}, {Pick(p, last, 0)}}, DType::kF64);
  if (!d.ok()) return d.error();
  Tensor left = d[0], rest;
  Tensors out;
  for (size_t i = 0; i + 1 < k; ++i) {
    const Tensor own = Pick(p, last, static_cast<int64_t>(i));
    const Tensor share = own / (rest.defined() ? maximum(rest, 1e-300) : maximum(1.0, 1e-300));
    out.push_back(d.Binomial(left, broadcast_to(clip(share, Arg(0.0), Arg(1.0)), d.shape())));
    left = left - out.back();
    rest = rest.defined() ? rest - own : 1.0 - own;
  }
  out.push_back(left);
  const Tensor counts = stack(out, -1);
  if (pvals.known) return Counts(counts, options);
  // Of a tensor's numbers nobody has said that they are probabilities.
  const DType given = pvals.tensor.dtype();
  const double most = 1 + (given == DType::kF64 ? 1e-12 : IsHalf(given) ? 1e-2 : 1e-6);
  const Tensor but_last = sum(Narrow(p, last, 0, static_cast<int64_t>(k) - 1), Over({-1}), true);
  const Tensor each = all(And(greater_equal(p, 0.0), less_equal(p, 1.0)), Over({-1}), true);
  return Counts(where(And(each, less_equal(but_last, most)), counts, kNaN), options);
}

namespace {

// A factor of cov = factor factor^H: Cholesky's, or where that does not exist for a direction of no
// extent the eigenvectors, each as long as its deviation.
Tensor FactorOf(const Tensor& cov) {
  const Tensor factor = cholesky(cov);
  if (factor.ok() || KindOf(factor.status()) != ErrorKind::kLinAlg) return factor;
  const auto [w, v] = eigh(cov);
  if (!w.ok()) return w;
  const double epsilon = cov.dtype() == DType::kF64 ? 0x1p-52 : 0x1p-23;
  const double rounding = 16 * epsilon * double(cov.layout()->dim(-1));
  const Tensor largest = max(abs(w), Over({-1}), true);
  const auto negative =
      IsAny(bitwise_invert(greater_equal(w.Detach(), largest.Detach() * -rounding)));
  if (!negative.ok()) return Tensor(negative.status());
  if (*negative) {
    return LinAlgError("[random.multivariate_normal] cov is not positive semidefinite: it has a ",
                       "negative eigenvalue or a NaN.");
  }
  const Tensor none = less_equal(w, 0.0);
  return v * expand_dims(where(none, 0.0, sqrt(where(none, 1.0, w))), -2);
}

}  // namespace

Tensor Generator::multivariate_normal(const Given& mean, const Given& cov,
                                      const DrawOptions& options) {
  const Tensor &mu = mean.tensor, &spread = cov.tensor;
  if (const Tensor* error = FirstError({&mu, &spread})) return *error;
  const auto fits = [&] {
    const int64_t k = mu.layout()->dim(-1);
    return spread.layout()->dim(-1) == k && spread.layout()->dim(-2) == k;
  };
  if (mu.rank() < 1 || spread.rank() < 2 || !fits()) {
    return ValueError(
        "[random.multivariate_normal] mean of shape (..., k) and cov of shape (..., k, k) are "
        "needed, got ",
        Tuple(mu), " and ", Tuple(spread), ".");
  }
  const auto common =
      broadcast_shapes({{std::vector<int64_t>(mu.dims().begin(), mu.dims().end() - 1),
                         std::vector<int64_t>(spread.dims().begin(), spread.dims().end() - 2)}});
  if (!common.ok()) return Tensor(common.status());
  std::vector<int64_t> shape = options.shape.value_or(*common);
  shape.push_back(mu.layout()->dim(-1));
  const DType wanted = options.dtype.value_or(DefaultFloat());
  const DType computed = wanted == DType::kF64 ? DType::kF64 : DType::kF32;
  const Tensor factor = FactorOf(astype(spread, computed));
  if (!factor.ok()) return factor;
  const Tensor z = normal(shape, computed, options.device);
  const Tensor turned = squeeze(matmul(factor, expand_dims(z, -1)), Over({-1}));
  return astype(astype(mu, computed) + turned, wanted);
}

Tensor Generator::negative_binomial(const Given& n, const Given& p, const DrawOptions& options) {
  Draw d(this, "negative_binomial", options, {{n, kPositive}, {p, kSomeChance}}, DType::kF64);
  if (!d.ok()) return d.error();
  return Counts(d.Poisson(exp(d.LogGamma(0)) * (1.0 - d[1]) / d[1]), options);
}

Tensor Generator::pareto(const Given& a, const DrawOptions& options) {
  Draw d(this, "pareto", options, {{a, kPositive}});
  return d.ok() ? d.Out(expm1(d.Exponential() / d[0])) : d.error();
}

Tensor Generator::poisson(const Given& lam, const DrawOptions& options) {
  Draw d(this, "poisson", options, {{lam, Range::kCount}}, DType::kF64);
  return d.ok() ? Counts(d.Poisson(d[0], lam.number), options) : d.error();
}

Tensor Generator::rayleigh(const Given& scale, const DrawOptions& options) {
  Draw d(this, "rayleigh", options, {{scale, kNotNegative}});
  return d.ok() ? d.Out(d[0] * sqrt(2.0 * d.Exponential())) : d.error();
}

Tensor Generator::standard_cauchy(const DrawOptions& options) {
  Draw d(this, "standard_cauchy", options, {});
  return d.ok() ? d.Out(tan((d.Inside() - 0.5) * M_PI)) : d.error();
}

Tensor Generator::standard_t(const Given& df, const DrawOptions& options) {
  Draw d(this, "standard_t", options, {{df, kPositive}});
  if (!d.ok()) return d.error();
  const Tensor z = d.Normal();
  return d.Out(z * exp(-0.5 * (d.LogGamma(0, 0.5) - log(d[0] * 0.5))));
}

Tensor Generator::triangular(const Given& left, const Given& mode, const Given& right,
                             const DrawOptions& options) {
  if (left.number && mode.number && right.number) {
    const double l = *left.number, m = *mode.number, r = *right.number;
    if (!(l <= m && m <= r && l < r)) {
      const auto text = [](const Given& g) { return Text(*g.number, !IsFloat(g.tensor.dtype())); };
      return ValueError(
          "[random.triangular] left <= mode <= right and left < right are needed, got ", text(left),
          ", ", text(mode), " and ", text(right), ".");
    }
  }
  Draw d(this, "triangular", options, {{left}, {mode}, {right}});
  if (!d.ok()) return d.error();
  const Tensor &a = d[0], &c = d[1], &b = d[2], u = d.Uniform();
  const Tensor up = sqrt(u * (b - a) * (c - a)), down = sqrt((1.0 - u) * (b - a) * (b - c));
  const Tensor inside = And(And(less_equal(a, c), less_equal(c, b)), less(a, b));
  const Tensor out = where(less(u * (b - a), c - a), a + up, b - down);
  return d.Out(where(inside, out, kNaN));
}

Tensor Generator::truncated_normal(const Given& lower, const Given& upper,
                                   const DrawOptions& options) {
  if (lower.number && upper.number && !(*lower.number <= *upper.number)) {
    return ValueError("[random.truncated_normal] lower must not be above upper, got ",
                      Text(*lower.number, false), " and ", Text(*upper.number, false), ".");
  }
  Draw d(this, "truncated_normal", options, {{lower}, {upper}});
  if (!d.ok()) return d.error();
  const Tensor low = astype(d[0], DType::kF64), high = astype(d[1], DType::kF64);
  // Probabilities near 1 hold few digits: above 0 the numbers are those below, turned over.
  const Tensor above = greater(low, 0);
  const Tensor a = ndtr(where(above, -high, low)), b = ndtr(where(above, -low, high));
  Tensor x = ndtri(a + (b - a) * astype(d.Inside(), DType::kF64));
  x = where(above, -x, x);
  return d.Out(clip(astype(x, d.wide()), Arg(d[0]), Arg(d[1])));
}

// Michael, Schucany and Haas 1976.
Tensor Generator::wald(const Given& mean, const Given& scale, const DrawOptions& options) {
  Draw d(this, "wald", options, {{mean, kPositive}, {scale, kPositive}});
  if (!d.ok()) return d.error();
  const Tensor& m = d[0];
  const Tensor z = d.Normal(), y = m * z * z / (2.0 * d[1]);
  const Tensor x = m / (1.0 + y + sqrt(y * (2.0 + y)));  // the smaller root
  return d.Out(where(less_equal(d.Uniform(), m / (m + x)), x, m * m / x));
}

Tensor Generator::weibull(const Given& a, const DrawOptions& options) {
  Draw d(this, "weibull", options, {{a, kPositive}});
  return d.ok() ? d.Out(pow(d.Exponential(), 1.0 / d[0])) : d.error();
}

}  // namespace frazil::ops
