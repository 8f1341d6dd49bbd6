// What each kernel instruction computes on one element: ops.def in C++. Called by the interpreter.
// Invariant: every input has a defined result; nothing traps and nothing is undefined behaviour.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <concepts>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "core/dtype.h"

namespace frazil::kir::semantics {

template <typename T>
concept Integer = std::integral<T> && !std::same_as<T, bool>;
template <typename T>
concept SmallFloat = std::same_as<T, Half> || std::same_as<T, BFloat16>;
template <Integer T>
using Unsigned = std::make_unsigned_t<T>;

// Wrapping happens in at least 32 unsigned bits, so that no promotion to int can overflow.
template <Integer T>
T Neg(T a) {
  return T(Unsigned<T>(0) - Unsigned<T>(a));
}
template <std::floating_point T>
T Neg(T a) {
  return -a;
}

template <Integer T>
T Abs(T a) {
  return a < T(0) ? Neg(a) : a;
}
template <std::floating_point T>
T Abs(T a) {
  return std::fabs(a);
}

template <typename T>
T Add(T a, T b) {
  if constexpr (Integer<T>) return T(Unsigned<T>(a) + Unsigned<T>(b));
  return a + b;
}
template <typename T>
T Sub(T a, T b) {
  if constexpr (Integer<T>) return T(Unsigned<T>(a) - Unsigned<T>(b));
  return a - b;
}
template <typename T>
T Mul(T a, T b) {
  if constexpr (Integer<T>) return T(Unsigned<T>(a) * Unsigned<T>(b));
  return a * b;
}

template <Integer T>
T Mulhi(T a, T b) {
  using Wide = std::conditional_t<std::is_signed_v<T>, __int128, unsigned __int128>;
  return T(Wide(a) * Wide(b) >> (8 * sizeof(T)));
}

template <typename T>
T Div(T a, T b) {
  if constexpr (Integer<T>) {
    if (b == 0) return 0;
    if (std::is_signed_v<T> && b == T(-1)) return Neg(a);
  }
  return a / b;
}
template <Integer T>
T Rem(T a, T b) {
  if (b == 0 || (std::is_signed_v<T> && b == T(-1))) return 0;
  return a % b;
}

// b is an integer, or infinite, or NaN where a is.
template <std::floating_point T>
T Scale(T a, T b) {
  constexpr T kFar = 1 << 14;  // beyond all exponents
  return std::scalbn(a, b == b ? int(std::clamp(b, -kFar, kFar)) : 0);
}

template <typename T>
T Min(T a, T b) {
  if constexpr (std::floating_point<T>) {
    if (a != a) return a;
    if (b != b) return b;
    if (a == b) return std::signbit(a) ? a : b;
  }
  return a < b ? a : b;
}
template <typename T>
T Max(T a, T b) {
  if constexpr (std::floating_point<T>) {
    if (a != a) return a;
    if (b != b) return b;
    if (a == b) return std::signbit(a) ? b : a;
  }
  return a < b ? b : a;
}

template <Integer T>
T Shl(T a, T b) {
  if (Unsigned<T>(b) >= 8 * sizeof(T)) return 0;
  return T(Unsigned<T>(a) << Unsigned<T>(b));
}
template <Integer T>
T Shr(T a, T b) {
  if (Unsigned<T>(b) >= 8 * sizeof(T)) return a < T(0) ? T(-1) : T(0);
  return a >> b;
}

// Truncates, saturates, NaN gives 0.
template <Integer To, std::floating_point From>
To Saturate(From x) {
  using Limits = std::numeric_limits<To>;
  // 2^digits, one past the largest value, is exact in every float type.
  const From past = std::ldexp(From(1), Limits::digits);
  if (x != x) return 0;
  if (x >= past) return Limits::max();
  if (x <= (std::is_signed_v<To> ? -past : From(0))) return Limits::min();
  return To(x);
}

// cast.
template <typename To, typename From>
To Convert(From x) {
  if constexpr (std::same_as<To, From>) {
    return x;
  } else if constexpr (SmallFloat<From>) {
    return Convert<To>(ToFloat(x));
  } else if constexpr (std::same_as<To, bool>) {
    return x != From(0);
  } else if constexpr (std::same_as<To, Half>) {
    return ToHalf(double(x));
  } else if constexpr (std::same_as<To, BFloat16>) {
    return ToBFloat16(double(x));
  } else if constexpr (Integer<To> && std::floating_point<From>) {
    return Saturate<To>(x);
  } else {
    return To(x);
  }
}

}  // namespace frazil::kir::semantics
