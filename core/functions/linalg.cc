#include "core/functions/linalg.h"

#include <cmath>
#include <limits>

#include "core/backend.h"
#include "core/functions/composite.h"
#include "core/infer.h"

namespace frazil::ops {
namespace {

using DimVec = absl::InlinedVector<int64_t, 8>;

// Integers and bools as float64, as NumPy has it.
Tensor Matrix(const Tensor& x) {
  if (!x.ok() || IsInexact(x.dtype())) return x;
  return astype(x, DType::kF64);
}

MatrixParts PartsOf(OpId op, const Tensor& x, int64_t option = 0) {
  return MatrixParts::Of(op, x.layout()->dim(-2), x.layout()->dim(-1), option);
}

// "matrix [1,0] of f64[2,3,4,4]", or "f64[4,4]"
std::string Which(const Tensor& x, int64_t index) {
  const auto batch = x.dims().first(x.dims().size() - 2);
  if (batch.empty()) return Describe(x);
  DimVec at(batch.size());
  for (size_t i = batch.size(); i-- > 0; index /= batch[i]) at[i] = index % batch[i];
  return absl::StrCat("matrix ", ToString(at), " of ", Describe(x));
}

// Outcomes of the ops that made `packed`, which nobody watches: as they lie in memory.
StatusOr<int64_t> FirstBad(const Value& packed, int64_t info, int64_t* outcome) {
  FZ_RETURN_IF_ERROR(Read(packed, Reading::kInside));
  FZ_ASSIGN_OR_RETURN(const ValueRef host, OnHost(packed));
  const int64_t stride = packed.layout->dim(-1), count = stride ? packed.layout->size / stride : 0;
  const bool wide = PartOf(packed.dtype) == DType::kF64;
  for (int64_t i = 0; i < count; ++i) {
    const char* p = host->data + (i * stride + info) * SizeOf(packed.dtype);
    const double found =
        wide ? *reinterpret_cast<const double*>(p) : double(*reinterpret_cast<const float*>(p));
    if (found == 0) continue;
    *outcome = int64_t(found);
    return i;
  }
  return -1;
}

// An error if an op could not take a matrix of x. In a trace the outcomes are checked as indices
// are: a call that is skipped runs its body if one is not 0.
Status CheckOutcomes(std::string_view what, const Tensor& packed, const MatrixParts& parts,
                     const Tensor& x) {
  if (!packed.ok()) return packed.status();
  const ThreadState& state = State();
  const Tensor made(packed.value_ref());
  if (state.door || state.observer) {
    Attrs last = WholeSlice(made.dims());
    last[last.size() - 3] = parts.info;
    last[last.size() - 1] = 1;
    const Tensor outcomes = astype(real(slice(made, last)), DType::kI64);
    if (!outcomes.ok()) return outcomes.status();
    const auto checked =
        CheckIndexRange("linalg", outcomes, {0, 1}, [] { return std::string("outcomes"); });
    if (checked.ok()) return absl::OkStatus();
    if (KindOf(checked.status()) != ErrorKind::kIndex) return checked.status();
  }
  int64_t outcome = 0;
  FZ_ASSIGN_OR_RETURN(const int64_t bad, FirstBad(*made.value(), parts.info, &outcome));
  if (bad < 0) return absl::OkStatus();
  return LinAlgError("[linalg] ", outcome == kNotFinite ? "an element is infinite or NaN" : what,
                     ": ", Which(x, bad), ".");
}

// The op's result, or why there is none.
Tensor Solved(OpId op, const Tensor& x, int64_t option, std::string_view what) {
  const Tensor packed = lapack(op, {&x}, option);
  if (!packed.ok()) return packed;
  if (Status s = CheckOutcomes(what, packed, PartsOf(op, x, option), x); !s.ok())
    return Tensor(std::move(s));
  return packed;
}

constexpr char kDiverged[] = "the algorithm did not converge";

StatusOr<int64_t> UpperOption(std::string_view uplo) {
  if (uplo == "L" || uplo == "l") return 0;
  if (uplo == "U" || uplo == "u") return int64_t{kUpper};
  return ValueError("[eigh] UPLO must be \"L\" or \"U\", got \"", uplo, "\".");
}

// Axes before the last two as `batch` has them.
Tensor OfBatch(const Tensor& x, Dims batch, size_t axes) {
  DimVec dims(batch.begin(), batch.end());
  dims.insert(dims.end(), x.dims().end() - int64_t(axes), x.dims().end());
  return broadcast_to(x, dims);
}

// Both sides of a system as one dtype and with the same batch axes; a vector as a column.
struct System {
  Tensor a, b;
  bool vector = false;
  Status status;

