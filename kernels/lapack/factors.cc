// Factors of a matrix: Cholesky's, QR, singular values, and the pseudo-inverse that is made of
// these.
#include <array>

#include "kernels/lapack/scratch.h"

namespace frazil::lapack {
namespace {

// op(a) b^T ... in the terms of kernels/lapack/task.h: a row-major lower triangle is LAPACK's upper.
template <typename T>
class Cholesky final : public Task {
 public:
  explicit Cholesky(int n) : n_(n), parts_(MatrixParts::Of(OpId::k_cholesky_factor, n, n, 0)) {}

  void Run(const Place* operands, char* result) override {
    T* out = reinterpret_cast<T*>(result);
    CopyDense(operands[0], out);
    int info = 0;
    if (n_ > 0) f_.potrf("U", &n_, out, &n_, &info, 1);
    for (int64_t i = 0; i < n_; ++i) std::fill(out + i * n_ + i + 1, out + (i + 1) * n_, T(0));
    Finish(parts_, info, out);
  }

 private:
  const Functions<T>& f_ = *Find<T>();
  const int n_;
  const MatrixParts parts_;
};

template <typename T>
class Qr final : public Task {
 public:
  Qr(int m, int n, int64_t option)
      : m_(m),
        n_(n),
        k_(std::min(m, n)),
        parts_(MatrixParts::Of(OpId::k_qr_factors, m, n, option)),
        columns_(int(parts_.part[0].columns)),
        a_(size_t(m) * size_t(n)),
        tau_(size_t(k_)) {
    if (k_ == 0) return;
    std::array<T, 2> sizes{};
    const int ask = -1, ld = std::max(columns_, 1);
    int info = 0;
    f_.gelqf(&n_, &m_, a_.data(), &n_, tau_.data(), &sizes[0], &ask, &info);
    f_.orglq(&columns_, &m_, &k_, nullptr, &ld, tau_.data(), &sizes[1], &ask, &info);
    work_.resize(size_t(std::max(SizeOfWork(sizes[0]), SizeOfWork(sizes[1]))));
  }

  void Run(const Place* operands, char* result) override {
    T* const q = reinterpret_cast<T*>(result);  // m x columns, LAPACK's columns x m
    T* const r = q + parts_.part[1].start;
    if (k_ == 0) {
      for (int64_t i = 0; i < m_ * int64_t{columns_}; ++i) q[i] = T(i / columns_ == i % columns_);
      return;
    }
    CopyDense(operands[0], a_.data());
    const int size = int(work_.size());
    int info = 0;
    f_.gelqf(&n_, &m_, a_.data(), &n_, tau_.data(), work_.data(), &size, &info);
    for (int64_t i = 0; i < columns_; ++i) {
      T* const row = r + i * n_;
      std::fill_n(row, n_, T(0));
      if (i < k_) std::copy(a_.data() + i * n_ + i, a_.data() + (i + 1) * n_, row + i);
    }
    std::fill_n(q, int64_t{m_} * columns_, T(0));
    for (int64_t j = 0; j < m_; ++j) std::copy_n(a_.data() + j * n_, k_, q + j * columns_);
    f_.orglq(&columns_, &m_, &k_, q, &columns_, tau_.data(), work_.data(), &size, &info);
  }

 private:
  const Functions<T>& f_ = *Find<T>();
  const int m_, n_, k_;
  const MatrixParts parts_;
  const int columns_;  // of q
  std::vector<T> a_, tau_, work_;
};

// a^T = U' S V'^H; in memory these are the row-major Vh and U of a.
template <typename T>
class SingularValues {
 public:
  using R = Real<T>;
  SingularValues(int m, int n, int64_t kind)
      : m_(m),
        n_(n),
        k_(std::min(m, n)),
        job_(kind == kFull      ? "A"
             : kind == kReduced ? "S"
                                : "N"),
        u_rows_(kind == kFull ? m : k_),
        a_(size_t(m) * size_t(n)),
        iwork_(size_t(8 * k_)) {
    if (k_ == 0) return;
    const int64_t k = k_, large = std::max(m, n);
    if constexpr (kComplex<T>) {
      const int64_t vectors = std::max(5 * k * k + 5 * k, 2 * large * k + 2 * k * k + k);
      rwork_.resize(size_t(kind == kSingularValues ? 7 * k : vectors));
    }
    T size{};
    int info = 0;
    R s{};
    f_.Gesdd(job_, n_, m_, a_.data(), &s, nullptr, n_, nullptr, std::max(1, u_rows_), &size, -1,
             rwork_.data(), iwork_.data(), &info);
    work_.resize(size_t(SizeOfWork(size)));
  }

