// Quantiles: elements in order, and the two that surround a place, weighed. Where NaN is left out the
// place depends on how many elements are none, which a mask over the sorted elements finds without
// reading it.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include "core/backend.h"
#include "core/functions/composite.h"
#include "core/functions/parts.h"

namespace frazil::ops {
namespace {

using DimVec = absl::InlinedVector<int64_t, 8>;

// NumPy's methods (Hyndman and Fan 1996): a place is n q + alpha + q (1 - alpha - beta) - 1, counted
// from 0; the first ones are steps.
struct Method {
  std::string_view name;
  enum Kind { kBetween, kLower, kHigher, kNearest, kMidpoint, kInverted, kAveraged, kClosest } kind;
  double alpha = 1, beta = 1;
};
constexpr Method kMethods[] = {
    {"linear", Method::kBetween},
    {"lower", Method::kLower},
    {"higher", Method::kHigher},
    {"nearest", Method::kNearest},
    {"midpoint", Method::kMidpoint},
    {"inverted_cdf", Method::kInverted, 0, 1},
    {"averaged_inverted_cdf", Method::kAveraged, 0, 1},
    {"closest_observation", Method::kClosest, 0, 1},
    {"interpolated_inverted_cdf", Method::kBetween, 0, 1},
    {"hazen", Method::kBetween, 0.5, 0.5},
    {"weibull", Method::kBetween, 0, 0},
    {"median_unbiased", Method::kBetween, 1.0 / 3, 1.0 / 3},
    {"normal_unbiased", Method::kBetween, 0.375, 0.375},
};

bool Steps(Method::Kind kind) {
  return kind != Method::kBetween && kind != Method::kMidpoint && kind != Method::kAveraged;
}

// Arithmetic of places is written once: over doubles where a row's length is known, over f64 arrays
// where it depends on data.
using ops::bitwise_or, ops::ceil, ops::equal, ops::floor, ops::greater_equal, ops::less;
using ops::maximum, ops::minimum, ops::round, ops::where;
double floor(double v) { return std::floor(v); }
double ceil(double v) { return std::ceil(v); }
double round(double v) { return std::nearbyint(v); }
double minimum(double a, double b) { return std::min(a, b); }
double maximum(double a, double b) { return std::max(a, b); }
bool equal(double a, double b) { return a == b; }
bool less(double a, double b) { return a < b; }
bool greater_equal(double a, double b) { return a >= b; }
bool bitwise_or(bool a, bool b) { return a || b; }
double where(bool c, double a, double b) { return c ? a : b; }

// Elements low and high of a row, and how far from one to the other.
template <typename N>
struct Place {
  N low, high, weight;
};

template <typename N>
Place<N> PlaceOf(const Method& m, const N& n, double q) {
  const N zero = n * 0.0, half = zero + 0.5;
  const bool ends = m.alpha == 1 && m.beta == 1;  // exactly where that is exact
  N at = ends ? (n - 1.0) * q : n * q + (m.alpha + q * (1 - m.alpha - m.beta)) - 1.0;
  N weight = zero;
  switch (m.kind) {
    case Method::kLower:
      at = floor(at);
      break;
    case Method::kHigher:
    case Method::kInverted:
      at = ceil(at);
      break;
    case Method::kNearest:
      at = round(at);
      break;
    case Method::kClosest: {  // halves to the even place, counted from 1
      const N half_way = at - 0.5, below = floor(half_way);
      const N odd = below - floor(below * 0.5) * 2.0;
      at = where(equal(half_way, below), below + (1.0 - odd), below + 1.0);
      break;
    }
    case Method::kMidpoint:
      weight = where(equal(at, floor(at)), zero, half);
      break;
    case Method::kAveraged:
      weight = where(equal(at, floor(at)), half, zero + 1.0);
      break;
    case Method::kBetween:
      weight = at - floor(at);
      break;
  }
  const N low = floor(at), last = n - 1.0;
  // Before the first element and behind the last one there is only that.
  const auto out = bitwise_or(less(low, 0.0), greater_equal(low, last));
  return {maximum(minimum(low, last), zero), maximum(minimum(low + 1.0, last), zero),
          where(out, zero, weight)};
}

Axes Last() {
  Axes axes;
  axes.emplace({int64_t{-1}});
  return axes;
}

// The element at a place of every row, which keeps the axis.
Tensor At(const Tensor& sorted, const Tensor& place) {
  const Tensor index = iota(sorted.dims().back(), DType::kF64, sorted.device());
  const Tensor nothing = scalar(Scalar::Int(0), sorted.dtype());
  return sum(where(equal(index, place), sorted, nothing), Last(), true);
}
Tensor At(const Tensor& sorted, double place) {
  Attrs all = WholeSlice(sorted.dims());
  all[all.size() - 3] = static_cast<int64_t>(place);
  all[all.size() - 1] = 1;
  return slice(sorted, all);
}

// Between the elements at a place, of which next() gives the second.
template <typename N, typename Next>
Tensor Between(const Method& m, const Place<N>& place, const Tensor& low, const Next& next) {
  if (Steps(m.kind)) return low;
  if constexpr (std::is_same_v<N, double>) {
    if (place.weight == 0) return low;
  }
  const Tensor high = next(), way = high - low;
  const auto weigh = [&] {
    if constexpr (std::is_same_v<N, double>) {
      if (m.kind == Method::kMidpoint) return (low + high) * 0.5;  // as a mean, rounded once
      return place.weight < 0.5 ? low + way * place.weight : high - way * (1 - place.weight);
    } else {
      const Tensor t = astype(place.weight, low.dtype());
      if (m.kind == Method::kMidpoint) return where(equal(t, 0.0), low, (low + high) * 0.5);
      return where(less(t, 0.5), low + way * t, high - way * (1.0 - t));
    }
  };
  // Equal ends, infinite ones too, have nothing between them.
  return where(equal(low, high), low, weigh());
}

template <typename N>
Tensor OneQuantile(const Method& m, const Tensor& sorted, const N& n, double q) {
  const Place<N> place = PlaceOf(m, n, q);
  return Between(m, place, At(sorted, place.low), [&] { return At(sorted, place.high); });
}

// The same of long rows in any order, without gradients: around the first of the two elements, behind
// which the second one is the least.
Tensor Selected(const Method& m, const Tensor& rows, double q) {
  const int64_t n = rows.dims().back();
  const Place<double> place = PlaceOf(m, double(n), q);
  const auto low = static_cast<int64_t>(place.low);
  const Tensor around = Along(OpId::k_sort, rows, -1, 2 + low);
  if (!around.ok()) return around;
  return Between(m, place, At(around, place.low), [&] {
    return min(Narrow(around, around.rank() - 1, low + 1, n - low - 1), Last(), true);
  });
}

constexpr int64_t kLong = 4096;  // elements of a row of which sorting all takes longer
constexpr int64_t kShort = 16;   // elements of a row that are compared faster than sorted

// The elements of short rows at `places`, undefined ones elsewhere, without gradients: Batcher's
// network (Knuth 1998, 5.3.4) puts rows in order side by side, as minima and maxima of slices, of
// which only those are made that lead to a place. A NaN becomes all that it is compared with, and so
// every element of its row.
std::vector<Tensor> InOrder(const Tensor& rows, const std::vector<bool>& places) {
  const auto n = static_cast<int64_t>(places.size());
  struct Comparison {
    int64_t low, high;
    bool least = false, most = false;  // which of the two is wanted
  };
  std::vector<Comparison> network;
  for (int64_t p = 1; p < n; p *= 2) {
    for (int64_t k = p; k >= 1; k /= 2) {
      for (int64_t j = k % p; j + k < n; j += 2 * k) {
        for (int64_t i = j; i < std::min(j + k, n - k); ++i) {
          if (i / (2 * p) == (i + k) / (2 * p)) network.push_back({i, i + k});
        }
      }
    }
  }
  std::vector<bool> wanted = places;
  for (size_t c = network.size(); c-- > 0;) {
    Comparison& here = network[c];
    const auto low = static_cast<size_t>(here.low), high = static_cast<size_t>(here.high);
    here.least = wanted[low], here.most = wanted[high];
    wanted[low] = wanted[high] = here.least || here.most;
  }
  std::vector<Tensor> out;
  for (int64_t i = 0; i < n; ++i) out.push_back(Narrow(rows, rows.rank() - 1, i, 1));
  for (const Comparison& c : network) {
    Tensor &low = out[static_cast<size_t>(c.low)], &high = out[static_cast<size_t>(c.high)];
    const Tensor least = c.least ? minimum(low, high) : Tensor();
    high = c.most ? maximum(low, high) : Tensor();
    low = least;
  }
  return out;
}

// A quantile of short rows for each level, without gradients.
std::vector<Tensor> Compared(const Method& m, const Tensor& rows, absl::Span<const double> levels) {
  const int64_t n = rows.dims().back();
  std::vector<bool> places(static_cast<size_t>(n));
  for (double q : levels) {
    const Place<double> place = PlaceOf(m, double(n), q);
    places[static_cast<size_t>(place.low)] = true;
    if (place.weight != 0) places[static_cast<size_t>(place.high)] = true;
  }
  const std::vector<Tensor> ordered = InOrder(rows, places);
  std::vector<Tensor> out;
  for (double q : levels) {
    const Place<double> place = PlaceOf(m, double(n), q);
    const Tensor one = Between(m, place, ordered[static_cast<size_t>(place.low)],
                               [&] { return ordered[static_cast<size_t>(place.high)]; });
    out.push_back(IsFloat(one.dtype()) ? where(isnan(one), NAN, one) : one);
  }
  return out;
}

struct Asked {
  std::string_view op;
  const Levels& levels;
  const Axes& axes;
  const Method* method;
  bool keepdims, skip_nan;
};

// A quantile of rows for each level.
std::vector<Tensor> Sorted(const Tensor& rows, const Asked& asked) {
  const Tensor sorted = sort(rows);
  if (!sorted.ok()) return {asked.levels.values.size(), sorted};
  const bool floats = IsFloat(rows.dtype());
  const Tensor none = floats ? isnan(sorted.Detach()) : Tensor();
  const auto n = static_cast<double>(rows.dims().back());
  Tensor ordered = sorted, count, nothing;
  if (floats && asked.skip_nan) {
    count = sum(astype(logical_not(none), DType::kF64), Last(), true);
    nothing = equal(count, 0.0);
    ordered = where(none, 0.0, sorted);
  } else if (floats) {
    nothing = At(none, n - 1);  // NaN comes last
  }
  std::vector<Tensor> out;
  for (double q : asked.levels.values) {
    Tensor one = count.defined() ? OneQuantile(*asked.method, ordered, count, q)
                                 : OneQuantile(*asked.method, ordered, n, q);
    out.push_back(nothing.defined() ? where(nothing, NAN, one) : one);
  }
  return out;
}

Tensor Body(const Tensor& x, const DimVec& reduced, const Asked& asked) {
  // The axes that are reduced, as one at the end.
  DimVec order, kept, shown;
  for (int a = 0; a < x.rank(); ++a) {
    const bool out = std::find(reduced.begin(), reduced.end(), a) != reduced.end();
    if (!out) order.push_back(a), kept.push_back(x.dims()[a]), shown.push_back(x.dims()[a]);
    if (out && asked.keepdims) shown.push_back(1);
  }
  order.insert(order.end(), reduced.begin(), reduced.end());
  int64_t n = 1;
  for (int64_t a : reduced) n *= x.dims()[static_cast<size_t>(a)];
  DimVec rows = kept;
  rows.push_back(n);
  const Tensor given = reshape(permute_dims(x, order), rows);
  const bool floats = IsFloat(x.dtype()), plain = !asked.skip_nan && !NeedsGrad(State(), x);
  if (n >= kLong && asked.levels.values.size() == 1 && plain) {
    Tensor one = Selected(*asked.method, given, asked.levels.values[0]);
    if (floats) one = where(any(isnan(given), Last(), true), NAN, one);
    DimVec dims(asked.levels.dims.begin(), asked.levels.dims.end());
    dims.insert(dims.end(), shown.begin(), shown.end());
    return reshape(one, dims);
  }
  std::vector<Tensor> out = plain && n <= kShort
                                ? Compared(*asked.method, given, asked.levels.values)
                                : Sorted(given, asked);
  for (Tensor& one : out) one = reshape(one, shown);
  DimVec dims(asked.levels.dims.begin(), asked.levels.dims.end());
  dims.insert(dims.end(), shown.begin(), shown.end());
  if (out.empty()) return full(dims, Scalar::Int(0), x.dtype());
  return asked.levels.dims.empty() ? out[0] : reshape(stack(out, 0), dims);
}

Tensor Quantiles(CompositeId id, const Tensor& given, const Asked& asked) {
  if (!given.ok()) return given;
  const Tensor x = Steps(asked.method->kind) && !IsBool(given.dtype()) ? given : AsFloat(given);
  if (!x.ok()) return x;
  DimVec reduced;
  for (int64_t a = 0; !asked.axes && a < x.rank(); ++a) reduced.push_back(a);
  int64_t n = 1;
  if (asked.axes) {
    for (int64_t a : *asked.axes) {
      const auto axis = CheckAxis(asked.op, a, x.rank());
      if (!axis.ok()) return Tensor(axis.status());
      if (std::find(reduced.begin(), reduced.end(), *axis) != reduced.end()) {
        return ValueError("[", asked.op, "] axis ", a, " is given twice: ", ToString(*asked.axes),
                          ".");
      }
      reduced.push_back(*axis);
    }
    std::sort(reduced.begin(), reduced.end());
  }
  for (int64_t a : reduced) n *= x.dims()[static_cast<size_t>(a)];
  if (n == 0) {
    return ValueError("[", asked.op, "] of no elements is none: ", Describe(x), " over axes ",
                      ToString(reduced), ".");
  }
  Attrs attrs = {asked.method - kMethods, asked.keepdims, static_cast<int64_t>(reduced.size())};
  attrs.insert(attrs.end(), reduced.begin(), reduced.end());
  attrs.insert(attrs.end(), asked.levels.dims.begin(), asked.levels.dims.end());
  for (double q : asked.levels.values) attrs.push_back(std::bit_cast<int64_t>(q));
  return Composite(id, {&x}, attrs, [&] { return Body(x, reduced, asked); });
}

// Levels divided by `scale` and the method of this name; a status says what is wrong with them.
Tensor Quantiles(CompositeId id, const Tensor& x, const Levels& q, double scale, const Axes& axes,
                 std::string_view name, bool keepdims, bool skip_nan) {
  const std::string_view op = NameOf(id);
  if (!q.status.ok()) return Tensor(q.status);
  if (x.ok() && IsComplex(x.dtype())) {
    return TypeError("[", std::string(op), "] is not defined for complex numbers: ", Describe(x),
                     ".");
  }
  Levels levels = q;
  for (double& v : levels.values) {
    if (!(v >= 0 && v <= scale)) {
      return ValueError("[", std::string(op), "] q must lie from 0 to ", scale, ", got ", v, ".");
    }
    v /= scale;
  }
  for (const Method& m : kMethods) {
    if (m.name == name) return Quantiles(id, x, {op, levels, axes, &m, keepdims, skip_nan});
  }
  std::string names;
  for (const Method& m : kMethods) names += (names.empty() ? "" : ", ") + std::string(m.name);
  return ValueError("[", std::string(op), "] method must be one of ", names, ", got \"",
                    std::string(name), "\".");
}

}  // namespace

Levels::Levels(const Tensor& t) {
  const Tensor wide = t.ok() ? copy(astype(t.Detach(), DType::kF64)) : t;
  if (!(status = wide.status()).ok() || !(status = Read(*wide.value())).ok()) return;
  StatusOr<ValueRef> host = OnHost(*wide.value());
  if (!(status = host.status()).ok()) return;
  values.resize(static_cast<size_t>(wide.size()));
  if (!values.empty()) std::memcpy(values.data(), (*host)->data, values.size() * sizeof(double));
  dims.assign(wide.dims().begin(), wide.dims().end());
}

Tensor quantile(const Tensor& x, const Levels& q, const Axes& axes, std::string_view method,
                bool keepdims) {
  return Quantiles(CompositeId::k_quantile, x, q, 1, axes, method, keepdims, false);
}
Tensor percentile(const Tensor& x, const Levels& q, const Axes& axes, std::string_view method,
                  bool keepdims) {
  return Quantiles(CompositeId::k_percentile, x, q, 100, axes, method, keepdims, false);
}
Tensor nanquantile(const Tensor& x, const Levels& q, const Axes& axes, std::string_view method,
                   bool keepdims) {
  return Quantiles(CompositeId::k_nanquantile, x, q, 1, axes, method, keepdims, true);
}
Tensor nanpercentile(const Tensor& x, const Levels& q, const Axes& axes, std::string_view method,
                     bool keepdims) {
  return Quantiles(CompositeId::k_nanpercentile, x, q, 100, axes, method, keepdims, true);
}
Tensor median(const Tensor& x, const Axes& axes, bool keepdims) {
  return Quantiles(CompositeId::k_median, x, 0.5, 1, axes, "midpoint", keepdims, false);
}
Tensor nanmedian(const Tensor& x, const Axes& axes, bool keepdims) {
  return Quantiles(CompositeId::k_nanmedian, x, 0.5, 1, axes, "midpoint", keepdims, true);
}

}  // namespace frazil::ops
