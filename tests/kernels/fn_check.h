// How the tests of kernels/fn.h measure errors: against libm in a wider type, in units of the last
// place, with the bounds of kernels/fn.def. Called by the tests in this folder only. Invariant:
// special values must be met exactly, an error in them counts as infinite.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <limits>

#include "kernels/fn.h"

namespace frazil {

using Wide = long double;  // 64 bits of mantissa or more, so a reference within 2^-10 ULP of f64

struct Bound {
  double f32, f64;
};
inline constexpr Bound kBounds[] = {
#define FZ_FN(E, name, operands, ulp32, ulp64) {ulp32, ulp64},
#include "kernels/fn.def"
#undef FZ_FN
};
inline constexpr const char* kNames[] = {
#define FZ_FN(E, name, operands, ulp32, ulp64) name,
#include "kernels/fn.def"
#undef FZ_FN
};

template <class T>
T Rsqrt(T x) {
  return T(1) / std::sqrt(x);
}
template <class T>
T Sigmoid(T x) {
  return x < 0 ? std::exp(x) / (std::exp(x) + T(1)) : T(1) / (std::exp(-x) + T(1));
}

// The functions of one argument with their references for f32 and f64.
struct Reference {
  Fn fn;
  double (*f32)(double);
  Wide (*f64)(Wide);
};
inline constexpr Reference kReferences[] = {
    {Fn::kExp, std::exp, std::exp},       {Fn::kExpm1, std::expm1, std::expm1},
    {Fn::kLog, std::log, std::log},       {Fn::kLog1p, std::log1p, std::log1p},
    {Fn::kSin, std::sin, std::sin},       {Fn::kCos, std::cos, std::cos},
    {Fn::kTan, std::tan, std::tan},       {Fn::kTanh, std::tanh, std::tanh},
    {Fn::kErf, std::erf, std::erf},       {Fn::kAtan, std::atan, std::atan},
    {Fn::kLog2, std::log2, std::log2},    {Fn::kLog10, std::log10, std::log10},
    {Fn::kAsin, std::asin, std::asin},    {Fn::kAcos, std::acos, std::acos},
    {Fn::kSinh, std::sinh, std::sinh},    {Fn::kCosh, std::cosh, std::cosh},
    {Fn::kAsinh, std::asinh, std::asinh}, {Fn::kAcosh, std::acosh, std::acosh},
    {Fn::kAtanh, std::atanh, std::atanh}, {Fn::kRsqrt, Rsqrt, Rsqrt},
    {Fn::kSigmoid, Sigmoid, Sigmoid},
};

inline bool Nightly() { return std::getenv("FRAZIL_NIGHTLY") != nullptr; }

// The distance of got from ref in units of the last place T has at ref; infinite where nothing
// short of equality will do (NaN, infinities, zeros with their signs).
template <class T, class R>
double UlpError(T got, R ref) {
  constexpr double kWrong = std::numeric_limits<double>::infinity();
  using Limits = std::numeric_limits<T>;
  if (ref != ref) return got != got ? 0 : kWrong;
  const T rounded = T(ref);
  if (got != got || std::signbit(got) != std::signbit(rounded)) return kWrong;
  if (ref == R(0)) return got == 0 ? 0 : kWrong;
  if (std::isinf(got) && std::isinf(rounded)) return 0;
  // An infinity beside the largest number counts as the number that would follow it.
  Wide value = std::isinf(got) ? std::copysign(std::ldexp(Wide(1), Limits::max_exponent), Wide(got))
                               : Wide(got);
  if (std::fabs(Wide(ref)) > std::ldexp(Wide(1), Limits::max_exponent)) return kWrong;
  int exponent;
  std::frexp(Wide(ref), &exponent);
  exponent = std::max(exponent - Limits::digits, Limits::min_exponent - Limits::digits);
  return double(std::ldexp(std::fabs(value - Wide(ref)), -exponent));
}

struct Worst {
  double ulp = 0, a = 0, b = 0;
  uint64_t count = 0;
  void Add(double error, double x, double y = 0) {
    ++count;
    if (error > ulp) ulp = error, a = x, b = y;
  }
  void Add(const Worst& other) {
    count += other.count;
    if (other.ulp > ulp) ulp = other.ulp, a = other.a, b = other.b;
  }
};

inline void Expect(Fn f, const char* type, const Worst& worst, double bound) {
  std::printf("  %-6s %s: %.4f ULP at (%a, %a), %llu arguments\n", kNames[int(f)], type, worst.ulp,
              worst.a, worst.b, static_cast<unsigned long long>(worst.count));
  EXPECT_GT(worst.count, 1000u);
  EXPECT_LE(worst.ulp, bound) << kNames[int(f)] << " " << type << " at " << worst.a << ", "
                              << worst.b;
}

// Adds the error at every one of x[0, n).
inline void AddErrors(double (*ref)(double), const float* x, const float* got, int64_t n,
                      Worst* worst) {
  for (int64_t i = 0; i < n; ++i) {
    const double exact = ref(x[i]);
    // The quick way out: the nearest float, and an ordinary one, adds nothing beyond 1/2.
    if (got[i] == float(exact) && got[i] != 0 && worst->ulp > 0.5) {
      ++worst->count;
    } else {
      worst->Add(UlpError(got[i], exact), x[i]);
    }
  }
}

}  // namespace frazil
