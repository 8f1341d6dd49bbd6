// Statistics of samples under NumPy's names: weighted means, covariances, counts in bins.
#include <algorithm>
#include <cmath>
#include <limits>

#include "core/backend.h"
#include "core/functions/counting.h"
#include "core/functions/functions.h"
#include "core/functions/parts.h"
#include "core/infer.h"

namespace frazil::ops {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

// Weights of the axes' extents as x has them.
StatusOr<Tensor> WeightsOf(const Tensor& x, const Tensor& w, const Axes& axes) {
  if (w.dims() == x.dims()) return w;
  if (!axes) {
    return TypeError("[average] weights of shape ", Tuple(w), " for ", Tuple(x), " need an axis.");
  }
  DimVec fixed, extents, order, dims(static_cast<size_t>(x.rank()), 1);
  for (const int64_t a : *axes) {
    FZ_ASSIGN_OR_RETURN(const int axis, CheckAxis("average", a, x.rank()));
    fixed.push_back(axis);
    extents.push_back(x.dims()[axis]);
    dims[static_cast<size_t>(axis)] = x.dims()[axis];
  }
  if (w.dims() != Dims(extents)) {
    return ValueError("[average] weights of shape ", Tuple(w), " do not fit axes ", List(fixed),
                      " of ", Tuple(x), ".");
  }
  for (int64_t i = 0; i < w.rank(); ++i) order.push_back(i);
  std::sort(order.begin(), order.end(), [&](int64_t i, int64_t j) {
    return fixed[static_cast<size_t>(i)] < fixed[static_cast<size_t>(j)];
  });
  return reshape(permute_dims(w, order), dims);
}

}  // namespace

Tensors averages(const Tensor& x, const Axes& axes, const Tensor* weights, bool keepdims) {
  if (!x.ok()) return {x};
  if (!weights) {
    const Tensor out = mean(x, axes, keepdims);
    if (!out.ok()) return {out};
    const double count = out.size() ? double(x.size()) / double(out.size()) : 0.0;
    return {out, full(out.dims(), Scalar::Float(count), out.dtype())};
  }
  if (!weights->ok()) return {*weights};
  const auto fitting = WeightsOf(x, *weights, axes);
  if (!fitting.ok()) return {Tensor(fitting.status())};
  const DType common = Promote(x.dtype(), weights->dtype());
  const DType dtype = IsInexact(common) ? common : DType::kF64;
  const Tensor w = broadcast_to(astype(*fitting, dtype), x.dims());
  const Tensor total = sum(w, axes, keepdims);
  return {sum(astype(x, dtype) * w, axes, keepdims) / total, total};
}

namespace {

// As rows, whatever they were.
Tensor Variables(const Tensor& given, bool rowvar) {
  if (!given.ok()) return given;
  if (given.rank() > 2)
    return ValueError("[cov] needs at most two axes, got shape ", Tuple(given), ".");
  const Tensor x = atleast_2d(given);
  return rowvar || x.dims()[0] == 1 ? x : transpose(x);
}

// Refuses what is no weight of n observations; reads the numbers, but those that differ between the
// examples of a vmap.
Status CheckWeights(const char* what, const Tensor& w, int64_t n, bool whole) {
  if (!w.ok()) return w.status();
  if (w.rank() != 1 || w.size() != n) {
    return RuntimeError("[cov] ", what, " of shape ", Tuple(w), " for ", n, " observations.");
  }
  if (IsComplex(w.dtype()))
    return TypeError("[cov] ", what, " must be real, got ", Name(w.dtype()), ".");
  if (IsBool(w.dtype()) || Behind(w.value_ref()).get() != w.value()) return absl::OkStatus();
  const Tensor now = w.Detach();
  if (whole && IsFloat(w.dtype())) {
    FZ_ASSIGN_OR_RETURN(const bool parts, IsAny(not_equal(now, round(now))));
    if (parts) return TypeError("[cov] ", what, " must be integers: how often each was observed.");
  }
  if (IsUnsigned(w.dtype())) return absl::OkStatus();
  FZ_ASSIGN_OR_RETURN(const bool below, IsAny(less(now, 0)));
  if (below) return ValueError("[cov] ", what, " must not be negative.");
  return absl::OkStatus();
}

}  // namespace

