#include "autograd/linear_rules.h"

#include "core/functions/linalg.h"

namespace frazil::autograd {

using namespace ops;  // NOLINT: operators on tensors

namespace {

MatrixParts Parts(const TapeNode& node, int64_t option) {
  const Dims dims = node.input_dims(0);
  return MatrixParts::Of(node.op, dims[dims.size() - 2], dims[dims.size() - 1], option);
}
MatrixParts Parts(const TapeNode& node) { return Parts(node, node.attr(0)); }

Tensor Product(const Tensor& a, const Tensor& b) { return matmul(a, b); }
Tensor Product(const Tensor& a, const Tensor& b, const Tensor& c) {
  return matmul(matmul(a, b), c);
}

// v as columns' factors of a matrix, or as rows'.
Tensor Row(const Tensor& v) { return expand_dims(v, -2); }
Tensor Column(const Tensor& v) { return expand_dims(v, -1); }

// n x n of the real dtype that `like` is made of.
Tensor Eye(int64_t n, const Tensor& like) {
  return to_device(eye(n, n, 0, PartOf(like.dtype())), like.device());
}
Tensor Diagonal(const Tensor& v) { return Eye(v.dims().back(), v) * Row(v); }

// 1, and 1/2 on the diagonal.
Tensor HalfDiagonal(int64_t n, const Tensor& like) { return 1.0 - Eye(n, like) * 0.5; }

// 1 / x, and 0 for 0.
Tensor Reciprocal(const Tensor& x) {
  const Tensor zero = equal(x, 0.0);
  return where(zero, 0.0, divide(1.0, where(zero, 1.0, x)));
}

Tensor Hermitian(const Tensor& x) { return (x + adjoint(x)) * 0.5; }

// x[..., begin : begin + n]
Tensor Columns(const Tensor& x, int64_t begin, int64_t n) {
  Attrs range = WholeSlice(x.dims());
  range[range.size() - 3] = n ? begin : 0;
  range[range.size() - 1] = n;
  return slice(x, range);
}

// x[..., :n, :]
Tensor Rows(const Tensor& x, int64_t n) {
  Attrs range = WholeSlice(x.dims());
  range[range.size() - 4] = n;
  return slice(x, range);
}

// The gradient of orthonormal columns q, the first k of which a function has made, and the others
// fill the space: to those k. The others are any basis of what is left, so a function of the space
// alone has a gradient: they turn with the first ones, dq2 = -q1 dq1^H q2.
Tensor ToFirst(const Tensor& of_q, const Tensor& q, int64_t k) {
  const int64_t more = q.dims().back() - k;
  if (!more) return of_q;
  const Tensor first = Columns(q, 0, k), others = Columns(q, k, more);
  const Tensor of_others = Columns(of_q, k, more);
  return Columns(of_q, 0, k) - Product(others, Product(adjoint(of_others), first));
}

// The adjoint of a's inverse, by factors of a.
Tensor InverseAdjoint(const Tensor& a, int64_t option) {
  const Tensor lu = lapack(OpId::k_lu_factor, {&a}, option);
  const Tensor one = broadcast_to(astype(Eye(a.dims().back(), a), a.dtype()), a.dims());
  return lapack(OpId::k_lu_solve, {&a, &lu, &one}, kAdjoint);
}

}  // namespace

// dL = L tri(L^-1 da L^-H), where tri halves the diagonal of the lower triangle.
Tensor grad_cholesky(const Tensor& g, const Tensor& y, const TapeNode& node) {
  const MatrixPart part = Parts(node).part[0];
  const Tensor l = matrix_part(y, part);
  const Tensor inner = tril(Product(adjoint(l), matrix_part(g, part))) * HalfDiagonal(part.rows, l);
  const Tensor left = adjoint(lapack(OpId::k_triangular_solve, {&l, &inner}, kConjugated));
  return Hermitian(adjoint(lapack(OpId::k_triangular_solve, {&l, &left}, kConjugated)));
}

Tensor grad_lu_solve(const Tensor& g, const Tensor& a, const Tensor& lu, const Tensor& y,
                     const TapeNode& node, int input, Tensor* shared) {
  const bool of_adjoint = node.attr(0) == kAdjoint;
  if (!shared->defined())
    *shared = lapack(OpId::k_lu_solve, {&a, &lu, &g}, of_adjoint ? kPlainOption : kAdjoint);
  if (input == 2) return *shared;
  return -(of_adjoint ? Product(y, adjoint(*shared)) : Product(*shared, adjoint(y)));
}

Tensor grad_triangular_solve(const Tensor& g, const Tensor& a, const Tensor& y,
                             const TapeNode& node, int input, Tensor* shared) {
  const int64_t option = node.attr(0), triangle = option & (kUpper | kUnitDiagonal);
  const auto solved = [&](const Tensor& b, int64_t how) {
    return lapack(OpId::k_triangular_solve, {&a, &b}, triangle | how);
  };
  if (!shared->defined()) {
    *shared = option & kTransposed   ? conj(solved(conj(g), 0))
              : option & kConjugated ? solved(g, 0)
                                     : solved(g, kConjugated);
  }
  if (input == 1) return *shared;
  const Tensor full = option & kTransposed   ? Product(conj(y), matrix_transpose(*shared))
                      : option & kConjugated ? Product(y, adjoint(*shared))
                                             : Product(*shared, adjoint(y));
  const int64_t off = option & kUnitDiagonal ? 1 : 0;
  return -(option & kUpper ? triu(full, off) : tril(full, -off));
}

Tensor grad_inverse(const Tensor& g, const Tensor& y, const TapeNode& node) {
  const MatrixPart part = Parts(node).part[0];
  const Tensor inverse = adjoint(matrix_part(y, part));
  return -Product(inverse, matrix_part(g, part), inverse);
}

// Cofactors: the determinant times the inverse, of a matrix whose pivots of 0 were made tiny, so
// that those of rank n - 1 have theirs.
Tensor grad_determinant(const Tensor& g, const Tensor& a) {
  const Tensor factor = g * conj(lapack(OpId::k_determinant, {&a}, kNudged));
  return Column(Column(factor)) * InverseAdjoint(a, kNudged);
}

Tensor grad_log_determinant(const Tensor& g, const Tensor& a, const Tensor& y) {
  const auto at = [](const Tensor& x, int64_t i) {
    return expand_dims(row_part(x, {i, 1, 1}), -1);  // of every matrix one number
  };
  Tensor factor = real(at(g, 1));
  if (IsComplex(a.dtype())) factor = complex(factor, -imag(conj(at(g, 0)) * at(y, 0)));
  return factor * InverseAdjoint(a, 0);
}

Tensor grad_qr(const Tensor& g, const Tensor& y, const TapeNode& node) {
  const MatrixParts parts = Parts(node);
  const Tensor whole = matrix_part(y, parts.part[0]), full = matrix_part(y, parts.part[1]);
  const int64_t n = full.layout()->dim(-1), k = std::min(full.layout()->dim(-2), n);
  const Tensor q = Columns(whole, 0, k), r = Rows(full, k);
  Tensor of_q = ToFirst(matrix_part(g, parts.part[0]), whole, k);
  const Tensor of_r = triu(Rows(matrix_part(g, parts.part[1]), k));
  const Tensor square = Columns(r, 0, k), of_square = Columns(of_r, 0, k);
  const Tensor rest = Columns(r, k, n - k), of_rest = Columns(of_r, k, n - k);
  if (n > k) of_q = of_q + Product(q, rest, adjoint(of_rest));
  const Tensor inner = triu(Product(of_square, adjoint(square)) - Product(adjoint(q), of_q));
  const Tensor both = (inner + adjoint(inner)) * HalfDiagonal(k, q);
  const Tensor right = adjoint(of_q + Product(q, both));
  const Tensor first = adjoint(lapack(OpId::k_triangular_solve, {&square, &right}, kUpper));
  if (n == k) return first;
  const Tensor columns[] = {first, Product(q, of_rest)};
  return concat(columns, first.rank() - 1);
}

Tensor grad_svd(const Tensor& g, const Tensor& a, const Tensor& y, const TapeNode& node) {
  const int64_t kind = node.attr(0);
  const Dims dims = node.input_dims(0);
  const int64_t m = dims[dims.size() - 2], n = dims[dims.size() - 1], k = std::min(m, n);
  const auto parts = Parts(node, kind == kSingularValues ? kReduced : kind).part;
  const Tensor factors = kind == kSingularValues ? lapack(OpId::k_svd_factors, {&a}, kReduced) : y;
  const Tensor left = matrix_part(factors, parts[0]), below = matrix_part(factors, parts[2]);
  const Tensor u = Columns(left, 0, k), vh = Rows(below, k);
  const Tensor s = real(row_part(factors, parts[1]));
  const Tensor of_s = real(row_part(g, Parts(node).part[1]));
  if (kind == kSingularValues) return Product(u * Row(of_s), vh);
  const Tensor of_u = ToFirst(matrix_part(g, parts[0]), left, k);
  const Tensor of_vh = adjoint(ToFirst(adjoint(matrix_part(g, parts[2])), adjoint(below), k));
  const auto skew = [](const Tensor& x) { return x - adjoint(x); };
  const Tensor squares = s * s;
  const Tensor apart = Reciprocal(Row(squares) - Column(squares));
  const Tensor turned = skew(Product(adjoint(u), of_u)), right = skew(Product(vh, adjoint(of_vh)));
  Tensor inner = turned * apart * Row(s) + Column(s) * (right * apart) + Diagonal(of_s);
  const Tensor inverse = Reciprocal(s);
  if (IsComplex(a.dtype())) inner = inner + Eye(k, a) * turned * Row(inverse) * 0.5;
  Tensor out = Product(u, inner, vh);
  if (m > k) {
    const Tensor outside = of_u - Product(u, Product(adjoint(u), of_u));
    out = out + Product(outside * Row(inverse), vh);
  }
  if (n > k) {
    const Tensor outside = of_vh - Product(Product(of_vh, adjoint(vh)), vh);
    out = out + Product(u * Row(inverse), outside);
  }
  return out;
}

Tensor grad_eigh(const Tensor& g, const Tensor& a, const Tensor& y, const TapeNode& node) {
  const int64_t option = node.attr(0);
  const bool only_values = option & kValuesOnly;
  const auto parts = Parts(node, option & ~kValuesOnly).part;
  const Tensor factors =
      only_values ? lapack(OpId::k_eigh_factors, {&a}, option & ~kValuesOnly) : y;
  const Tensor v = matrix_transpose(matrix_part(factors, parts[1]));
  const Tensor of_w = real(row_part(g, parts[0]));
  if (only_values) return Hermitian(Product(v * Row(of_w), adjoint(v)));
  const Tensor w = real(row_part(y, parts[0]));
  const Tensor of_v = matrix_transpose(matrix_part(g, parts[1]));
  const Tensor apart = Reciprocal(Row(w) - Column(w));
  const Tensor inner = Product(adjoint(v), of_v) * apart + Diagonal(of_w);
  return Hermitian(Product(v, inner, adjoint(v)));
}

Tensor grad_eig(const Tensor& g, const Tensor& a, const Tensor& y, const TapeNode& node) {
  const bool only_values = node.attr(0) & kValuesOnly;
  const auto parts = Parts(node, 0).part;
  const Tensor factors = only_values ? lapack(OpId::k_eig_factors, {&a}, 0) : y;
  const Tensor v = matrix_transpose(matrix_part(factors, parts[1])), vh = adjoint(v);
  const Tensor eye = Eye(v.dims().back(), v);
  Tensor inner = eye * Row(row_part(g, parts[0]));
  if (!only_values) {
    const Tensor w = row_part(y, parts[0]);
    const Tensor turned = Product(vh, matrix_transpose(matrix_part(g, parts[1])));
    Axes rows;
    rows.emplace({int64_t{-2}});
    const Tensor lengths = sum(real(turned) * eye, rows, true);  // vectors keep theirs
    const Tensor apart = conj(Row(w) - Column(w));
    const Tensor same = equal(apart, 0.0);
    const Tensor moved = (turned - Product(vh, v) * lengths) / where(same, 1.0, apart);
    inner = inner + where(same, 0.0, moved);
  }
  const Tensor lu = lapack(OpId::k_lu_factor, {&v}), right = Product(inner, vh);
  const Tensor out = lapack(OpId::k_lu_solve, {&v, &lu, &right}, kAdjoint);
  return IsComplex(a.dtype()) ? out : real(out);
}

// Golub and Pereyra 1973, of matrices whose rank stays.
Tensor grad_pseudo_inverse(const Tensor& g, const Tensor& a, const Tensor& y,
                           const TapeNode& node) {
  const MatrixPart part = Parts(node).part[0];
  const Tensor p = matrix_part(y, part), ph = adjoint(p), gh = adjoint(matrix_part(g, part));
  if (a.layout()->dim(-2) <= a.layout()->dim(-1)) {
    const Tensor k = Product(gh, p), kph = Product(k, ph);
    return kph - adjoint(Product(p, k)) - Product(a, p, kph) + Product(ph, p, gh - Product(k, a));
  }
  const Tensor k = Product(p, gh), phk = Product(ph, k);
  return phk - adjoint(Product(k, p)) + Product(gh - Product(a, k), p, ph) - Product(phk, p, a);
}

}  // namespace frazil::autograd
