// Samples on a line: differences, convolution, polynomials.
#include <algorithm>
#include <cmath>

#include "core/functions/functions.h"
#include "core/functions/parts.h"

namespace frazil::ops {

namespace {

// Numbers that a dtype of no lesser kind may be made of: NumPy's casts of the "same kind".
bool SameKind(DType from, DType to) {
  const auto kind = [](DType t) {
    return IsBool(t) ? 0 : IsUnsigned(t) ? 1 : IsInt(t) ? 2 : IsFloat(t) ? 3 : 4;
  };
  return kind(from) <= kind(to);
}

}  // namespace

Tensor ediff1d(const Tensor& given, const Tensor* to_end, const Tensor* to_begin) {
  const Tensor x = flatten(given);
  if (!x.ok()) return x;
  const auto end = [&](const char* what, const Tensor& t) -> Tensor {
    if (t.ok() && !SameKind(t.dtype(), x.dtype())) {
      return TypeError("[ediff1d] ", what, " is ", Name(t.dtype()), ", which the differences of ",
                       Name(x.dtype()), " do not hold; use astype.");
    }
    return astype(flatten(t), x.dtype());
  };
  Tensors parts;
  if (to_begin) parts.push_back(end("to_begin", *to_begin));
  parts.push_back(Within(x, 1, 0) - Within(x, 0, 1));
  if (to_end) parts.push_back(end("to_end", *to_end));
  return concat(parts, 0);
}

namespace {

// The i-th of the last axis, which stays; from the end for i < 0.
Tensor At(const Tensor& x, int64_t i) {
  return x.ok() ? Narrow(x, x.rank() - 1, i < 0 ? i + x.layout()->dim(-1) : i, 1) : x;
}

// The slope at the first of three points, h1 and h2 apart.
template <typename H>
Tensor Edge(const Tensor& f0, const Tensor& f1, const Tensor& f2, const H& h1, const H& h2) {
  const auto a = -(2.0 * h1 + h2) / (h1 * (h1 + h2));
  const auto b = (h1 + h2) / (h1 * h2), c = -h1 / (h2 * (h1 + h2));
  return a * f0 + b * f1 + c * f2;
}

template <typename H>
Tensor WithEdges(const Tensor& f, const Tensor& inner, const H& first, const H& second,
                 const H& before, const H& last, bool two) {
  const Tensor start =
      two ? Edge(At(f, 0), At(f, 1), At(f, 2), first, second) : (At(f, 1) - At(f, 0)) / first;
  const Tensor end =
      two ? -Edge(At(f, -1), At(f, -2), At(f, -3), last, before) : (At(f, -1) - At(f, -2)) / last;
  return concat({start, inner, end}, f.rank() - 1);
}

Tensor Slope(const Tensor& given, int axis, const Arg& step, bool two) {
  const int64_t n = given.dims()[axis];
  if (n < 2 + two) {
    return ValueError("[gradient] needs ", 2 + two, " points along axis ", axis, ", got ", n, ".");
  }
  const Tensor f = MoveAxis(given, axis, -1);
  const Tensor around = Within(f, 2, 0), behind = Within(f, 0, 2);
  if (!step.tensor() && step.scalar().is_complex())
    return Slope(given, axis, scalar(step.scalar(), Promote(given.dtype(), DType::kC64)), two);
  if (!step.tensor()) {
    const double h = step.scalar().AsDouble();
    return MoveAxis(WithEdges(f, (around - behind) / (2.0 * h), h, h, h, h, two), -1, axis);
  }
  const Tensor& at = *step.tensor();
  if (!at.ok()) return at;
  if (at.rank() > 1 || (at.rank() == 1 && at.size() != n))
    return ValueError("[gradient] coordinates of shape ", Tuple(at), " for ", n, " points.");
  if (at.rank() == 0)
    return MoveAxis(WithEdges(f, (around - behind) / (2.0 * at), at, at, at, at, two), -1, axis);
  const Tensor places = Inexact(at), h = Within(places, 1, 0) - Within(places, 0, 1);
  const Tensor a = Within(h, 0, 1), b = Within(h, 1, 0);
  Tensor inner = -b / (a * (a + b)) * behind + (b - a) / (a * b) * Within(f, 1, 1);
  inner = inner + a / (b * (a + b)) * around;
  const Tensor first = Pick(h, 0, 0), last = Pick(h, 0, -1);
  const Tensor second = two ? Pick(h, 0, 1) : first, before = two ? Pick(h, 0, -2) : last;
  return MoveAxis(WithEdges(f, inner, first, second, before, last, two), -1, axis);
}

}  // namespace

Tensors gradient(const Tensor& x, ArgSpan spacing, const Axes& axes, int64_t edge_order) {
  const Tensor f = Inexact(x);
  if (!f.ok()) return {f};
  std::vector<int> along;
  for (int i = 0; i < f.rank() && !axes; ++i) along.push_back(i);
  for (size_t i = 0; axes && i < axes->size(); ++i) {
    const auto axis = CheckAxis("gradient", (*axes)[i], f.rank());
    if (!axis.ok()) return {Tensor(axis.status())};
    along.push_back(*axis);
  }
  std::vector<Arg> steps(spacing.begin(), spacing.end());
  if (steps.empty()) steps.emplace_back(1.0);
  const Tensor* const one = steps[0].tensor();
  if (steps.size() == 1 && (!one || (one->ok() && one->rank() == 0)))
    steps.resize(along.size(), Arg(steps[0]));
  if (steps.size() != along.size()) {
    return {
        Tensor(TypeError("[gradient] ", steps.size(), " spacings for ", along.size(), " axes."))};
  }
  if (edge_order != 1 && edge_order != 2) {
    return {Tensor(ValueError("[gradient] edge_order must be 1 or 2, got ", edge_order, "."))};
  }
  Tensors out;
  for (size_t i = 0; i < along.size(); ++i)
    out.push_back(Slope(f, along[i], steps[i], edge_order == 2));
  return out;
}

Tensor trapezoid(const Tensor& given, const Tensor* x, double dx, int64_t axis) {
  if (!given.ok()) return given;
  if (x && !x->ok()) return *x;
  const auto along = CheckAxis("trapezoid", axis, given.rank());
  if (!along.ok()) return Tensor(along.status());
  Tensor y = MoveAxis(given, *along, -1);
  if (y.ok() && IsBool(y.dtype())) y = astype(y, DType::kI64);
  const Tensor both = Within(y, 1, 0) + Within(y, 0, 1);
  if (!x) return sum(dx * both / 2.0, Over({-1}));
  const Tensor widths = diff(x->rank() == 1 ? *x : MoveAxis(*x, *along, -1));
  return sum(widths * both / 2.0, Over({-1}));
}

namespace {

// Two vectors in their common dtype; the first one holds the error.
std::pair<Tensor, Tensor> Vectors(const char* op, const Tensor& a, const Tensor& v) {
  if (const Tensor* error = FirstError({&a, &v})) return {*error, *error};
  const bool wide = a.rank() > 1 || v.rank() > 1;
  if (wide || a.size() == 0 || v.size() == 0) {
    const Tensor error = ValueError("[", op, "] needs ", wide ? "vectors" : "elements",
                                    ", got shapes ", Tuple(a), " and ", Tuple(v), ".");
    return {error, error};
  }
  const DType dtype = Promote(a.dtype(), v.dtype());
  return {astype(flatten(a), dtype), astype(flatten(v), dtype)};
}

// Sums of products of v with the part of a that it covers, at every shift that mode keeps.
Tensor Slide(const char* op, const Tensor& a, const Tensor& v, std::string_view mode) {
  if (const Tensor* error = FirstError({&a, &v})) return *error;
  if (mode != "full" && mode != "same" && mode != "valid") {
    return ValueError("[", op, "] mode must be 'full', 'same' or 'valid', got '", mode, "'.");
  }
  const int64_t width = v.size(), left = mode == "full"   ? width - 1
                                         : mode == "same" ? width / 2
                                                          : 0;
  const int64_t right = mode == "full" ? width - 1 : mode == "same" ? width - 1 - width / 2 : 0;
  const Tensor padded = pad(a, {left, right}, Scalar::Int(0));
  const int64_t n = a.size() + left + right - width + 1;
  const auto windows = [&] {
    return take(padded, expand_dims(iota(n, DType::kI64), 1) + iota(width, DType::kI64), 0);
  };
  if (IsBool(a.dtype())) return any(bitwise_and(windows(), v), Over({1}));
  if (width > 16) return matmul(windows(), v);
  Tensor out = Narrow(padded, 0, 0, n) * Pick(v, 0, 0);  // shifted arrays: one kernel
  for (int64_t i = 1; i < width; ++i) out = out + Narrow(padded, 0, i, n) * Pick(v, 0, i);
  return out;
}

}  // namespace

Tensor convolve(const Tensor& a, const Tensor& v, std::string_view mode) {
  auto [first, second] = Vectors("convolve", a, v);
  if (!first.ok()) return first;
  if (second.size() > first.size()) std::swap(first, second);
  return Slide("convolve", first, flip(second, {}), mode);
}

Tensor correlate(const Tensor& a, const Tensor& v, std::string_view mode) {
  const auto [first, second] = Vectors("correlate", a, v);
  if (!first.ok()) return first;
  if (second.size() > first.size())
    return flip(conj(Slide("correlate", second, conj(first), mode)), {});
  return Slide("correlate", first, conj(second), mode);
}

Tensor unwrap(const Tensor& given, std::optional<double> discont, int64_t axis,
              const Number& period) {
  if (!given.ok()) return given;
  const auto along = CheckAxis("unwrap", axis, given.rank());
  if (!along.ok()) return Tensor(along.status());
  if (given.dims()[*along] == 0) return given;
  const Tensor p = MoveAxis(given, *along, -1), d = Within(p, 1, 0) - Within(p, 0, 1);
  if (!d.ok()) return d;
  const bool whole = period.kind == Scalar::Kind::kInt && !IsFloat(p.dtype());
  const double half = period.AsDouble() / 2;
  const int64_t floored = static_cast<int64_t>(std::floor(half));
  const Arg low = whole ? Arg(-floored) : Arg(-half), high = whole ? Arg(floored) : Arg(half);
  Tensor wrapped = remainder(d - low, period) + low;
  if (!whole || period.i % 2 == 0)
    wrapped = where(bitwise_and(equal(wrapped, low), greater(d, 0)), high, wrapped);
  const Tensor correction = where(less(abs(d), discont.value_or(half)), 0, wrapped - d);
  if (!correction.ok()) return correction;
  const int last = p.rank() - 1;
  const Tensor moved = Within(p, 1, 0) + cumulative_sum(correction, last);
  return MoveAxis(concat({At(p, 0), moved}, last), -1, *along);
}

namespace {

Tensor Coefficients(const Tensor& p) { return atleast_1d(p); }

// As many coefficients of both.
std::pair<Tensor, Tensor> Padded(const char* op, const Tensor& given_a, const Tensor& given_b) {
  const Tensor a = Coefficients(given_a), b = Coefficients(given_b);
  if (const Tensor* error = FirstError({&a, &b})) return {*error, *error};
  if (a.rank() != 1 || b.rank() != 1) {
    const Tensor error =
        ValueError("[", op, "] needs vectors, got shapes ", Tuple(a), " and ", Tuple(b), ".");
    return {error, error};
  }
  const int64_t n = std::max(a.dims()[0], b.dims()[0]);
  const auto longer = [&](const Tensor& p) { return pad(p, {n - p.dims()[0], 0}, Scalar::Int(0)); };
  return {longer(a), longer(b)};
}

}  // namespace

Tensor polyadd(const Tensor& a, const Tensor& b) {
  const auto [x, y] = Padded("polyadd", a, b);
  return x + y;
}
Tensor polysub(const Tensor& a, const Tensor& b) {
  const auto [x, y] = Padded("polysub", a, b);
  return x - y;
}
Tensor polymul(const Tensor& a, const Tensor& b) {
  return convolve(Coefficients(a), Coefficients(b));
}

Tensor polyval(const Tensor& p, const Tensor& x) {
  if (const Tensor* error = FirstError({&p, &x})) return *error;
  if (p.rank() != 1)
    return ValueError("[polyval] needs coefficients of one axis, got shape ", Tuple(p), ".");
  Tensor y = filled(x.dims(), Scalar::Int(0), Promote(p.dtype(), x.dtype()));
  for (int64_t i = 0; i < p.size(); ++i) y = y * x + Pick(p, 0, i);
  return y;
}

namespace {

// n, n - 1, ... 1
Tensor Falling(int64_t n) { return arange(Scalar::Int(n), Scalar::Int(0), Scalar::Int(-1), {}); }

constexpr int64_t kMostTerms = int64_t{1} << 16;  // of polynomials that are written out

Status TooMany(const char* op, const char* what, int64_t n) {
  return MemoryError("[", op, "] ", what, " ", n, " is over the limit of ", kMostTerms, ".");
}

Status CheckTimes(const char* op, int64_t m) {
  if (m >= 0) return absl::OkStatus();
  return ValueError("[", op, "] m must be at least 0, got ", m, ".");
}

}  // namespace

Tensor polyder(const Tensor& given, int64_t m) {
  if (Status s = CheckTimes("polyder", m); !s.ok()) return Tensor(std::move(s));
  Tensor p = Coefficients(given);
  for (int64_t i = 0; i < m && p.ok() && p.dims()[0] > 0; ++i) {
    const int64_t n = p.dims()[0] - 1;
    const DType dtype = n ? Promote(p.dtype(), DType::kI64) : p.dtype();
    p = Narrow(p, 0, 0, std::max<int64_t>(n, 0)) * astype(Falling(std::max<int64_t>(n, 0)), dtype);
  }
  return p;
}

Tensor polyint(const Tensor& given, int64_t m, double k) {
  if (Status s = CheckTimes("polyint", m); !s.ok()) return Tensor(std::move(s));
  Tensor p = Inexact(Coefficients(given));
  if (!p.ok()) return p;
  if (p.rank() != 1) return ValueError("[polyint] needs a vector, got shape ", Tuple(p), ".");
  if (m > kMostTerms) return TooMany("polyint", "m", m);
  for (int64_t i = 0; i < m && p.ok(); ++i) {
    const Tensor over = p / astype(Falling(p.dims()[0]), p.dtype());
    p = concat({over, filled({1}, Scalar::Float(k), p.dtype())}, 0);
  }
  return p;
}

Tensor polyfit(const Tensor& given_x, const Tensor& given_y, int64_t deg, const Tensor* w) {
  const Tensor x = Inexact(given_x);
  Tensor y = Inexact(given_y);
  if (const Tensor* error = FirstError({&x, &y})) return *error;
  if (deg < 0) return ValueError("[polyfit] deg must be at least 0, got ", deg, ".");
  const bool fits = x.rank() == 1 && (y.rank() == 1 || y.rank() == 2) && x.size() > 0;
  if (!fits || x.dims()[0] != y.dims()[0]) {
    return TypeError("[polyfit] needs as many points as values, got shapes ", Tuple(x), " and ",
                     Tuple(y), ".");
  }
  if (deg > kMostTerms) return TooMany("polyfit", "deg", deg);
  Tensors columns;
  for (int64_t k = deg; k >= 0; --k) columns.push_back(pow(x, k));
  Tensor powers = stack(columns, 1);
  if (w) {
    const Tensor weights = Inexact(*w);
    if (!weights.ok()) return weights;
    if (weights.dims() != x.dims()) {
      return TypeError("[polyfit] w needs shape ", Tuple(x), ", got ", Tuple(weights), ".");
    }
    powers = powers * expand_dims(weights, 1);
    y = y * (y.rank() == 1 ? weights : expand_dims(weights, 1));
  }
  const Tensor size = sqrt(sum(real(powers * conj(powers)), Over({0})));
  const Tensor scale = where(equal(size, 0), 1, size);
  const Tensor found = lstsq(powers / scale, y).x;
  return found / (y.ok() && y.rank() == 2 ? expand_dims(scale, 1) : scale);
}

}  // namespace frazil::ops
