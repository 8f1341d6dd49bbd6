// Elements as integers of the same order. Called by kernels/order/sort.cc. Invariants: equal
// elements have equal keys (-0 that of +0), keys of descending order are the others' complements,
// and those of NaN are above all that other floats have.
#pragma once

#include <cstdint>
#include <limits>
#include <type_traits>

namespace frazil {

// Integers of type T.
template <typename T>
struct IntKeys {
  using Element = T;
  using Key = std::conditional_t<sizeof(T) == 8, int64_t, int32_t>;
  static constexpr bool kSigned = std::is_signed_v<T> || sizeof(T) < sizeof(Key);
  static constexpr T kFlip = kSigned ? T{0} : static_cast<T>(T{1} << (8 * sizeof(T) - 1));

  static Key Of(T v, bool descending) {
    const Key key = static_cast<Key>(static_cast<T>(v ^ kFlip));
    return descending ? ~key : key;
  }
  static T Value(Key key, bool descending) {
    return static_cast<T>(static_cast<T>(descending ? ~key : key) ^ kFlip);
  }
  static constexpr bool IsZero(T) { return false; }  // floats have two
  static constexpr bool IsMinusZero(T) { return false; }
};

// Floats as their bits, of which `infinity` are those of infinity.
template <typename T, T infinity>
struct FloatKeys {
  using Element = T;
  using Key = std::conditional_t<sizeof(T) == 8, int64_t, int32_t>;
  static constexpr T kSign = std::numeric_limits<T>::min();
  static constexpr T kMagnitude = std::numeric_limits<T>::max();
  static constexpr Key kNaN = std::numeric_limits<Key>::max();

  static Key Of(T bits, bool descending) {
    const Key magnitude = static_cast<Key>(bits & kMagnitude);
    const Key key = bits < 0 ? -magnitude : magnitude;
    return magnitude > infinity ? kNaN : descending ? ~key : key;
  }
  static T Value(Key key, bool descending) {
    if (key == kNaN) return kMagnitude;
    if (descending) key = ~key;
    return static_cast<T>(key < 0 ? static_cast<T>(-key) | kSign : key);
  }
  static bool IsZero(T bits) { return (bits & kMagnitude) == 0; }
  static bool IsMinusZero(T bits) { return bits == kSign; }
};

}  // namespace frazil
