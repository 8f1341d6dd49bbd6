#include "kernels/lapack/lapack.h"

#include <string>

#include "kernels/blas.h"

namespace frazil::lapack {
namespace {

template <typename T>
constexpr char kPrefix = 's';
template <>
constexpr char kPrefix<double> = 'd';
template <>
constexpr char kPrefix<std::complex<float>> = 'c';
template <>
constexpr char kPrefix<std::complex<double>> = 'z';

// All that there are, and the name of one that is missing.
template <typename T>
struct Loaded {
  Functions<T> functions{};
  std::string missing;

  Loaded() {
    if (!CheckBlas().ok()) return;
    Find("potrf_", &functions.potrf);
    Find("getrf_", &functions.getrf);
    Find("getri_", &functions.getri);
    Find("trsm_", &functions.trsm);
    Find("gemm_", &functions.gemm);
    Find("gelqf_", &functions.gelqf);
    Find(kComplex<T> ? "unglq_" : "orglq_", &functions.orglq);
    Find("gesdd_", &functions.gesdd);
    Find(kComplex<T> ? "heevd_" : "syevd_", &functions.syevd);
    Find("geev_", &functions.geev);
  }
  template <typename F>
  void Find(const char* stem, F* out) {
    const std::string name = kPrefix<T> + std::string(stem);
    *out = reinterpret_cast<F>(BlasFunction(name.c_str()));
    if (!*out) missing = name;
  }
};

template <typename T>
const Loaded<T>& Library() {
  static const Loaded<T>* const loaded = new Loaded<T>;
  return *loaded;
}

template <typename T>
Status CheckOne() {
  const std::string& missing = Library<T>().missing;
  if (missing.empty()) return absl::OkStatus();
  return RuntimeError("[linalg] this OpenBLAS lacks LAPACK's ", missing,
                      "; install one that has it (Debian: libopenblas0).");
}

}  // namespace

template <typename T>
const Functions<T>* Find() {
  return CheckBlas().ok() && Library<T>().missing.empty() ? &Library<T>().functions : nullptr;
}
template const Functions<float>* Find();
template const Functions<double>* Find();
template const Functions<std::complex<float>>* Find();
template const Functions<std::complex<double>>* Find();

Status Check() {
  FZ_RETURN_IF_ERROR(CheckBlas());
  FZ_RETURN_IF_ERROR(CheckOne<float>());
  FZ_RETURN_IF_ERROR(CheckOne<double>());
  FZ_RETURN_IF_ERROR(CheckOne<std::complex<float>>());
  return CheckOne<std::complex<double>>();
}

template <typename T>
void Functions<T>::Gesdd(Letter job, int m, int n, T* a, R* s, T* u, int ldu, T* vt, int ldvt,
                         T* work, int lwork, R* rwork, int* iwork, int* info) const {
  if constexpr (kComplex<T>) {
    using F =
        void (*)(Letter, Int, Int, T*, Int, R*, T*, Int, T*, Int, T*, Int, R*, int*, int*, size_t);
    reinterpret_cast<F>(gesdd)(job, &m, &n, a, &m, s, u, &ldu, vt, &ldvt, work, &lwork, rwork,
                               iwork, info, 1);
  } else {
    using F =
        void (*)(Letter, Int, Int, T*, Int, R*, T*, Int, T*, Int, T*, Int, int*, int*, size_t);
    reinterpret_cast<F>(gesdd)(job, &m, &n, a, &m, s, u, &ldu, vt, &ldvt, work, &lwork, iwork, info,
                               1);
  }
}

template <typename T>
void Functions<T>::Syevd(Letter job, Letter uplo, int n, T* a, R* w, T* work, int lwork, R* rwork,
                         int lrwork, int* iwork, int liwork, int* info) const {
  if constexpr (kComplex<T>) {
    using F = void (*)(Letter, Letter, Int, T*, Int, R*, T*, Int, R*, Int, int*, Int, int*, size_t,
                       size_t);
    reinterpret_cast<F>(syevd)(job, uplo, &n, a, &n, w, work, &lwork, rwork, &lrwork, iwork,
                               &liwork, info, 1, 1);
  } else {
    using F = void (*)(Letter, Letter, Int, T*, Int, R*, T*, Int, int*, Int, int*, size_t, size_t);
    reinterpret_cast<F>(syevd)(job, uplo, &n, a, &n, w, work, &lwork, iwork, &liwork, info, 1, 1);
  }
}

template <typename T>
void Functions<T>::Geev(Letter job, int n, T* a, R* w, T* v, int ldv, T* work, int lwork, R* rwork,
                        int* info) const {
  const int one = 1;
  if constexpr (kComplex<T>) {
    using F = void (*)(Letter, Letter, Int, T*, Int, T*, T*, Int, T*, Int, T*, Int, R*, int*,
                       size_t, size_t);
    reinterpret_cast<F>(geev)("N", job, &n, a, &n, reinterpret_cast<T*>(w), nullptr, &one, v, &ldv,
                              work, &lwork, rwork, info, 1, 1);
  } else {
    using F = void (*)(Letter, Letter, Int, T*, Int, R*, R*, T*, Int, T*, Int, T*, Int, int*,
                       size_t, size_t);
    reinterpret_cast<F>(geev)("N", job, &n, a, &n, w, w + n, nullptr, &one, v, &ldv, work, &lwork,
                              info, 1, 1);
  }
}

template struct Functions<float>;
template struct Functions<double>;
template struct Functions<std::complex<float>>;
template struct Functions<std::complex<double>>;

}  // namespace frazil::lapack
