// Element types: names, sizes, kinds, and exact conversion of the 16-bit floats.
// Called everywhere. Invariant: everything here expands from core/dtypes.def; no other list of
// dtypes exists.
#pragma once

#include <complex>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#pragma GCC visibility push(default)
namespace frazil {

// IEEE binary16 and bfloat16 as storage; arithmetic happens in f32.
struct Half {
  uint16_t bits;
};
struct BFloat16 {
  uint16_t bits;
};

enum class DType : uint8_t {
#define FZ_DTYPE(E, name, short_name, T, bytes, kind) E,
#define FZ_COMPLEX FZ_DTYPE
#include "core/dtypes.def"
#undef FZ_DTYPE
};
inline constexpr int kNumDTypes = 15;
inline constexpr int kNumRealDTypes = 13;  // they come first: what kernels compute with

enum class DTypeKind : uint8_t { kBool, kSigned, kUnsigned, kFloat, kComplex };

namespace dtype_internal {
struct Row {
  std::string_view name, short_name;
  int bytes;
  DTypeKind kind;
};
inline constexpr Row kRows[] = {
#define FZ_DTYPE(E, name, short_name, T, bytes, kind) {name, short_name, bytes, DTypeKind::kind},
#define FZ_COMPLEX FZ_DTYPE
#include "core/dtypes.def"
#undef FZ_DTYPE
};
static_assert(sizeof(kRows) / sizeof(kRows[0]) == kNumDTypes);
}  // namespace dtype_internal

constexpr std::string_view Name(DType t) { return dtype_internal::kRows[int(t)].name; }
constexpr std::string_view ShortName(DType t) { return dtype_internal::kRows[int(t)].short_name; }
constexpr int SizeOf(DType t) { return dtype_internal::kRows[int(t)].bytes; }
constexpr DTypeKind KindOf(DType t) { return dtype_internal::kRows[int(t)].kind; }
constexpr bool IsFloat(DType t) { return KindOf(t) == DTypeKind::kFloat; }
constexpr bool IsHalf(DType t) { return t == DType::kF16 || t == DType::kBF16; }
constexpr bool IsSigned(DType t) { return KindOf(t) == DTypeKind::kSigned; }
constexpr bool IsUnsigned(DType t) { return KindOf(t) == DTypeKind::kUnsigned; }
constexpr bool IsInt(DType t) { return IsSigned(t) || IsUnsigned(t); }
constexpr bool IsBool(DType t) { return t == DType::kBool; }
constexpr bool IsComplex(DType t) { return KindOf(t) == DTypeKind::kComplex; }
// Floating point, real or complex.
constexpr bool IsInexact(DType t) { return IsFloat(t) || IsComplex(t); }
constexpr int BitsOf(DType t) { return SizeOf(t) * 8; }
// The dtype of the parts of a complex one; others stay.
constexpr DType PartOf(DType t) {
  return t == DType::kC64 ? DType::kF32 : t == DType::kC128 ? DType::kF64 : t;
}
// The smallest complex dtype that holds a dtype.
constexpr DType ComplexFor(DType t) {
  const bool single = IsHalf(t) || t == DType::kF32 || t == DType::kC64 || SizeOf(t) <= 2;
  return single ? DType::kC64 : DType::kC128;
}

// By short or long name; nullopt if there is none.
std::optional<DType> ParseDType(std::string_view name);

// The C++ type of a dtype and back.
template <DType>
struct CppTypeOf;
template <typename T>
struct DTypeOf;
#define FZ_DTYPE(E, name, short_name, T, bytes, kind) \
  template <>                                         \
  struct CppTypeOf<DType::E> {                        \
    using type = T;                                   \
  };                                                  \
  template <>                                         \
  struct DTypeOf<T> {                                 \
    static constexpr DType value = DType::E;          \
  };
#define FZ_COMPLEX FZ_DTYPE
#include "core/dtypes.def"
#undef FZ_DTYPE

// Calls f.operator()<T>() with the C++ type of `type`, which is not complex.
template <typename F>
decltype(auto) VisitDType(DType type, F&& f) {
  switch (type) {
#define FZ_DTYPE(E, name, short_name, T, bytes, kind) \
  case DType::E:                                      \
    return f.template operator()<T>();
#include "core/dtypes.def"
#undef FZ_DTYPE
    default:
      __builtin_unreachable();
  }
}

// Exact widening, and one round-to-nearest-even on the way back. NaN becomes the canonical quiet
// NaN (0x7E00, 0x7FC0). From double directly: there is no double rounding through float.
float ToFloat(Half h);
float ToFloat(BFloat16 b);
Half ToHalf(double x);
BFloat16 ToBFloat16(double x);

}  // namespace frazil
#pragma GCC visibility pop
