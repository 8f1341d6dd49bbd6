// Matrices and products under NumPy's names: diagonals, triangles, grids of indices, sums of products.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/default_dtype.h"
#include "core/functions/functions.h"
#include "core/functions/parts.h"

namespace frazil::ops {

Tensor diagonal(const Tensor& given, int64_t offset, int64_t axis1, int64_t axis2) {
  if (!given.ok()) return given;
  if (given.rank() < 2)
    return ValueError("[diagonal] needs at least two axes, got shape ", Tuple(given), ".");
  const auto a = CheckAxis("diagonal", axis1, given.rank());
  const auto b = CheckAxis("diagonal", axis2, given.rank());
  if (!a.ok()) return Tensor(a.status());
  if (!b.ok()) return Tensor(b.status());
  if (*a == *b)
    return ValueError("[diagonal] the axes must differ, got ", axis1, " and ", axis2, ".");
  const int64_t from[] = {*a, *b}, to[] = {-2, -1};
  const Tensor x = moveaxis(given, from, to);
  if (!x.ok()) return x;
  const int last = x.rank() - 1;
  const int64_t down = std::max<int64_t>(-offset, 0), right = std::max<int64_t>(offset, 0);
  const int64_t n =
      std::max<int64_t>(std::min(x.layout()->dim(-2) - down, x.layout()->dim(-1) - right), 0);
  DimVec dims(x.dims().begin(), x.dims().end() - 2);
  dims.push_back(n * n);
  if (n == 0) return reshape(Narrow(x, last, 0, 0), dims);
  // A square of n x n, read with a step of n + 1.
  const Tensor square = reshape(Narrow(Narrow(x, last - 1, down, n), last, right, n), dims);
  if (!square.ok() || n == 1) return square;
  Attrs steps = WholeSlice(square.dims());
  steps[steps.size() - 2] = n + 1;
  steps[steps.size() - 1] = n;
  return slice(square, steps);
}

Tensor diag(const Tensor& x, int64_t k) {
  if (!x.ok()) return x;
  if (x.rank() == 2) return diagonal(x, k);
  if (x.rank() != 1) return ValueError("[diag] needs one axis or two, got shape ", Tuple(x), ".");
  constexpr int64_t kFar = int64_t{1} << 61;  // farther than any matrix goes
  k = std::clamp(k, -kFar, kFar);
  const int64_t n = x.dims()[0] + std::abs(k), before = std::max<int64_t>(k, 0);
  if (Status s = CheckDims("diag", {n, n}, SizeOf(x.dtype())); !s.ok()) return Tensor(std::move(s));
  const Tensor columns = iota(n, DType::kI64);
  const Tensor inside = pad(x, {before, before - k}, Scalar::Int(0));  // what column j holds
  return where(equal(columns, reshape(columns, {n, 1}) + Arg(k)), inside,
               filled({}, Scalar::Int(0), x.dtype()));
}

Tensor diagflat(const Tensor& x, int64_t k) { return diag(flatten(x), k); }

namespace {

Status AtLeast(const char* op, const char* what, int64_t least, int64_t value) {
  if (value >= least) return absl::OkStatus();
  return ValueError("[", op, "] ", what, " must be at least ", least, ", got ", value, ".");
}

Tensors Triangle(const char* op, int64_t n, int64_t k, std::optional<int64_t> columns, bool lower) {
  const int64_t m = columns.value_or(n);
  if (Status s = AtLeast(op, "n", 0, n); !s.ok()) return {Tensor(std::move(s))};
  if (Status s = AtLeast(op, "m", 0, m); !s.ok()) return {Tensor(std::move(s))};
  int64_t most = 0;
  if (__builtin_mul_overflow(n, std::max<int64_t>(m, 1), &most) || most > int64_t{1} << 33)
    return {MemoryError("[", op, "] a matrix of ", n, " x ", m, " has too many indices.")};
  k = std::clamp(k, -n, m);
  std::vector<int64_t> rows, places;
  // Rows without places are left out: there may be many.
  const int64_t begin = lower ? std::max<int64_t>(0, -k - 1) : 0;
  const int64_t end = lower ? n : std::min(n, m - k);
  for (int64_t i = m > 0 ? begin : end; i < end; ++i) {
    const int64_t edge = std::clamp<int64_t>(lower ? i + k + 1 : i + k, 0, m);
    for (int64_t j = lower ? 0 : edge; j < (lower ? edge : m); ++j) {
      rows.push_back(i);
      places.push_back(j);
    }
  }
  return {OfInts(rows), OfInts(places)};
}

}  // namespace

Tensor tri(int64_t n, std::optional<int64_t> columns, int64_t k, std::optional<DType> dtype) {
  const int64_t m = columns.value_or(n);
  if (Status s = AtLeast("tri", "n", 0, n); !s.ok()) return Tensor(std::move(s));
  if (Status s = AtLeast("tri", "m", 0, m); !s.ok()) return Tensor(std::move(s));
  k = std::clamp(k, -n, m);
  const Tensor lower =
      less_equal(iota(m, DType::kI64), reshape(iota(n, DType::kI64), {n, 1}) + Arg(k));
  return astype(lower, dtype.value_or(DefaultFloat()));
}

Tensor identity(int64_t n, std::optional<DType> dtype) {
  return eye(n, n, 0, dtype.value_or(DefaultFloat()));
}

Tensors tril_indices(int64_t n, int64_t k, std::optional<int64_t> m) {
  return Triangle("tril_indices", n, k, m, true);
}
Tensors triu_indices(int64_t n, int64_t k, std::optional<int64_t> m) {
  return Triangle("triu_indices", n, k, m, false);
}

Tensors diag_indices(int64_t n, int64_t ndim) {
  if (Status s = AtLeast("diag_indices", "n", 0, n); !s.ok()) return {Tensor(std::move(s))};
  if (ndim > kMaxRank) {
    return {ValueError("[diag_indices] ndim ", ndim, " is over the limit of ", kMaxRank, " axes.")};
  }
  return Tensors(static_cast<size_t>(std::max<int64_t>(ndim, 0)), iota(n, DType::kI64));
}

Tensor indices(Dims dimensions, std::optional<DType> dtype) {
  const DType type = dtype.value_or(DType::kI64);
  if (dimensions.empty()) return filled({0}, Scalar::Int(0), type);
  Tensors grids;
  for (size_t i = 0; i < dimensions.size(); ++i) {
    if (Status s = AtLeast("indices", "a dimension", 0, dimensions[i]); !s.ok())
      return Tensor(std::move(s));
    DimVec dims(dimensions.size(), 1);
    dims[i] = dimensions[i];
    grids.push_back(broadcast_to(reshape(iota(dimensions[i], DType::kI64), dims), dimensions));
  }
  return astype(stack(grids), type);
}

Tensors ix_(TensorSpan vectors) {
  Tensors out;
  for (size_t i = 0; i < vectors.size(); ++i) {
    if (!vectors[i].ok()) return {vectors[i]};
    if (vectors[i].rank() != 1)
      return {Tensor(ValueError("[ix_] needs vectors, got shape ", Tuple(vectors[i]), "."))};
    Tensor v = vectors[i].size() == 0 ? astype(vectors[i], DType::kI64) : vectors[i];
    if (v.ok() && IsBool(v.dtype())) v = nonzero(v)[0];
    if (!v.ok()) return {v};
    DimVec dims(vectors.size(), 1);
    dims[i] = v.dims()[0];
    out.push_back(reshape(v, dims));
  }
  return out;
}

Tensor tensordot(const Tensor& x1, const Tensor& x2, Dims axes1, Dims axes2) {
  if (const Tensor* error = FirstError({&x1, &x2})) return *error;
  DimVec gone1, gone2, free1, free2, extents1, extents2;
  for (const auto& [x, axes, gone] :
       {std::tuple(&x1, axes1, &gone1), std::tuple(&x2, axes2, &gone2)}) {
    for (const int64_t a : axes) {
      const auto axis = CheckAxis("tensordot", a, x->rank());
      if (!axis.ok()) return Tensor(axis.status());
      gone->push_back(*axis);
    }
  }
  for (const int64_t a : gone1) extents1.push_back(x1.dims()[a]);
  for (const int64_t a : gone2) extents2.push_back(x2.dims()[a]);
  if (extents1 != extents2) {
    return ValueError("[tensordot] axes differ: ", List(gone1), " of ", Tuple(x1), " and ",
                      List(gone2), " of ", Tuple(x2), ".");
  }
  int64_t shared = 1, rows = 1, columns = 1;
  for (const int64_t n : extents1) shared *= n;
  DimVec dims;
  const auto rest = [&dims](const Tensor& x, const DimVec& gone, DimVec* kept, int64_t* size) {
    for (int a = 0; a < x.rank(); ++a) {
      if (std::find(gone.begin(), gone.end(), a) != gone.end()) continue;
      kept->push_back(a);
      *size *= x.dims()[a];
      dims.push_back(x.dims()[a]);
    }
  };
  rest(x1, gone1, &free1, &rows);
  rest(x2, gone2, &free2, &columns);
  free1.insert(free1.end(), gone1.begin(), gone1.end());
  gone2.insert(gone2.end(), free2.begin(), free2.end());
  const Tensor left = reshape(permute_dims(x1, free1), {rows, shared});
  const Tensor right = reshape(permute_dims(x2, gone2), {shared, columns});
  return reshape(matmul(left, right), dims);
}

Tensor tensordot(const Tensor& x1, const Tensor& x2, int64_t n) {
  if (const Tensor* error = FirstError({&x1, &x2})) return *error;
  if (Status s = AtLeast("tensordot", "the number of axes", 0, n); !s.ok())
    return Tensor(std::move(s));
  if (const Tensor* error = FirstError({&x1, &x2})) return *error;
  if (n > std::min(x1.rank(), x2.rank())) {
    return IndexError("[tensordot] ", n, " axes of shapes ", Tuple(x1), " and ", Tuple(x2), ".");
  }
  DimVec last(static_cast<size_t>(n)), first(static_cast<size_t>(n));
  std::iota(last.begin(), last.end(), x1.rank() - n);
  std::iota(first.begin(), first.end(), 0);
  return tensordot(x1, x2, last, first);
}

Tensor dot(const Tensor& x1, const Tensor& x2) {
  if (const Tensor* error = FirstError({&x1, &x2})) return *error;
  if (x1.rank() == 0 || x2.rank() == 0) return multiply(x1, x2);
  if (x1.rank() <= 2 && x2.rank() <= 2) return matmul(x1, x2);
  return tensordot(x1, x2, {-1}, {x2.rank() > 1 ? -2 : -1});
}

Tensor inner(const Tensor& x1, const Tensor& x2) {
  if (const Tensor* error = FirstError({&x1, &x2})) return *error;
  if (x1.rank() == 0 || x2.rank() == 0) return multiply(x1, x2);
  return tensordot(x1, x2, {-1}, {-1});
}

Tensor outer(const Tensor& x1, const Tensor& x2) {
  return expand_dims(flatten(x1), 1) * flatten(x2);
}

Tensor vdot(const Tensor& x1, const Tensor& x2) { return matmul(conj(flatten(x1)), flatten(x2)); }

namespace {

Status CheckRanks(const char* op, const char* what, const Tensor& x1, int least1, const Tensor& x2,
                  int least2) {
  for (const Tensor* x : {&x1, &x2}) FZ_RETURN_IF_ERROR(x->status());
  if (x1.rank() >= least1 && x2.rank() >= least2) return absl::OkStatus();
  return ValueError("[", op, "] needs ", what, ", got shapes ", Tuple(x1), " and ", Tuple(x2), ".");
}

}  // namespace

Tensor matvec(const Tensor& x1, const Tensor& x2) {
  if (Status s = CheckRanks("matvec", "a matrix and a vector", x1, 2, x2, 1); !s.ok())
    return Tensor(std::move(s));
  const Tensor out = matmul(x1, expand_dims(x2, -1));
  return out.ok() ? Pick(out, out.rank() - 1, 0) : out;
}

Tensor vecmat(const Tensor& x1, const Tensor& x2) {
  if (Status s = CheckRanks("vecmat", "a vector and a matrix", x1, 1, x2, 2); !s.ok())
    return Tensor(std::move(s));
  const Tensor out = matmul(expand_dims(conj(x1), -2), x2);
  return out.ok() ? Pick(out, out.rank() - 2, 0) : out;
}

Tensor vecdot(const Tensor& x1, const Tensor& x2, int64_t axis) {
  Tensor moved[2];
  for (const Tensor* x : {&x1, &x2}) {
    if (!x->ok()) return *x;
    const auto along = CheckAxis("vecdot", axis, x->rank());
    if (!along.ok()) return Tensor(along.status());
    moved[x == &x2] = MoveAxis(*x, *along, -1);
  }
  const int64_t m = moved[0].layout()->dim(-1), n = moved[1].layout()->dim(-1);
  if (m != n) {
    return ValueError("[vecdot] axis ", axis, " has ", m, " elements in ", Tuple(x1), " and ", n,
                      " in ", Tuple(x2), ".");
  }
  const Tensor products = multiply(conj(moved[0]), moved[1]);
  if (!products.ok()) return products;
  if (IsBool(products.dtype())) return any(products, Over({-1}));
  return astype(sum(products, Over({-1})), products.dtype());
}

Tensor kron(const Tensor& x1, const Tensor& x2) {
  if (const Tensor* error = FirstError({&x1, &x2})) return *error;
  const int rank = std::max(x1.rank(), x2.rank());
  DimVec first, second, dims;
  for (int i = 0; i < rank; ++i) {
    const int i1 = i - rank + x1.rank(), i2 = i - rank + x2.rank();
    const int64_t m = i1 < 0 ? 1 : x1.dims()[i1], n = i2 < 0 ? 1 : x2.dims()[i2];
    first.insert(first.end(), {m, 1});
    second.insert(second.end(), {1, n});
    dims.push_back(m * n);
  }
  return reshape(reshape(x1, first) * reshape(x2, second), dims);
}

Tensor cross(const Tensor& x1, const Tensor& x2, int64_t axis) {
  if (const Tensor* error = FirstError({&x1, &x2})) return *error;
  if (x1.rank() == 0 || x2.rank() == 0) return ValueError("[cross] needs vectors, got a number.");
  Tensor part[2][3];
  int64_t extent[2];
  for (int side = 0; side < 2; ++side) {
    const Tensor& x = side ? x2 : x1;
    const auto along = CheckAxis("cross", axis, x.rank());
    if (!along.ok()) return Tensor(along.status());
    extent[side] = x.dims()[*along];
    const Tensor last = MoveAxis(x, *along, -1);
    for (int i = 0; i < 3 && i < extent[side]; ++i) part[side][i] = Pick(last, x.rank() - 1, i);
  }
  if (extent[0] != 3 || extent[1] != 3) {
    return ValueError("[cross] needs three elements along axis ", axis, ", got ", extent[0],
                      " and ", extent[1], ".");
  }
  const auto& [a, b] = part;
  const Tensor out =
      stack({a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]}, -1);
  return MoveAxis(out, -1, axis);
}

