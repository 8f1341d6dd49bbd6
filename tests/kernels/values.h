// Random elements of every type, and whether two have the same bits. Called by the tests of
// products and convolutions.
#pragma once

#include <cmath>
#include <cstring>
#include <limits>
#include <random>

#include "core/dtype.h"

namespace frazil {

inline double SpecialValue(std::mt19937_64& rng, double common) {
  const double inf = std::numeric_limits<double>::infinity();
  const double values[] = {0.0, -0.0, inf, -inf, std::nan(""), 1e-41, -1e-41, 1e-20, 6e-8, 3e38};
  return rng() % 40 == 0 ? values[rng() % 10] : common;
}

template <typename T>
T Make(std::mt19937_64& rng, bool special) {
  if constexpr (std::is_integral_v<T>) {
    return T(rng());
  } else {
    double x = std::normal_distribution<double>()(rng);
    if (special) x = SpecialValue(rng, x);
    if constexpr (std::is_same_v<T, Half>) return ToHalf(x);
    if constexpr (std::is_same_v<T, BFloat16>) return ToBFloat16(x);
    if constexpr (std::is_floating_point_v<T>) return T(x);
  }
}

template <typename T>
bool SameBits(T x, T y) {
  if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>) {
    return x.bits == y.bits || (std::isnan(ToFloat(x)) && std::isnan(ToFloat(y)));
  } else if constexpr (std::is_floating_point_v<T>) {
    return std::memcmp(&x, &y, sizeof(T)) == 0 || (std::isnan(x) && std::isnan(y));
  } else {
    return x == y;
  }
}

}  // namespace frazil
