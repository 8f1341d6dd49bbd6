// What the solvers share: memory to work in, operands as dense matrices, outcomes.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "kernels/lapack/task.h"

namespace frazil::lapack {

// Copies the elements in row-major order.
template <typename T>
void CopyDense(const Place& from, T* to) {
  const T* data = reinterpret_cast<const T*>(from.data);
  if (from.column_stride == 1 || from.columns <= 1) {
    for (int64_t i = 0; i < from.rows; ++i, to += from.columns)
      std::copy_n(data + i * from.row_stride, from.columns, to);
    return;
  }
  constexpr int64_t kBlock = 16;  // of rows that are written at a time
  for (int64_t begin = 0; begin < from.rows; begin += kBlock) {
    const int64_t end = std::min(from.rows, begin + kBlock);
    for (int64_t j = 0; j < from.columns; ++j) {
      for (int64_t i = begin; i < end; ++i)
        to[i * from.columns + j] = data[i * from.row_stride + j * from.column_stride];
    }
  }
}

template <typename T>
Place Transposed(const Place& p) {
  return {p.data, p.columns, p.rows, p.column_stride, p.row_stride};
}

// The matrix itself if it is dense, else a copy in `own`.
template <typename T>
const T* DenseOf(const Place& from, std::vector<T>* own) {
  const bool dense = (from.column_stride == 1 || from.columns <= 1) &&
                     (from.row_stride == from.columns || from.rows <= 1);
  if (dense) return reinterpret_cast<const T*>(from.data);
  own->resize(size_t(from.rows * from.columns));
  CopyDense(from, own->data());
  return own->data();
}

template <typename T>
bool AllFinite(const T* x, int64_t n) {
  using R = Real<T>;
  const R* parts = reinterpret_cast<const R*>(x);
  R none = 0;  // NaN once an element is none
  for (int64_t i = 0; i < n * (kComplex<T> ? 2 : 1); ++i) none += parts[i] * R(0);
  return none == 0;
}

// The outcome, and NaN in the place of a result that there is none of.
template <typename T>
void Finish(const MatrixParts& parts, int64_t info, T* out) {
  if (info != 0) std::fill_n(out, parts.info, T(std::numeric_limits<Real<T>>::quiet_NaN()));
  out[parts.info] = T(Real<T>(info));
}

template <typename T>
int SizeOfWork(T asked) {
  return std::max(1, int(std::real(asked)));
}

// Made by Task::Make for the ops of their files.
std::unique_ptr<Task> MakeFactors(OpId op, DType dtype, int64_t m, int64_t n, int64_t option);
std::unique_ptr<Task> MakeSolve(OpId op, DType dtype, int64_t n, int64_t right, int64_t option);
std::unique_ptr<Task> MakeEigen(OpId op, DType dtype, int64_t n, int64_t option);

// make(T()) for the element type of `dtype`.
template <typename Make>
std::unique_ptr<Task> ForType(DType dtype, const Make& make) {
  switch (dtype) {
    case DType::kF32:
      return make(float());
    case DType::kF64:
      return make(double());
    case DType::kC64:
      return make(std::complex<float>());
    default:
      return make(std::complex<double>());
  }
}

}  // namespace frazil::lapack
