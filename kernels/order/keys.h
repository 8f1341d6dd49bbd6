// Elements as integers of the same order. Called by kernels/order/sort.cc. Invariants: equal
// elements have equal keys (-0 that of +0), keys are flipped by all ones for descending order, and
// those of NaN are above all that other floats have.
#pragma once

#include <cstdint>
#include <limits>
#include <type_traits>

// Part of the loop that calls it, whatever instructions that is written for.
#define FZ_HERE __attribute__((always_inline))

namespace frazil {

// Integers of type T.
template <typename T>
struct IntKeys {
  using Element = T;
  using Key = std::conditional_t<sizeof(T) == 8, int64_t, int32_t>;
  static constexpr bool kSigned = std::is_signed_v<T> || sizeof(T) < sizeof(Key);
  static constexpr bool kSame = kSigned && sizeof(T) == sizeof(Key);  // as the elements, ascending
  static constexpr T kFlip = kSigned ? T{0} : static_cast<T>(T{1} << (8 * sizeof(T) - 1));

  FZ_HERE static Key Of(T v, Key flip) {
    return static_cast<Key>(static_cast<T>(v ^ kFlip)) ^ flip;
  }
  FZ_HERE static T Value(Key key, Key flip) {
    return static_cast<T>(static_cast<T>(key ^ flip) ^ kFlip);
  }
  FZ_HERE static bool IsZero(T) { return false; }  // floats have two
  FZ_HERE static bool IsMinusZero(T) { return false; }
};

// Floats as their bits, of which `infinity` are those of infinity.
template <typename T, T infinity>
struct FloatKeys {
  using Element = T;
  using Key = std::conditional_t<sizeof(T) == 8, int64_t, int32_t>;
  static constexpr bool kSame = false;
  static constexpr T kSign = std::numeric_limits<T>::min();
  static constexpr T kMagnitude = std::numeric_limits<T>::max();
  static constexpr Key kNaN = std::numeric_limits<Key>::max();

  FZ_HERE static Key Of(T bits, Key flip) {
    const Key magnitude = static_cast<Key>(bits & kMagnitude);
    const Key key = (bits < 0 ? -magnitude : magnitude) ^ flip;
    return magnitude > infinity ? kNaN : key;
  }
  FZ_HERE static T Value(Key key, Key flip) {
    const Key plain = key ^ flip;
    const T bits = static_cast<T>(plain < 0 ? static_cast<T>(-plain) | kSign : plain);
    return key == kNaN ? kMagnitude : bits;
  }
  FZ_HERE static bool IsZero(T bits) { return (bits & kMagnitude) == 0; }
  FZ_HERE static bool IsMinusZero(T bits) { return bits == kSign; }
};

}  // namespace frazil
