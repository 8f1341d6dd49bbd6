// LAPACK's functions as OpenBLAS has them, for one element type. Called by the solvers of this
// folder. Invariant: matrices are column-major, numbers 32 bits, names Fortran's; texts are single
// letters, whose lengths Fortran wants behind all other arguments.
#pragma once

#include <complex>

#include "core/status.h"

namespace frazil::lapack {

using Letter = const char*;
using Int = const int*;

template <typename T>
struct RealOf {
  using type = T;
  static constexpr bool complex = false;
};
template <typename T>
struct RealOf<std::complex<T>> {
  using type = T;
  static constexpr bool complex = true;
};
template <typename T>
using Real = typename RealOf<T>::type;
template <typename T>
inline constexpr bool kComplex = RealOf<T>::complex;

template <typename T>
struct Functions {
  using R = Real<T>;
  void (*potrf)(Letter uplo, Int n, T* a, Int lda, int* info, size_t);
  void (*getrf)(Int m, Int n, T* a, Int lda, int* pivots, int* info);
  void (*getri)(Int n, T* a, Int lda, const int* pivots, T* work, Int lwork, int* info);
  void (*trsm)(Letter side, Letter uplo, Letter trans, Letter diag, Int m, Int n, const T* alpha,
               const T* a, Int lda, T* b, Int ldb, size_t, size_t, size_t, size_t);
  void (*gemm)(Letter trans_a, Letter trans_b, Int m, Int n, Int k, const T* alpha, const T* a,
               Int lda, const T* b, Int ldb, const T* beta, T* c, Int ldc, size_t, size_t);
  void (*gelqf)(Int m, Int n, T* a, Int lda, T* tau, T* work, Int lwork, int* info);
  void (*orglq)(Int m, Int n, Int k, T* a, Int lda, const T* tau, T* work, Int lwork, int* info);
  void* gesdd;  // those whose arguments differ for complex numbers: called below
  void* syevd;
  void* geev;

  void Gesdd(Letter job, int m, int n, T* a, R* s, T* u, int ldu, T* vt, int ldvt, T* work,
             int lwork, R* rwork, int* iwork, int* info) const;
  // Both work arrays' sizes are asked for with lwork -1: in work[0] (and rwork[0]) and iwork[0].
  void Syevd(Letter job, Letter uplo, int n, T* a, R* w, T* work, int lwork, R* rwork, int lrwork,
             int* iwork, int liwork, int* info) const;
  // Right eigenvectors. Real: w has the real parts, then the imaginary ones, and `v` pairs.
  void Geev(Letter job, int n, T* a, R* w, T* v, int ldv, T* work, int lwork, R* rwork,
            int* info) const;
};

// Null if OpenBLAS, or one function of it, is missing: Check says so.
template <typename T>
const Functions<T>* Find();
Status Check();

}  // namespace frazil::lapack
