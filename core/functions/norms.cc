// Norms, ranks, condition numbers, least squares and the exponential of matrices.
#include <cmath>
#include <limits>

#include "core/backend.h"
#include "core/default_dtype.h"
#include "core/functions/functions.h"
#include "core/functions/linalg.h"
#include "core/functions/parts.h"
#include "core/infer.h"

namespace frazil::ops {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();

Status CheckMatrices(const char* op, const Tensor& x, bool square) {
  if (!x.ok()) return x.status();
  if (x.rank() < 2)
    return LinAlgError("[", op, "] needs at least two axes, got shape ", Tuple(x), ".");
  if (square && x.layout()->dim(-1) != x.layout()->dim(-2))
    return LinAlgError("[", op, "] needs square matrices, got shape ", Tuple(x), ".");
  return absl::OkStatus();
}

double Epsilon(DType dtype) {
  return PartOf(dtype) == DType::kF64 ? std::numeric_limits<double>::epsilon()
                                      : std::numeric_limits<float>::epsilon();
}

double Larger(const Tensor& x) {
  return static_cast<double>(std::max(x.layout()->dim(-1), x.layout()->dim(-2)));
}

// The largest of numbers that are not negative: 0 of none, as NumPy's norms have it.
Tensor Largest(const Tensor& sizes, const Axes& axes, bool keepdims) {
  return sizes.ok() && sizes.size() == 0 ? sum(sizes, axes, keepdims) : max(sizes, axes, keepdims);
}

std::string Quoted(const Order& ord) {
  return ord.text.empty() ? StrCat(ord.value.value_or(0)) : StrCat("'", ord.text, "'");
}

}  // namespace

Tensor trace(const Tensor& x, int64_t offset, std::optional<DType> dtype) {
  const Tensor line = diagonal(x, offset, -2, -1);
  if (!dtype) return sum(line, Over({-1}));
  return astype(sum(astype(line, *dtype), Over({-1})), *dtype);
}

Tensor cholesky_solve(const Tensor& b, const Tensor& factor, bool upper) {
  if (upper) return solve_triangular(factor, solve_triangular(factor, b, false, false, 2));
  return solve_triangular(factor, solve_triangular(factor, b, true), true, false, 2);
}

Tensor vector_norm(const Tensor& given, const Axes& axes, bool keepdims, const Order& ord) {
  const Tensor x = Inexact(given);
  if (!x.ok()) return x;
  if (!ord.text.empty())
    return ValueError("[vector_norm] ord must be a number, got ", Quoted(ord), ".");
  const double p = ord.value.value_or(2);
  if (p == 2) return euclidean_norm(x, axes, keepdims);
  const Tensor size = abs(x);
  if (p == kInf) return Largest(size, axes, keepdims);
  if (p == -kInf) return min(size, axes, keepdims);
  if (p == 0) return astype(count_nonzero(x, axes, keepdims), size.dtype());
  if (p == 1) return sum(size, axes, keepdims);
  return pow(sum(pow(size, p), axes, keepdims), 1 / p);
}

Tensor matrix_norm(const Tensor& given, bool keepdims, const Order& ord) {
  const Tensor x = Inexact(given);
  if (Status s = CheckMatrices("matrix_norm", x, false); !s.ok()) return Tensor(std::move(s));
  const double p = ord.value.value_or(0);
  const bool nuclear = ord.text == "nuc", named = !ord.text.empty();
  if (ord.text == "fro" || (!named && !ord.value))
    return euclidean_norm(x, Over({-2, -1}), keepdims);
  if (nuclear || (!named && std::abs(p) == 2)) {
    const Tensor values = svdvals(x);
    const Tensor out = nuclear ? sum(values, Over({-1}))
                       : p > 0 ? Largest(values, Over({-1}), false)
                               : min(values, Over({-1}));
    const int64_t ends[] = {-2, -1};
    return keepdims ? expand_dims(out, ends) : out;
  }
  if (named || (std::abs(p) != 1 && std::abs(p) != kInf)) {
    return ValueError("[matrix_norm] ord must be 'fro', 'nuc', 1, -1, 2, -2, inf or -inf, got ",
                      Quoted(ord), ".");
  }
  const Tensor sums = sum(abs(x), Over({std::abs(p) == 1 ? -2 : -1}), true);
  const Axes both = Over({-2, -1});
  return p > 0 ? Largest(sums, both, keepdims) : min(sums, both, keepdims);
}

