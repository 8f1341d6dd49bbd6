// Numbers as sparse products add them: 16-bit floats in f32, integers without a sign, which wrap,
// complex ones as two parts. Included by kernels/sparse/sparse.cc alone.
#pragma once

#include <complex>
#include <type_traits>

#include "core/dtype.h"

namespace frazil::sparse {

template <typename T>
struct Pair {
  T re = 0, im = 0;
  Pair operator*(const Pair& o) const { return {re * o.re - im * o.im, re * o.im + im * o.re}; }
  Pair& operator+=(const Pair& o) {
    re += o.re;
    im += o.im;
    return *this;
  }
};

// T lies in memory; Sum is what is computed with.
template <typename T>
struct Number {
  using Sum = std::conditional_t<
      std::is_integral_v<T>,
      std::common_type_t<std::make_unsigned_t<std::conditional_t<std::is_integral_v<T>, T, int>>,
                         unsigned>,
      T>;
  static Sum Load(T x) { return static_cast<Sum>(x); }
  static T Store(Sum x) { return static_cast<T>(x); }
};
template <>
struct Number<Half> {
  using Sum = float;
  static Sum Load(Half x) { return ToFloat(x); }
  static Half Store(Sum x) { return ToHalf(double{x}); }
};
template <>
struct Number<BFloat16> {
  using Sum = float;
  static Sum Load(BFloat16 x) { return ToFloat(x); }
  static BFloat16 Store(Sum x) { return ToBFloat16(double{x}); }
};
template <typename T>
struct Number<std::complex<T>> {
  using Sum = Pair<T>;
  static Sum Load(const std::complex<T>& z) { return {z.real(), z.imag()}; }
  static std::complex<T> Store(const Sum& z) { return {z.re, z.im}; }
};

}  // namespace frazil::sparse