Tensor cov(const Tensor& x, const Tensor* y, bool rowvar, bool bias, std::optional<int64_t> ddof,
           const Tensor* fweights, const Tensor* aweights) {
  Tensor m = Variables(x, rowvar);
  if (y) m = concat({m, Variables(*y, rowvar)}, 0);
  m = Inexact(m);
  if (!m.ok()) return m;
  const int64_t n = m.dims()[1], less = ddof.value_or(bias ? 0 : 1);
  Tensor weights;
  for (const Tensor* each : {fweights, aweights}) {
    if (!each) continue;
    const bool counts = each == fweights;
    if (Status s = CheckWeights(counts ? "fweights" : "aweights", *each, n, counts); !s.ok())
      return Tensor(std::move(s));
    weights = weights.defined() ? weights * *each : astype(*each, PartOf(m.dtype()));
  }
  const auto product = [](const Tensor& a, const Tensor& b) {
    return matmul(a, transpose(conj(b)));
  };
  if (!weights.defined()) {
    const Tensor centred = m - mean(m, Over({1}), true);
    const double factor = n > less ? double(n - less) : kNaN;
    return squeeze(product(centred, centred) / factor, {});
  }
  const Tensor total = sum(weights);
  const Tensor centred = m - sum(m * weights, Over({1}), true) / total;
  const Tensor factor =
      aweights ? total - sum(weights * *aweights) / total * Arg(less) : total - double(less);
  return squeeze(product(centred, centred * weights) / factor, {});
}

Tensor corrcoef(const Tensor& x, const Tensor* y, bool rowvar) {
  Tensor c = cov(x, y, rowvar);
  if (!c.ok()) return c;
  if (c.rank() == 0) return c / c;
  const Tensor deviation = sqrt(real(diagonal(c)));
  c = c / expand_dims(deviation, 1) / deviation;
  const auto clipped = [](const Tensor& t) { return clip(t, Arg(-1), Arg(1)); };
  if (!c.ok() || IsFloat(c.dtype())) return clipped(c);
  return complex(clipped(real(c)), clipped(imag(c)));
}

Tensor digitize(const Tensor& x, const Tensor& bins, bool right) {
  if (const Tensor* error = FirstError({&x, &bins})) return *error;
  if (bins.rank() != 1)
    return ValueError("[digitize] bins must be a vector, got shape ", Tuple(bins), ".");
  const Tensor next = Within(bins, 1, 0), last = Within(bins, 0, 1);
  const auto rises = IsAny(bitwise_invert(greater_equal(next, last)));
  if (!rises.ok()) return Tensor(rises.status());
  if (!*rises) return searchsorted(bins, x, !right);
  const auto falls = IsAny(bitwise_invert(less_equal(next, last)));
  if (!falls.ok()) return Tensor(falls.status());
  if (*falls) return ValueError("[digitize] bins must rise or fall all the way.");
  return subtract(Arg(bins.dims()[0]), searchsorted(flip(bins, {}), x, !right));
}

namespace {

StatusOr<std::pair<double, double>> ExtremesOf(const Tensor& x) {
  const Tensor both = copy(astype(stack({min(x), max(x)}), DType::kF64));
  if (!both.ok()) return both.status();
  FZ_RETURN_IF_ERROR(Read(*both.value()));
  FZ_ASSIGN_OR_RETURN(const ValueRef host, OnHost(*both.value()));
  const auto* const data = reinterpret_cast<const double*>(host->data);
  return std::pair(data[0], data[1]);
}

double Epsilon(DType dtype) {
  return dtype == DType::kF64   ? 0x1p-52
         : dtype == DType::kF32 ? 0x1p-23
         : dtype == DType::kF16 ? 0x1p-10
                                : 0x1p-7;
}

}  // namespace

Tensor histogram_bin_edges(const Tensor& given, const Bins& bins, const Interval& interval) {
  if (!given.ok()) return given;
  if (bins.edges.defined()) {
    const Tensor& edges = bins.edges;
    if (!edges.ok()) return edges;
    if (edges.rank() != 1)
      return ValueError("[histogram] edges must be a vector, got shape ", Tuple(edges), ".");
    const auto falls = IsAny(less(Within(edges, 1, 0), Within(edges, 0, 1)));
    if (!falls.ok()) return Tensor(falls.status());
    if (*falls) return ValueError("[histogram] edges must rise.");
    return edges;
  }
  const int64_t n = bins.count;
  if (n < 1) return ValueError("[histogram] bins must be at least 1, got ", n, ".");
  const Tensor x = flatten(given);
  double low = 0, high = 1;
  if (interval) {
    std::tie(low, high) = *interval;
    if (!(low <= high)) {
      return ValueError("[histogram] the range must rise, got ", FloatText(low), " to ",
                        FloatText(high), ".");
    }
  } else if (x.size() > 0) {
    const auto extremes = ExtremesOf(x);
    if (!extremes.ok()) return Tensor(extremes.status());
    std::tie(low, high) = *extremes;
  }
  if (!std::isfinite(low) || !std::isfinite(high)) {
    return ValueError("[histogram] the range must be finite, got ", FloatText(low), " to ",
                      FloatText(high), ".");
  }
  if (low == high) {
    low -= 0.5;
    high += 0.5;
  }
  const DType dtype = IsFloat(x.dtype()) ? x.dtype() : DType::kF64;
  const double size = std::max(std::abs(low), std::abs(high));
  const double ulp = std::nextafter(size, std::numeric_limits<double>::infinity()) - size;
  const double apart = ulp * (Epsilon(dtype) / 0x1p-52);
  if ((high - low) / static_cast<double>(n) < apart) {
    return ValueError("[histogram] ", n, " bins from ", FloatText(low), " to ", FloatText(high),
                      " are too narrow for ", Name(dtype), ", whose numbers are ", FloatText(apart),
                      " apart there.");
  }
  return linspace(low, high, n + 1, true, dtype);
}

