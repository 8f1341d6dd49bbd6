// Eigenvalues and eigenvectors; and the solver of an op.
#include "kernels/lapack/scratch.h"

namespace frazil::lapack {
namespace {

// Of a^T, the conjugate of a: its eigenvectors are conjugated. In memory they are rows.
template <typename T>
class Hermitian final : public Task {
 public:
  using R = Real<T>;
  Hermitian(int n, int64_t option)
      : n_(n),
        parts_(MatrixParts::Of(OpId::k_eigh_factors, n, n, option)),
        job_(option & kValuesOnly ? "N" : "V"),
        uplo_(option & kUpper ? "L" : "U"),
        a_(option & kValuesOnly ? size_t(n) * size_t(n) : 0),
        w_(size_t(n)) {
    if (n == 0) return;
    T size{};
    R real_size{};
    int int_size = 0, info = 0;
    f_.Syevd(job_, uplo_, n_, nullptr, w_.data(), &size, -1, &real_size, -1, &int_size, -1, &info);
    work_.resize(size_t(SizeOfWork(size)));
    rwork_.resize(size_t(SizeOfWork(real_size)));
    iwork_.resize(size_t(std::max(1, int_size)));
  }

  void Run(const Place* operands, char* result) override {
    T* out = reinterpret_cast<T*>(result);
    if (n_ == 0) return Finish(parts_, 0, out);
    T* const a = a_.empty() ? out + parts_.part[1].start : a_.data();
    CopyDense(operands[0], a);
    if (!Finite(a)) return Finish(parts_, kNotFinite, out);
    int info = 0;
    f_.Syevd(job_, uplo_, n_, a, w_.data(), work_.data(), int(work_.size()), rwork_.data(),
             int(rwork_.size()), iwork_.data(), int(iwork_.size()), &info);
    std::copy(w_.begin(), w_.end(), out);
    if constexpr (kComplex<T>) {
      if (a_.empty()) {
        for (int64_t i = 0; i < int64_t{n_} * n_; ++i) a[i] = std::conj(a[i]);
      }
    }
    Finish(parts_, std::abs(info), out);
  }

 private:
  // Of the triangle that is read.
  bool Finite(const T* a) const {
    for (int64_t i = 0; i < n_; ++i) {
      const bool lower = *uplo_ == 'U';
      if (!AllFinite(a + i * n_ + (lower ? 0 : i), lower ? i + 1 : n_ - i)) return false;
    }
    return true;
  }

  const Functions<T>& f_ = *Find<T>();
  const int n_;
  const MatrixParts parts_;
  const Letter job_, uplo_;
  std::vector<T> a_, work_;
  std::vector<R> w_, rwork_;
  std::vector<int> iwork_;
};

// Of T, with complex results; eigenvectors as rows.
template <typename T>
class General final : public Task {
 public:
  using R = Real<T>;
  using C = std::complex<R>;
  General(int n, int64_t option)
      : n_(n),
        parts_(MatrixParts::Of(OpId::k_eig_factors, n, n, option)),
        vectors_(!(option & kValuesOnly)),
        a_(size_t(n) * size_t(n)),
        v_(vectors_ ? a_.size() : 1),
        w_(2 * size_t(n)),
        rwork_(2 * size_t(n)) {
    if (n == 0) return;
    T size{};
    int info = 0;
    f_.Geev(Job(), n_, a_.data(), w_.data(), v_.data(), n_, &size, -1, rwork_.data(), &info);
    work_.resize(size_t(SizeOfWork(size)));
  }

  void Run(const Place* operands, char* result) override {
    C* out = reinterpret_cast<C*>(result);
    if (n_ == 0) return Finish(parts_, 0, out);
    CopyDense(Transposed<T>(operands[0]), a_.data());
    if (!AllFinite(a_.data(), int64_t(a_.size()))) return Finish(parts_, kNotFinite, out);
    int info = 0;
    f_.Geev(Job(), n_, a_.data(), w_.data(), v_.data(), n_, work_.data(), int(work_.size()),
            rwork_.data(), &info);
    Write(out, out + parts_.part[1].start);
    Finish(parts_, std::abs(info), out);
  }

 private:
  Letter Job() const { return vectors_ ? "V" : "N"; }

  void Write(C* values, C* rows) const {
    const int64_t n = n_;
    if constexpr (kComplex<T>) {
      std::copy_n(reinterpret_cast<const C*>(w_.data()), n, values);
      if (vectors_) std::copy_n(v_.data(), n * n, rows);
    } else {
      for (int64_t i = 0; i < n; ++i) values[i] = {w_[size_t(i)], w_[size_t(n + i)]};
      if (!vectors_) return;
      for (int64_t i = 0; i < n; ++i) {
        const T* v = v_.data() + i * n;
        if (values[i].imag() == 0) {
          std::copy_n(v, n, rows + i * n);
          continue;
        }
        for (int64_t j = 0; j < n; ++j) {  // of a pair: real parts, then imaginary ones
          rows[i * n + j] = {v[j], v[n + j]};
          rows[(i + 1) * n + j] = {v[j], -v[n + j]};
        }
        ++i;
      }
    }
  }

  const Functions<T>& f_ = *Find<T>();
  const int n_;
  const MatrixParts parts_;
  const bool vectors_;
  std::vector<T> a_, v_, work_;
  std::vector<R> w_, rwork_;  // complex: w_ as pairs
};

}  // namespace

std::unique_ptr<Task> MakeEigen(OpId op, DType dtype, int64_t rows, int64_t option) {
  const int n = int(rows);
  return ForType(dtype, [&]<typename T>(T) -> std::unique_ptr<Task> {
    if (op == OpId::k_eigh_factors) return std::make_unique<Hermitian<T>>(n, option);
    return std::make_unique<General<T>>(n, option);
  });
}

std::unique_ptr<Task> Task::Make(OpId op, DType dtype, int64_t m, int64_t n, int64_t right,
                                 int64_t option) {
  switch (op) {
    case OpId::k_cholesky_factor:
    case OpId::k_qr_factors:
    case OpId::k_svd_factors:
    case OpId::k_pseudo_inverse:
      return MakeFactors(op, dtype, m, n, option);
    case OpId::k_eigh_factors:
    case OpId::k_eig_factors:
      return MakeEigen(op, dtype, n, option);
    default:
      return MakeSolve(op, dtype, n, right, option);
  }
}

}  // namespace frazil::lapack
