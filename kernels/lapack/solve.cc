// What LU factors give: solutions, inverses, determinants; and triangular systems.
//
// The factors are those of the transpose, a^T = P L U, as task.h says. A system a X = B is
// X^T a^T = B^T, whose right sides lie in memory as LAPACK wants them: X^T P L U = B^T takes two
// triangular solves from the right, and what rows P exchanged are exchanged back.
#include "kernels/lapack/scratch.h"

namespace frazil::lapack {
namespace {

template <typename T>
class Lu {
 public:
  Lu(int n, bool nudged) : n_(n), nudged_(nudged), pivots_(size_t(n)) {}

  // Over the dense matrix; the number of the first pivot that is 0, or 0.
  int64_t Factor(T* a) {
    const Real<T> largest = nudged_ ? Largest(a) : 0;
    int info = 0;
    if (n_ > 0) f_.getrf(&n_, &n_, a, &n_, pivots_.data(), &info);
    if (!nudged_ || info == 0) return info;
    using Limits = std::numeric_limits<Real<T>>;
    const T tiny(std::max(largest * Limits::epsilon(), Limits::min() / Limits::epsilon()));
    for (int64_t i = 0; i < n_; ++i) {
      if (a[i * n_ + i] == T(0)) a[i * n_ + i] = tiny;
    }
    return 0;
  }
  const std::vector<int>& pivots() const { return pivots_; }
  bool odd() const {
    bool odd = false;
    for (int i = 0; i < n_; ++i) odd ^= pivots_[size_t(i)] != i + 1;
    return odd;
  }

 private:
  Real<T> Largest(const T* a) const {
    Real<T> largest = 0;
    for (int64_t i = 0; i < int64_t{n_} * n_; ++i) largest = std::max(largest, std::abs(a[i]));
    return largest;
  }

  const Functions<T>& f_ = *Find<T>();
  const int n_;
  const bool nudged_;
  std::vector<int> pivots_;
};

template <typename T>
class LuFactor final : public Task {
 public:
  LuFactor(int n, bool nudged)
      : parts_(MatrixParts::Of(OpId::k_lu_factor, n, n, 0)), lu_(n, nudged) {}

  void Run(const Place* operands, char* result) override {
    T* out = reinterpret_cast<T*>(result);
    CopyDense(operands[0], out);
    const int64_t info = lu_.Factor(out);
    T* pivots = out + parts_.part[1].start;
    for (const int pivot : lu_.pivots()) *pivots++ = T(Real<T>(pivot));
    *pivots++ = T(Real<T>(lu_.odd() ? -1 : 1));
    *pivots = T(Real<T>(info));
  }

 private:
  const MatrixParts parts_;
  Lu<T> lu_;
};

template <typename T>
class LuSolve final : public Task {
 public:
  LuSolve(int n, int right, bool adjoint) : n_(n), right_(right), adjoint_(adjoint) {}

  void Run(const Place* operands, char* result) override {
    const T* lu = DenseOf(operands[1], &own_);
    const T* pivots = lu + int64_t{n_} * n_;
    T* x = reinterpret_cast<T*>(result);
    CopyDense(operands[2], x);
    if (n_ == 0 || right_ == 0) return;
    const auto exchange = [&](int64_t i) {
      const int64_t other = int64_t(std::real(pivots[i])) - 1;
      if (other != i && other >= 0 && other < n_)
        std::swap_ranges(x + i * right_, x + (i + 1) * right_, x + other * right_);
    };
    if (adjoint_) {
      for (int64_t i = 0; i < n_; ++i) exchange(i);
      Triangle("L", "C", "U", lu, x);
      Triangle("U", "C", "N", lu, x);
    } else {
      Triangle("U", "N", "N", lu, x);
      Triangle("L", "N", "U", lu, x);
      for (int64_t i = n_; i-- > 0;) exchange(i);
    }
  }

 private:
  void Triangle(Letter uplo, Letter trans, Letter unit, const T* a, T* x) const {
    const T one(1);
    f_.trsm("R", uplo, trans, unit, &right_, &n_, &one, a, &n_, x, &right_, 1, 1, 1, 1);
  }

  const Functions<T>& f_ = *Find<T>();
  const int n_, right_;
  const bool adjoint_;
  std::vector<T> own_;
};

template <typename T>
class TriangularSolve final : public Task {
 public:
  TriangularSolve(int n, int right, int64_t option)
      : n_(n),
        right_(right),
        uplo_(option & kUpper ? "L" : "U"),
        unit_(option & kUnitDiagonal ? "U" : "N"),
        trans_(option & kConjugated   ? "C"
               : option & kTransposed ? "T"
                                      : "N") {}

