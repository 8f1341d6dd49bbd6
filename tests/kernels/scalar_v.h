// A scalar value with the arithmetic of jit/kir/ops.def: the V on which tests evaluate the
// templates of kernels/fn.h. Called by tests only. Invariant: each operation is ops.def's; nothing
// converts implicitly between types, which is checked.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <type_traits>

#include "core/dtype.h"
#include "kernels/fn_tables.h"

namespace frazil {

struct ScalarV {
  DType type = DType::kBool;
  uint64_t bits = 0;

  template <class T>
  T As() const {
    if constexpr (std::is_same_v<T, bool>) {
      return bits != 0;
    } else if constexpr (sizeof(T) == 8) {
      return std::bit_cast<T>(bits);
    } else {
      return std::bit_cast<T>(uint32_t(bits));
    }
  }
  template <class T>
  static ScalarV Of(T x) {
    ScalarV v{DTypeOf<T>::value, 0};
    if constexpr (std::is_same_v<T, bool>) {
      v.bits = x;
    } else if constexpr (sizeof(T) == 8) {
      v.bits = std::bit_cast<uint64_t>(x);
    } else {
      v.bits = std::bit_cast<uint32_t>(x);
    }
    return v;
  }
};

namespace scalar_internal {

// Inlined everywhere: with a known type the compiler folds the switch away, and an exhaustive test
// runs natively.
#define FZ_SCALAR_INLINE [[gnu::always_inline]] inline

FZ_SCALAR_INLINE void Require(bool condition) {
  if (!condition) std::abort();
}

// f called with a zero of the C++ type of `type`, among the types arithmetic has (bool only if
// kBool).
template <bool kBool = false, class F>
FZ_SCALAR_INLINE ScalarV Switch(DType type, F f) {
  switch (type) {
    case DType::kF32:
      return f(float());
    case DType::kF64:
      return f(double());
    case DType::kI32:
      return f(int32_t());
    case DType::kU32:
      return f(uint32_t());
    case DType::kI64:
      return f(int64_t());
    case DType::kU64:
      return f(uint64_t());
    case DType::kBool:
      if constexpr (kBool) return f(bool());
    default:
      std::abort();
  }
}

template <class T>
FZ_SCALAR_INLINE ScalarV Only(T x) {
  return ScalarV::Of(x);
}

// The unsigned type in which T's arithmetic wraps.
template <class T>
using Wrapping = std::make_unsigned_t<
    std::conditional_t<std::is_integral_v<T> && !std::is_same_v<T, bool>, T, int>>;

template <class To, class From>
FZ_SCALAR_INLINE To Convert(From x) {
  if constexpr (std::is_same_v<To, bool>) {
    return x != From(0);
  } else if constexpr (std::is_integral_v<To> && std::is_floating_point_v<From>) {
    using Limits = std::numeric_limits<To>;
    if (x != x) return 0;
    if (x >= std::ldexp(From(1), Limits::digits)) return Limits::max();
    if (x <= From(Limits::min())) return Limits::min();
    return To(x);
  } else {
    return To(x);
  }
}

}  // namespace scalar_internal

FZ_SCALAR_INLINE ScalarV KBits(ScalarV like, uint64_t bits) { return {like.type, bits}; }

FZ_SCALAR_INLINE ScalarV K(ScalarV like, double value) {
  return scalar_internal::Switch(
      like.type, [&](auto t) { return ScalarV::Of(scalar_internal::Convert<decltype(t)>(value)); });
}

#define FZ_SCALAR_ARITHMETIC(op)                                \
  FZ_SCALAR_INLINE ScalarV operator op(ScalarV a, ScalarV b) {  \
    scalar_internal::Require(a.type == b.type);                 \
    return scalar_internal::Switch(a.type, [&](auto t) {        \
      using T = decltype(t);                                    \
      if constexpr (std::is_floating_point_v<T>) {              \
        return ScalarV::Of<T>(a.As<T>() op b.As<T>());          \
      } else {                                                  \
        using U = scalar_internal::Wrapping<T>;                 \
        return ScalarV::Of<T>(T(U(a.As<T>()) op U(b.As<T>()))); \
      }                                                         \
    });                                                         \
  }
FZ_SCALAR_ARITHMETIC(+)
FZ_SCALAR_ARITHMETIC(-)
FZ_SCALAR_ARITHMETIC(*)
#undef FZ_SCALAR_ARITHMETIC

FZ_SCALAR_INLINE ScalarV operator/(ScalarV a, ScalarV b) {
  scalar_internal::Require(a.type == b.type && IsFloat(a.type));
  return scalar_internal::Switch(a.type, [&](auto t) {
    using T = decltype(t);
    if constexpr (std::is_floating_point_v<T>) return ScalarV::Of<T>(a.As<T>() / b.As<T>());
    return a;
  });
}

#define FZ_SCALAR_COMPARE(op)                                  \
  FZ_SCALAR_INLINE ScalarV operator op(ScalarV a, ScalarV b) { \
    scalar_internal::Require(a.type == b.type);                \
    return scalar_internal::Switch<true>(a.type, [&](auto t) { \
      using T = decltype(t);                                   \
      return ScalarV::Of<bool>(a.As<T>() op b.As<T>());        \
    });                                                        \
  }
FZ_SCALAR_COMPARE(<)
FZ_SCALAR_COMPARE(<=)
FZ_SCALAR_COMPARE(>)
FZ_SCALAR_COMPARE(>=)
FZ_SCALAR_COMPARE(==)
FZ_SCALAR_COMPARE(!=)
#undef FZ_SCALAR_COMPARE

// Bits above the type's width stay 0.
#define FZ_SCALAR_BITWISE(op)                                       \
  FZ_SCALAR_INLINE ScalarV operator op(ScalarV a, ScalarV b) {      \
    scalar_internal::Require(a.type == b.type && !IsFloat(a.type)); \
    return {a.type, a.bits op b.bits};                              \
  }
FZ_SCALAR_BITWISE(&)
FZ_SCALAR_BITWISE(|)
FZ_SCALAR_BITWISE(^)
#undef FZ_SCALAR_BITWISE

FZ_SCALAR_INLINE ScalarV operator~(ScalarV a) {
  scalar_internal::Require(!IsFloat(a.type));
  uint64_t mask = IsBool(a.type) ? 1 : SizeOf(a.type) == 4 ? 0xFFFFFFFF : ~uint64_t(0);
  return {a.type, ~a.bits & mask};
}

#define FZ_SCALAR_SHIFT(op, fallback)                                               \
  FZ_SCALAR_INLINE ScalarV operator op(ScalarV a, ScalarV b) {                      \
    scalar_internal::Require(a.type == b.type && IsInt(a.type));                    \
    return scalar_internal::Switch(a.type, [&](auto t) {                            \
      using T = decltype(t);                                                        \
      if constexpr (std::is_integral_v<T>) {                                        \
        using U = std::make_unsigned_t<T>;                                          \
        T x = a.As<T>();                                                            \
        U count = U(b.As<T>());                                                     \
        return ScalarV::Of<T>(count < sizeof(T) * 8 ? T(x op count) : T(fallback)); \
      }                                                                             \
      return a;                                                                     \
    });                                                                             \
  }
FZ_SCALAR_SHIFT(<<, 0)
FZ_SCALAR_SHIFT(>>, x < 0 ? -1 : 0)
#undef FZ_SCALAR_SHIFT

FZ_SCALAR_INLINE ScalarV bitcast(DType to, ScalarV a) {
  scalar_internal::Require(SizeOf(to) == SizeOf(a.type));
  return {to, a.bits};
}

FZ_SCALAR_INLINE ScalarV cast(DType to, ScalarV a) {
  return scalar_internal::Switch<true>(a.type, [&](auto from) {
    return scalar_internal::Switch<true>(to, [&](auto t) {
      return ScalarV::Of(scalar_internal::Convert<decltype(t)>(a.As<decltype(from)>()));
    });
  });
}

FZ_SCALAR_INLINE ScalarV select(ScalarV c, ScalarV a, ScalarV b) {
  scalar_internal::Require(IsBool(c.type) && a.type == b.type);
  return c.bits ? a : b;
}

// f on floats, integers give g.
#define FZ_SCALAR_FLOAT(name, expression)                \
  FZ_SCALAR_INLINE ScalarV name(ScalarV a) {             \
    scalar_internal::Require(IsFloat(a.type));           \
    return scalar_internal::Switch(a.type, [&](auto t) { \
      using T = decltype(t);                             \
      if constexpr (std::is_floating_point_v<T>) {       \
        T x = a.As<T>();                                 \
        return ScalarV::Of<T>(expression);               \
      }                                                  \
      return a;                                          \
    });                                                  \
  }
FZ_SCALAR_FLOAT(operator-, -x)
FZ_SCALAR_FLOAT(abs, std::fabs(x))
FZ_SCALAR_FLOAT(sqrt, std::sqrt(x))
FZ_SCALAR_FLOAT(floor, std::floor(x))
FZ_SCALAR_FLOAT(ceil, std::ceil(x))
FZ_SCALAR_FLOAT(trunc, std::trunc(x))
FZ_SCALAR_FLOAT(rint, std::nearbyint(x))
#undef FZ_SCALAR_FLOAT

FZ_SCALAR_INLINE ScalarV fma(ScalarV a, ScalarV b, ScalarV c) {
  scalar_internal::Require(a.type == b.type && a.type == c.type && IsFloat(a.type));
  return scalar_internal::Switch(a.type, [&](auto t) {
    using T = decltype(t);
    if constexpr (std::is_floating_point_v<T>)
      return ScalarV::Of<T>(std::fma(a.As<T>(), b.As<T>(), c.As<T>()));
    return a;
  });
}

FZ_SCALAR_INLINE ScalarV mulhi(ScalarV a, ScalarV b) {
  scalar_internal::Require(a.type == b.type &&
                           a.type == DType::kU64);  // all that kernels/fn.h uses
  return ScalarV::Of<uint64_t>(uint64_t((unsigned __int128)(a.bits) * b.bits >> 64));
}

// Whoever has these instructions must give the bits of those who do without.
FZ_SCALAR_INLINE bool HasScale(ScalarV) { return false; }
FZ_SCALAR_INLINE ScalarV scale(ScalarV, ScalarV) { std::abort(); }
FZ_SCALAR_INLINE bool HasLookup(ScalarV) { return true; }
FZ_SCALAR_INLINE ScalarV lookup(int table, ScalarV index) {
  return ScalarV::Of(fn::kTables[table][index.As<uint32_t>() % fn::kTableSize]);
}

#undef FZ_SCALAR_INLINE

}  // namespace frazil