namespace {

// Counts in a grid of bins; what lies outside goes to one place more, which is cut off.
Tensor Binned(TensorSpan points, TensorSpan edges, const Tensor* weights) {
  Tensor place, inside;
  DimVec dims;
  int64_t size = 1;
  for (size_t i = 0; i < points.size(); ++i) {
    if (!edges[i].ok()) return edges[i];
    const int64_t n = edges[i].dims()[0] - 1;
    Tensor at = searchsorted(edges[i], points[i], true) - Arg(1);
    at = where(equal(points[i], Pick(edges[i], 0, -1)), n - 1, at);
    const Tensor in = bitwise_and(greater_equal(at, 0), less(at, n));
    inside = inside.defined() ? bitwise_and(inside, in) : in;
    place = place.defined() ? place * Arg(n) + at : at;
    dims.push_back(n);
    size *= n;
  }
  const Tensor into = where(inside, place, size);
  if (!into.ok()) return into;
  const Tensor updates = weights ? *weights : filled(into.dims(), Scalar::Int(1), DType::kI64);
  if (!updates.ok()) return updates;
  const Tensor counts =
      index_add(filled({size + 1}, Scalar::Int(0), updates.dtype()), into, updates);
  return reshape(Narrow(counts, 0, 0, size), dims);
}

Tensor Widths(const Tensor& edges) { return Within(edges, 1, 0) - Within(edges, 0, 1); }

}  // namespace

Tensors histogram(const Tensor& x, const Bins& bins, const Interval& interval,
                  std::optional<bool> density, const Tensor* weights) {
  const Tensor edges = histogram_bin_edges(x, bins, interval);
  if (!edges.ok()) return {edges};
  Tensor w;
  if (weights) {
    if (!weights->ok()) return {*weights};
    if (weights->dims() != x.dims()) {
      return {Tensor(
          ValueError("[histogram] weights have shape ", Tuple(*weights), ", not ", Tuple(x), "."))};
    }
    w = flatten(IsFloat(weights->dtype()) ? *weights : astype(*weights, DType::kF64));
  }
  const DType dtype = edges.dtype();
  const bool equal = !bins.edges.defined() && !weights && !State().door &&
                     (dtype == DType::kF32 || dtype == DType::kF64) &&
                     Promote(x.dtype(), dtype) == dtype;
  Tensor counts = equal ? count_in_bins(astype(x, dtype), edges)
                        : Binned({flatten(x)}, {edges}, weights ? &w : nullptr);
  if (density.value_or(false)) counts = counts / astype(Widths(edges), DType::kF64) / sum(counts);
  return {counts, edges};
}

Tensors histogram2d(const Tensor& x, const Tensor& y, const Bins& bins_x, const Bins& bins_y,
                    const Interval& range_x, const Interval& range_y, bool density,
                    const Tensor* weights) {
  const Tensors points = {flatten(x), flatten(y)};
  if (const Tensor* error = FirstError({&points[0], &points[1]})) return {*error};
  if (points[0].size() != points[1].size()) {
    return {Tensor(ValueError("[histogram2d] x and y have ", points[0].size(), " and ",
                              points[1].size(), " elements."))};
  }
  const Tensors edges = {histogram_bin_edges(points[0], bins_x, range_x),
                         histogram_bin_edges(points[1], bins_y, range_y)};
  const Tensor w = weights ? flatten(*weights) : Tensor();
  Tensor counts = astype(Binned(points, edges, weights ? &w : nullptr), DType::kF64);
  if (density && counts.ok())
    counts = counts / (expand_dims(Widths(edges[0]), 1) * Widths(edges[1])) / sum(counts);
  return {counts, edges[0], edges[1]};
}

}  // namespace frazil::ops