  void Run(const Place* operands, char* result) override {
    const T* a = DenseOf(operands[0], &own_);
    T* x = reinterpret_cast<T*>(result);
    CopyDense(operands[1], x);
    if (n_ == 0 || right_ == 0) return;
    const T one(1);
    f_.trsm("R", uplo_, trans_, unit_, &right_, &n_, &one, a, &n_, x, &right_, 1, 1, 1, 1);
  }

 private:
  const Functions<T>& f_ = *Find<T>();
  const int n_, right_;
  const Letter uplo_, unit_, trans_;
  std::vector<T> own_;
};

template <typename T>
class Inverse final : public Task {
 public:
  explicit Inverse(int n)
      : n_(n), parts_(MatrixParts::Of(OpId::k_inverse, n, n, 0)), lu_(n, false) {
    if (n == 0) return;
    T size{};
    const int ask = -1;
    int info = 0;
    f_.getri(&n_, nullptr, &n_, nullptr, &size, &ask, &info);
    work_.resize(size_t(SizeOfWork(size)));
  }

  void Run(const Place* operands, char* result) override {
    T* out = reinterpret_cast<T*>(result);
    CopyDense(operands[0], out);
    int info = int(lu_.Factor(out));
    const int size = int(work_.size());
    if (n_ > 0 && info == 0)
      f_.getri(&n_, out, &n_, lu_.pivots().data(), work_.data(), &size, &info);
    Finish(parts_, info, out);
  }

 private:
  const Functions<T>& f_ = *Find<T>();
  const int n_;
  const MatrixParts parts_;
  Lu<T> lu_;
  std::vector<T> work_;
};

// A product of many factors, whose exponent is kept apart: it is finite wherever the product is.
template <typename T>
class Product {
 public:
  void Multiply(T factor) {
    value_ *= Wide(factor);
    const double size = std::max(std::abs(value_.real()), std::abs(value_.imag()));
    if (size == 0 || !std::isfinite(size)) return;
    const int by = std::ilogb(size);
    value_ = {std::ldexp(value_.real(), -by), std::ldexp(value_.imag(), -by)};
    exponent_ += by;
  }
  T value() const {
    const int by = int(std::clamp<int64_t>(exponent_, -10000, 10000));
    const Wide scaled{std::ldexp(value_.real(), by), std::ldexp(value_.imag(), by)};
    if constexpr (kComplex<T>) {
      return T(scaled);
    } else {
      return T(scaled.real());
    }
  }

 private:
  using Wide = std::complex<double>;
  Wide value_{1};
  int64_t exponent_ = 0;
};

template <typename T>
class Determinant final : public Task {
 public:
  Determinant(int n, bool logarithm, bool nudged)
      : n_(n), logarithm_(logarithm), lu_(n, nudged), a_(size_t(n) * size_t(n)) {}

  void Run(const Place* operands, char* result) override {
    using R = Real<T>;
    T* out = reinterpret_cast<T*>(result);
    CopyDense(operands[0], a_.data());
    lu_.Factor(a_.data());
    const T sign(lu_.odd() ? R(-1) : R(1));
    if (!logarithm_) {
      Product<T> product;
      product.Multiply(sign);
      for (int64_t i = 0; i < n_; ++i) product.Multiply(Diagonal(i));
      *out = product.value();
      return;
    }
    out[0] = sign;
    double sum = 0;
    for (int64_t i = 0; i < n_; ++i) {
      const T x = Diagonal(i);
      const R size = std::abs(x);
      out[0] *= size == 0 ? T(0) : x / size;
      sum += std::log(double(size));
    }
    out[1] = T(R(sum));
  }

 private:
  T Diagonal(int64_t i) const { return a_[size_t(i * n_ + i)]; }

  const int n_;
  const bool logarithm_;
  Lu<T> lu_;
  std::vector<T> a_;
};

}  // namespace

std::unique_ptr<Task> MakeSolve(OpId op, DType dtype, int64_t rows, int64_t columns,
                                int64_t option) {
  const int n = int(rows), right = int(columns);
  return ForType(dtype, [&]<typename T>(T) -> std::unique_ptr<Task> {
    switch (op) {
      case OpId::k_lu_factor:
        return std::make_unique<LuFactor<T>>(n, option == kNudged);
      case OpId::k_lu_solve:
        return std::make_unique<LuSolve<T>>(n, right, option == kAdjoint);
      case OpId::k_triangular_solve:
        return std::make_unique<TriangularSolve<T>>(n, right, option);
      case OpId::k_inverse:
        return std::make_unique<Inverse<T>>(n);
      case OpId::k_determinant:
        return std::make_unique<Determinant<T>>(n, false, option == kNudged);
      default:
        return std::make_unique<Determinant<T>>(n, true, false);
    }
  });
}

}  // namespace frazil::lapack