  System(std::string_view op, const Tensor& left, const Tensor& right) {
    for (const Tensor* t : {&left, &right}) {
      if (!t->ok()) status = t->status();
    }
    if (!status.ok()) return;
    const DType dtype = Promote(QuotientFor(left.dtype()), QuotientFor(right.dtype()));
    a = astype(left, dtype);
    b = astype(right, dtype);
    if (a.rank() < 2) {
      status = LinAlgError("[", op, "] needs at least two axes, got ", Describe(left), ".");
      return;
    }
    const int64_t n = a.layout()->dim(-1);
    if (a.layout()->dim(-2) != n) {
      status = LinAlgError("[", op, "] needs square matrices, got ", Describe(left), ".");
      return;
    }
    vector = b.rank() == 1;
    if (vector) b = expand_dims(b, 1);
    if (b.rank() < 2 || b.layout()->dim(-2) != n) {
      status = ValueError("[", op, "] needs as many rows on both sides: ", Describe(left), " and ",
                          Describe(right), ".");
      return;
    }
    const auto batch = BroadcastShapes(op, Dense(a.dims().first(a.dims().size() - 2)),
                                       Dense(b.dims().first(b.dims().size() - 2)));
    if (!batch.ok()) {
      status = ValueError("[", op, "] batch axes do not broadcast: ", Describe(left), " and ",
                          Describe(right), ".");
      return;
    }
    b = OfBatch(b, (*batch)->dims(), 2);
    full = {(*batch)->dims().begin(), (*batch)->dims().end()};
  }
  // The matrix and what was made of it, repeated for every right side.
  Tensor Repeated(const Tensor& x, size_t axes) const { return OfBatch(x, full, axes); }
  Tensor Result(const Tensor& x) const {
    if (!x.ok() || !vector) return x;
    return reshape(x, x.dims().first(x.dims().size() - 1));
  }
  DimVec full;
};

template <typename Result>
Result Failed(const Tensor& why) {
  Result out;
  if constexpr (requires { out.vh; }) {
    out = {why, why, why};
  } else {
    out = {why, why};
  }
  return out;
}

}  // namespace

Tensor lapack(OpId op, std::initializer_list<const Tensor*> operands, int64_t option) {
  return Apply(op, operands, {&option, 1});
}

Tensor matrix_part(const Tensor& packed, const MatrixPart& part) {
  if (!packed.ok()) return packed;
  Attrs range = WholeSlice(packed.dims());
  range[range.size() - 3] = part.size() ? part.start : 0;
  range[range.size() - 1] = part.size();
  DimVec dims(packed.dims().begin(), packed.dims().end() - 1);
  dims.insert(dims.end(), {part.rows, part.columns});
  return reshape(slice(packed, range), dims);
}

Tensor row_part(const Tensor& packed, const MatrixPart& part) {
  if (!packed.ok()) return packed;
  Attrs range = WholeSlice(packed.dims());
  range[range.size() - 3] = part.size() ? part.start : 0;
  range[range.size() - 1] = part.size();
  return slice(packed, range);
}

Tensor adjoint(const Tensor& x) { return conj(matrix_transpose(x)); }

Tensor cholesky(const Tensor& input, bool upper) {
  const Tensor given = Matrix(input);
  if (!given.ok()) return given;
  const Tensor x = upper && given.rank() >= 2 ? adjoint(given) : given;
  const Tensor packed = Solved(OpId::k_cholesky_factor, x, 0, "not positive definite");
  if (!packed.ok()) return packed;
  const Tensor lower = matrix_part(packed, PartsOf(OpId::k_cholesky_factor, x).part[0]);
  return upper ? adjoint(lower) : lower;
}

Tensor inv(const Tensor& input) {
  const Tensor x = Matrix(input);
  if (!x.ok()) return x;
  const Tensor packed = Solved(OpId::k_inverse, x, 0, "singular");
  return packed.ok() ? matrix_part(packed, PartsOf(OpId::k_inverse, x).part[0]) : packed;
}

Tensor euclidean_norm(const Tensor& x, const Axes& axes, bool keepdims) {
  const std::optional<int64_t> mask = x.ok() ? AxisMask(axes, x.rank()) : std::nullopt;
  const auto body = [&] {
    const bool complex = x.ok() && IsComplex(x.dtype());
    const Tensor total =
        sum(complex ? square(real(x)) + square(imag(x)) : square(x), axes, keepdims);
    if (!total.ok()) return total;
    const Tensor zero = equal(total, 0);
    return where(zero, 0, sqrt(where(zero, 1, total)));
  };
  if (!mask) return body();
  return Composite(CompositeId::k_euclidean_norm, {&x}, {*mask, keepdims}, body);
}

Tensor det(const Tensor& input) {
  const Tensor x = Matrix(input);
  return x.ok() ? lapack(OpId::k_determinant, {&x}) : x;
}

SlogdetResult slogdet(const Tensor& input) {
  const Tensor x = Matrix(input);
  const Tensor packed = x.ok() ? lapack(OpId::k_log_determinant, {&x}) : x;
  if (!packed.ok()) return Failed<SlogdetResult>(packed);
  const auto at = [&](int64_t i) {
    const Tensor row = row_part(packed, {i, 1, 1});
    return reshape(row, row.dims().first(row.dims().size() - 1));
  };
  return {at(0), real(at(1))};
}

QrResult qr(const Tensor& input, std::string_view mode) {
  const Tensor x = Matrix(input);
  if (mode != "reduced" && mode != "complete") {
    return Failed<QrResult>(
        ValueError("[qr] mode must be \"reduced\" or \"complete\", got \"", mode, "\"."));
  }
  const int64_t option = mode == "complete" ? kComplete : kPlainOption;
  const Tensor packed = x.ok() ? lapack(OpId::k_qr_factors, {&x}, option) : x;
  if (!packed.ok()) return Failed<QrResult>(packed);
  const auto parts = PartsOf(OpId::k_qr_factors, x, option).part;
  return {matrix_part(packed, parts[0]), matrix_part(packed, parts[1])};
}

SvdResult svd(const Tensor& input, bool full_matrices) {
  const Tensor x = Matrix(input);
  if (!x.ok()) return Failed<SvdResult>(x);
  const int64_t kind = full_matrices ? kFull : kReduced;
  const Tensor packed = Solved(OpId::k_svd_factors, x, kind, kDiverged);
  if (!packed.ok()) return Failed<SvdResult>(packed);
  const auto parts = PartsOf(OpId::k_svd_factors, x, kind).part;
  return {matrix_part(packed, parts[0]), real(row_part(packed, parts[1])),
          matrix_part(packed, parts[2])};
}

Tensor svdvals(const Tensor& input) {
  const Tensor x = Matrix(input);
  if (!x.ok()) return x;
  const Tensor packed = Solved(OpId::k_svd_factors, x, kSingularValues, kDiverged);
  if (!packed.ok()) return packed;
  return real(row_part(packed, PartsOf(OpId::k_svd_factors, x, kSingularValues).part[1]));
}

EigResult eigh(const Tensor& input, std::string_view uplo) {
  const Tensor x = Matrix(input);
  const auto option = UpperOption(uplo);
  if (!option.ok()) return Failed<EigResult>(Tensor(option.status()));
  if (!x.ok()) return Failed<EigResult>(x);
  const Tensor packed = Solved(OpId::k_eigh_factors, x, *option, kDiverged);
  if (!packed.ok()) return Failed<EigResult>(packed);
  const auto parts = PartsOf(OpId::k_eigh_factors, x, *option).part;
  return {real(row_part(packed, parts[0])), matrix_transpose(matrix_part(packed, parts[1]))};
}

Tensor eigvalsh(const Tensor& input, std::string_view uplo) {
  const Tensor x = Matrix(input);
  const auto upper = UpperOption(uplo);
  if (!upper.ok()) return Tensor(upper.status());
  if (!x.ok()) return x;
  const int64_t option = *upper | kValuesOnly;
  const Tensor packed = Solved(OpId::k_eigh_factors, x, option, kDiverged);
  if (!packed.ok()) return packed;
  return real(row_part(packed, PartsOf(OpId::k_eigh_factors, x, option).part[0]));
}

EigResult eig(const Tensor& input) {
  const Tensor x = Matrix(input);
  if (!x.ok()) return Failed<EigResult>(x);
  const Tensor packed = Solved(OpId::k_eig_factors, x, 0, kDiverged);
  if (!packed.ok()) return Failed<EigResult>(packed);
  const auto parts = PartsOf(OpId::k_eig_factors, x).part;
  return {row_part(packed, parts[0]), matrix_transpose(matrix_part(packed, parts[1]))};
}

Tensor eigvals(const Tensor& input) {
  const Tensor x = Matrix(input);
  if (!x.ok()) return x;
  const Tensor packed = Solved(OpId::k_eig_factors, x, kValuesOnly, kDiverged);
  if (!packed.ok()) return packed;
  return row_part(packed, PartsOf(OpId::k_eig_factors, x, kValuesOnly).part[0]);
}

Tensor solve(const Tensor& left, const Tensor& right) {
  const System system("solve", left, right);
  if (!system.status.ok()) return Tensor(system.status);
  const Tensor factors = Solved(OpId::k_lu_factor, system.a, 0, "singular");
  if (!factors.ok()) return factors;
  const Tensor a = system.Repeated(system.a, 2), lu = system.Repeated(factors, 1);
  return system.Result(lapack(OpId::k_lu_solve, {&a, &lu, &system.b}));
}

Tensor solve_triangular(const Tensor& left, const Tensor& right, bool lower, bool unit_diagonal,
                        int64_t trans) {
  if (trans < 0 || trans > 2) {
    return ValueError("[solve_triangular] trans must be 0, 1 (transposed) or 2 (adjoint), got ",
                      trans, ".");
  }
  const System system("solve_triangular", left, right);
  if (!system.status.ok()) return Tensor(system.status);
  const int64_t option = (lower ? kPlainOption : kUpper) |
                         (unit_diagonal ? kUnitDiagonal : kPlainOption) |
                         (trans == 0   ? kPlainOption
                          : trans == 1 ? kTransposed
                                       : kConjugated);
  const Tensor a = system.Repeated(system.a, 2);
  return system.Result(lapack(OpId::k_triangular_solve, {&a, &system.b}, option));
}

PinvResult pinv_with_values(const Tensor& input, const Tensor* rtol) {
  const Tensor x = Matrix(input);
  if (!x.ok()) return Failed<PinvResult>(x);
  if (rtol && !rtol->ok()) return Failed<PinvResult>(*rtol);
  if (x.rank() < 2) {
    return Failed<PinvResult>(
        LinAlgError("[pinv] needs at least two axes, got ", Describe(x), "."));
  }
  const double epsilon = PartOf(x.dtype()) == DType::kF64 ? std::numeric_limits<double>::epsilon()
                                                          : std::numeric_limits<float>::epsilon();
  const double larger = double(std::max(x.layout()->dim(-1), x.layout()->dim(-2)));
  const auto batch = x.dims().first(x.dims().size() - 2);
  const Tensor least = rtol ? broadcast_to(astype(*rtol, x.dtype()), batch)
                            : full(batch, Scalar::Float(larger * epsilon), x.dtype(), x.device());
  const Tensor packed = lapack(OpId::k_pseudo_inverse, {&x, &least});
  if (!packed.ok()) return Failed<PinvResult>(packed);
  const MatrixParts parts = PartsOf(OpId::k_pseudo_inverse, x);
  if (Status s = CheckOutcomes(kDiverged, packed, parts, x); !s.ok())
    return Failed<PinvResult>(Tensor(std::move(s)));
  return {matrix_part(packed, parts.part[0]), real(row_part(packed.Detach(), parts.part[1]))};
}

Tensor pinv(const Tensor& x, const Tensor* rtol) { return pinv_with_values(x, rtol).inverse; }

}  // namespace frazil::ops