Tensor norm(const Tensor& given, const Order& ord, const Axes& given_axes, bool keepdims) {
  const Tensor x = Inexact(given);
  if (!x.ok()) return x;
  Axes axes = given_axes;
  if (!axes) {
    if (ord.text.empty() && !ord.value) return euclidean_norm(x, {}, keepdims);
    if (x.rank() != 1 && x.rank() != 2)
      return ValueError("[norm] needs an axis or one or two axes, got shape ", Tuple(x), ".");
    axes = x.rank() == 1 ? Over({0}) : Over({0, 1});
  }
  if (axes->size() == 1) return vector_norm(x, axes, keepdims, ord);
  if (axes->size() != 2) return ValueError("[norm] takes one axis or two, got ", axes->size(), ".");
  int64_t fixed[2];
  for (size_t i = 0; i < 2; ++i) {
    const auto axis = CheckAxis("norm", (*axes)[i], x.rank());
    if (!axis.ok()) return Tensor(axis.status());
    fixed[i] = *axis;
  }
  if (fixed[0] == fixed[1]) {
    return ValueError("[norm] the axes must differ, got ", (*axes)[0], " and ", (*axes)[1], ".");
  }
  const int64_t ends[] = {-2, -1};
  const Tensor out = matrix_norm(moveaxis(x, fixed, ends), false, ord);
  return keepdims ? expand_dims(out, fixed) : out;
}

Tensor cond(const Tensor& given, const Order& p) {
  const Tensor x = Inexact(given);
  if (Status s = CheckMatrices("cond", x, false); !s.ok()) return Tensor(std::move(s));
  if (x.size() == 0)
    return LinAlgError("[cond] an empty array has no condition number: shape ", Tuple(x), ".");
  if (p.text.empty() && (!p.value || std::abs(*p.value) == 2)) {
    const Tensor s = svdvals(x);
    if (!s.ok()) return s;
    const Tensor first = Pick(s, s.rank() - 1, 0), last = Pick(s, s.rank() - 1, -1);
    return where(equal(first, 0), kInf, p.value == -2.0 ? last / first : first / last);
  }
  if (Status s = CheckMatrices("cond", x, true); !s.ok()) return Tensor(std::move(s));
  const Tensor size = matrix_norm(x, false, p);
  const Tensor inverse = size.ok() ? inv(x) : size;
  if (inverse.ok() || KindOf(inverse.status()) != ErrorKind::kLinAlg)
    return size * matrix_norm(inverse, false, p);
  if (x.rank() == 2) return filled({}, Scalar::Float(kInf), PartOf(x.dtype()));
  Tensors parts;
  for (const Tensor& part : unstack(x)) parts.push_back(cond(part, p));
  return stack(parts);
}

Tensor matrix_rank(const Tensor& x, const Tensor* tol, bool hermitian, const Tensor* rtol) {
  if (!x.ok()) return x;
  if (tol && rtol) return ValueError("[matrix_rank] takes tol or rtol, got both.");
  if (x.rank() < 2) return astype(any(not_equal(x, 0)), DType::kI64);
  const Tensor s = hermitian ? abs(eigvalsh(x)) : svdvals(x);
  if (!s.ok()) return s;
  if (s.layout()->dim(-1) == 0)
    return filled(s.dims().first(s.dims().size() - 1), Scalar::Int(0), DType::kI64);
  const auto relative = [&] {
    const Tensor largest = max(s, Over({-1}));
    return rtol ? *rtol * largest : largest * (Larger(x) * Epsilon(s.dtype()));
  };
  const Tensor least = tol ? *tol : relative();
  return count_nonzero(greater(s, expand_dims(least, -1)), Over({-1}));
}