Tensor vander(const Tensor& given, std::optional<int64_t> columns, bool increasing) {
  if (!given.ok()) return given;
  if (given.rank() != 1)
    return ValueError("[vander] needs a vector, got shape ", Tuple(given), ".");
  const int64_t rows = given.dims()[0], n = columns.value_or(rows);
  if (Status s = AtLeast("vander", "n", 0, n); !s.ok()) return Tensor(std::move(s));
  const bool real = IsFloat(given.dtype());
  const Tensor x = real ? given : astype(given, Promote(given.dtype(), DType::kI64));
  const Tensor ones = filled({rows, 1}, Scalar::Int(1), x.dtype());
  const Tensor factors = broadcast_to(expand_dims(x, 1), {rows, std::max<int64_t>(n - 1, 0)});
  const Tensor powers = Narrow(cumulative_prod(concat({ones, factors}, 1), 1), 1, 0, n);
  return increasing ? powers : flip(powers, Over({1}));
}

Tensor logspace(double start, double stop, int64_t num, bool endpoint, double base,
                std::optional<DType> dtype) {
  const Tensor line = linspace(start, stop, num, endpoint, DType::kF64);
  return astype(pow(base, line), dtype.value_or(DefaultFloat()));
}

namespace {

// stop / start as Python divides complex numbers (Smith 1962).
std::complex<double> Quotient(std::complex<double> a, std::complex<double> b) {
  if (std::abs(b.real()) >= std::abs(b.imag())) {
    const double ratio = b.imag() / b.real(), below = b.real() + b.imag() * ratio;
    return {(a.real() + a.imag() * ratio) / below, (a.imag() - a.real() * ratio) / below};
  }
  const double ratio = b.real() / b.imag(), below = b.real() * ratio + b.imag();
  return {(a.real() * ratio + a.imag()) / below, (a.imag() * ratio - a.real()) / below};
}

// The ends as they were given.
Tensor WithEnds(const Tensor& x, const Scalar& start, const Scalar& stop, bool endpoint) {
  if (!x.ok()) return x;
  const int64_t num = x.size();
  const Tensor place = iota(num, DType::kI64), out = where(equal(place, 0), start, x);
  return endpoint ? where(equal(place, num - 1), num > 1 ? stop : start, out) : out;
}

std::string Text(const Scalar& s) {
  if (s.is_complex()) return StrCat("(", s.f, s.im < 0 ? "" : "+", s.im, "j)");
  return s.kind == Scalar::Kind::kFloat || s.beyond() ? StrCat(s.AsDouble()) : StrCat(s.i);
}

}  // namespace