  // The outcome. u and vh: as large as the kind says.
  int64_t Run(const Place& a, T* u, R* s, T* vh) {
    CopyDense(a, a_.data());
    if (!AllFinite(a_.data(), int64_t(a_.size()))) return kNotFinite;
    int info = 0;
    f_.Gesdd(job_, n_, m_, a_.data(), s, vh, n_, u, std::max(1, u_rows_), work_.data(),
             int(work_.size()), rwork_.data(), iwork_.data(), &info);
    return std::abs(info);
  }
  int k() const { return k_; }

 private:
  const Functions<T>& f_ = *Find<T>();
  const int m_, n_, k_;
  const Letter job_;
  const int u_rows_;
  std::vector<T> a_, work_;
  std::vector<R> rwork_;
  std::vector<int> iwork_;
};

template <typename T>
void Identity(int64_t n, T* out) {
  std::fill_n(out, n * n, T(0));
  for (int64_t i = 0; i < n; ++i) out[i * n + i] = T(1);
}

template <typename T>
class Svd final : public Task {
 public:
  Svd(int m, int n, int64_t kind)
      : parts_(MatrixParts::Of(OpId::k_svd_factors, m, n, kind)),
        full_(kind == kFull),
        values_(m, n, kind),
        s_(size_t(values_.k())) {}

  void Run(const Place* operands, char* result) override {
    T* out = reinterpret_cast<T*>(result);
    T *u = out, *s = out + parts_.part[1].start, *vh = out + parts_.part[2].start;
    if (values_.k() == 0) {
      if (full_) {
        Identity(parts_.part[0].rows, u);
        Identity(parts_.part[2].rows, vh);
      }
      return Finish(parts_, 0, out);
    }
    const int64_t info = values_.Run(operands[0], u, s_.data(), vh);
    std::copy(s_.begin(), s_.end(), s);
    Finish(parts_, info, out);
  }

 private:
  const MatrixParts parts_;
  const bool full_;
  SingularValues<T> values_;
  std::vector<Real<T>> s_;
};

// V (U / s)^H over the singular values that count; transposed, as LAPACK's product.
template <typename T>
class PseudoInverse final : public Task {
 public:
  PseudoInverse(int m, int n)
      : m_(m),
        n_(n),
        parts_(MatrixParts::Of(OpId::k_pseudo_inverse, m, n, 0)),
        values_(m, n, kReduced),
        s_(size_t(values_.k())),
        u_(size_t(m) * s_.size()),
        vh_(size_t(n) * s_.size()) {}

  void Run(const Place* operands, char* result) override {
    T* out = reinterpret_cast<T*>(result);
    const int k = values_.k();
    if (k == 0) return Finish(parts_, 0, out);
    const int64_t info = values_.Run(operands[0], u_.data(), s_.data(), vh_.data());
    if (info == 0) {
      const auto least = std::real(*reinterpret_cast<const T*>(operands[1].data)) * s_[0];
      for (int i = 0; i < k; ++i) {
        const T factor = s_[i] > least ? T(1) / T(s_[i]) : T(0);
        for (int64_t j = 0; j < m_; ++j) u_[size_t(j * k + i)] *= factor;
      }
      const T one(1), zero(0);
      f_.gemm("C", "C", &m_, &n_, &k, &one, u_.data(), &k, vh_.data(), &n_, &zero, out, &m_, 1, 1);
      std::copy(s_.begin(), s_.end(), out + parts_.part[1].start);
    }
    Finish(parts_, info, out);
  }

 private:
  const Functions<T>& f_ = *Find<T>();
  const int m_, n_;
  const MatrixParts parts_;
  SingularValues<T> values_;
  std::vector<Real<T>> s_;
  std::vector<T> u_, vh_;
};

}  // namespace

std::unique_ptr<Task> MakeFactors(OpId op, DType dtype, int64_t rows, int64_t columns,
                                  int64_t option) {
  const int m = int(rows), n = int(columns);
  return ForType(dtype, [&]<typename T>(T) -> std::unique_ptr<Task> {
    switch (op) {
      case OpId::k_cholesky_factor:
        return std::make_unique<Cholesky<T>>(n);
      case OpId::k_qr_factors:
        return std::make_unique<Qr<T>>(m, n, option);
      case OpId::k_svd_factors:
        return std::make_unique<Svd<T>>(m, n, option);
      default:
        return std::make_unique<PseudoInverse<T>>(m, n);
    }
  });
}

}  // namespace frazil::lapack