LstsqResult lstsq(const Tensor& given_a, const Tensor& given_b, std::optional<double> rcond) {
  const auto failed = [](const Tensor& why) { return LstsqResult{why, why, 0, why}; };
  if (Status s = CheckMatrices("lstsq", given_a, false); !s.ok()) return failed(Tensor(s));
  if (!given_b.ok()) return failed(given_b);
  if (given_a.rank() != 2 || (given_b.rank() != 1 && given_b.rank() != 2)) {
    return failed(LinAlgError("[lstsq] needs a matrix and a vector or matrix, got shapes ",
                              Tuple(given_a), " and ", Tuple(given_b), "."));
  }
  if (given_a.dims()[0] != given_b.dims()[0]) {
    return failed(LinAlgError("[lstsq] needs as many rows on both sides, got shapes ",
                              Tuple(given_a), " and ", Tuple(given_b), "."));
  }
  Tensor a = Inexact(given_a), b = Inexact(given_b);
  const DType dtype = Promote(a.dtype(), b.dtype());
  a = astype(a, dtype);
  b = astype(b, dtype);
  const int64_t m = a.dims()[0], n = a.dims()[1];
  const double least = rcond.value_or(Larger(a) * Epsilon(dtype));
  const Tensor limit = scalar(Scalar::Float(least), DefaultFloat());
  auto [inverse, s] = pinv_with_values(a, &limit);
  if (NeedsGrad(State(), a)) s = svdvals(a);  // whose gradient the inverse's has not
  const Tensor x = matmul(inverse, b);
  if (!x.ok()) return failed(x);
  const auto residuals = [&] {
    const Tensor left = abs(b - matmul(a, x));
    return flatten(sum(left * left, Over({0})));
  };
  const Tensor none = filled({0}, Scalar::Int(0), s.dtype());
  const Tensor kept =
      count_nonzero(greater(s, Narrow(s, 0, 0, std::min<int64_t>(1, s.size())) * least));
  if (!kept.ok()) return failed(kept);
  // It differs between the examples of a vmap.
  if (Behind(kept.value_ref()).get() != kept.value())
    return {x, m <= n ? none : residuals(), -1, s};
  const auto count = Integers(kept);
  if (!count.ok()) return failed(Tensor(count.status()));
  const int64_t rank = count->front();
  return {x, rank < n || m <= n ? none : residuals(), rank, s};
}

Tensor hermitian(const Tensor& x) {
  const Tensor lower = tril(x, -1);
  if (!lower.ok()) return lower;
  const int64_t n = x.layout()->dim(-1);
  return lower + adjoint(lower) + real(x) * eye(n, n, 0, x.dtype());
}

SvdResult svd_hermitian(const Tensor& x) {
  const auto [w, v] = eigh(x);
  if (!w.ok()) return {w, w, w};
  const Tensor size = abs(w), order = argsort(size, -1, true);
  const Tensor s = take_along_axis(size, order, -1);
  const Tensor u = take_along_axis(v, broadcast_to(expand_dims(order, -2), v.dims()), -1);
  const Tensor signs = take_along_axis(astype(where(less(w, 0), -1.0, 1.0), w.dtype()), order, -1);
  return {u, s, adjoint(u * expand_dims(signs, -2))};
}

namespace {

// Of the approximant of degree 13, and the largest norm it is good for: Higham 2005.
constexpr double kPade[] = {64764752532480000.0,
                            32382376266240000.0,
                            7771770303897600.0,
                            1187353796428800.0,
                            129060195264000.0,
                            10559470521600.0,
                            670442572800.0,
                            33522128640.0,
                            1323241920.0,
                            40840800.0,
                            960960.0,
                            16380.0,
                            182.0,
                            1.0};
constexpr double kPadeNorm = 5.371920351148152;

}  // namespace

Tensor expm(const Tensor& given) {
  const Tensor x = Inexact(given);
  if (Status s = CheckMatrices("expm", x, true); !s.ok()) return Tensor(std::move(s));
  if (x.size() == 0) return x;
  const Tensor size = max(sum(abs(x.Detach()), Over({-2})), Over({-1})) / kPadeNorm;
  const Tensor halvings = ceil(log2(where(isfinite(size), maximum(size, 1.0), 1.0)));
  const auto rounds = Integers(max(halvings));
  if (!rounds.ok()) return Tensor(rounds.status());
  const int64_t ends[] = {-2, -1};
  const Tensor every = expand_dims(halvings, ends);
  const Tensor a = x * exp2(negative(every));
  const int64_t n = x.layout()->dim(-1);
  const Tensor one = eye(n, n, 0, x.dtype());
  const Tensor a2 = matmul(a, a), a4 = matmul(a2, a2), a6 = matmul(a4, a2);
  const double* const c = kPade;
  Tensor odd = matmul(a6, c[13] * a6 + c[11] * a4 + c[9] * a2);
  odd = matmul(a, odd + c[7] * a6 + c[5] * a4 + c[3] * a2 + c[1] * one);
  Tensor even = matmul(a6, c[12] * a6 + c[10] * a4 + c[8] * a2);
  even = even + c[6] * a6 + c[4] * a4 + c[2] * a2 + c[0] * one;
  Tensor out = solve(even - odd, even + odd);
  for (int64_t i = 0; i < rounds->front(); ++i) {
    const Tensor squared = matmul(out, out);
    out = x.rank() == 2 ? squared : where(greater(every, i), squared, out);
  }
  return out;
}

}  // namespace frazil::ops