Tensor geomspace(const Number& start, const Number& stop, int64_t num, bool endpoint,
                 std::optional<DType> dtype) {
  const double a = start.AsDouble(), b = stop.AsDouble();
  const bool complex = start.is_complex() || stop.is_complex();
  if (complex) {
    const std::complex<double> from(a, start.im), to(b, stop.im);
    if (from == 0.0 || to == 0.0) {
      return ValueError("[geomspace] needs numbers that are not 0, got ", Text(start), " and ",
                        Text(stop), ".");
    }
    const Tensor line = linspace(0, 1, num, endpoint, DType::kF64);
    const Tensor spiral = multiply(from, exp(multiply(line, std::log(Quotient(to, from)))));
    return astype(WithEnds(spiral, start, stop, endpoint), dtype.value_or(DType::kC64));
  }
  if (a == 0 || b == 0 || (a < 0) != (b < 0)) {
    return ValueError("[geomspace] needs two numbers of one sign, got ", Text(start), " and ",
                      Text(stop), ".");
  }
  const Tensor line =
      linspace(std::log10(std::abs(a)), std::log10(std::abs(b)), num, endpoint, DType::kF64);
  const Tensor out = WithEnds((a < 0 ? -1.0 : 1.0) * pow(10.0, line), start, stop, endpoint);
  return astype(out, dtype.value_or(DefaultFloat()));
}

}  // namespace frazil::ops
