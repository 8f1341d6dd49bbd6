#include "core/promote.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "core/default_dtype.h"

namespace frazil {

std::atomic<DType> g_default_float = DType::kF32;
FZ_HOT_TLS int8_t t_default_float = -1;

namespace {

// The smallest float that NumPy pairs with integers of this size: 1 byte -> f16, 2 -> f32, more ->
// f64.
DType FloatForIntSize(int bytes) {
  return bytes == 1 ? DType::kF16 : bytes == 2 ? DType::kF32 : DType::kF64;
}

DType WiderFloat(DType a, DType b) {
  if (a == b) return a;
  if (IsHalf(a) && IsHalf(b)) return DType::kF32;  // f16 with bf16: neither holds the other
  return SizeOf(a) >= SizeOf(b) ? a : b;
}

DType PromoteInts(DType a, DType b) {
  if (IsSigned(a) == IsSigned(b)) return SizeOf(a) >= SizeOf(b) ? a : b;
  const DType s = IsSigned(a) ? a : b, u = IsSigned(a) ? b : a;
  if (SizeOf(s) > SizeOf(u)) return s;
  switch (SizeOf(u)) {
    case 1:
      return DType::kI16;
    case 2:
      return DType::kI32;
    case 4:
      return DType::kI64;
    default:
      return DType::kF64;
  }
}

struct IntRange {
  int64_t lo;
  uint64_t hi;
};
IntRange RangeOf(DType t) {
  const int bits = BitsOf(t);
  if (IsUnsigned(t)) return {0, ~uint64_t{0} >> (64 - bits)};
  return {static_cast<int64_t>(~uint64_t{0} << (bits - 1)), ~uint64_t{0} >> (65 - bits)};
}

}  // namespace

DType Promote(DType a, DType b) {
  if (a == b) return a;
  if (IsComplex(a) || IsComplex(b)) {
    const DType x = ComplexFor(a), y = ComplexFor(b);
    return SizeOf(x) >= SizeOf(y) ? x : y;
  }
  if (IsBool(a)) return b;
  if (IsBool(b)) return a;
  if (IsFloat(a) && IsFloat(b)) return WiderFloat(a, b);
  if (IsFloat(a)) {
    // bf16 has f32's range but 8 bits: it pairs with 1-byte integers as f16 does.
    const DType need = FloatForIntSize(SizeOf(b));
    return need == DType::kF16 ? a : WiderFloat(a, need);
  }
  if (IsFloat(b)) return Promote(b, a);
  return PromoteInts(a, b);
}

DType Promote(DType a, Scalar::Kind kind) {
  switch (kind) {
    case Scalar::Kind::kBool:
      return a;
    case Scalar::Kind::kInt:
      return IsBool(a) ? DType::kI64 : a;
    case Scalar::Kind::kFloat:
      return IsInexact(a) ? a : DType::kF64;
    case Scalar::Kind::kComplex:
      return IsFloat(a) ? ComplexFor(a) : IsComplex(a) ? a : DType::kC128;
  }
  return a;
}

DType FloatFor(DType a) { return IsInexact(a) ? a : FloatForIntSize(SizeOf(a)); }

DType QuotientFor(DType a) { return IsInexact(a) ? a : DType::kF64; }

DType SumFor(DType a) {
  if (IsInexact(a)) return a;
  return IsUnsigned(a) ? DType::kU64 : DType::kI64;
}

DType DefaultFor(Scalar::Kind kind) {
  return kind == Scalar::Kind::kBool    ? DType::kBool
         : kind == Scalar::Kind::kInt   ? DType::kI64
         : kind == Scalar::Kind::kFloat ? DefaultFloat()
                                        : ComplexFor(DefaultFloat());
}

uint64_t BitsOf(DType dtype, double value) {
  switch (dtype) {
    case DType::kBool:
      return value != 0;
    case DType::kF16:
      return ToHalf(value).bits;
    case DType::kBF16:
      return ToBFloat16(value).bits;
    case DType::kF32:
      return std::bit_cast<uint32_t>(static_cast<float>(value));
    case DType::kF64:
      return std::bit_cast<uint64_t>(value);
    default:
      break;
  }
  const IntRange range = RangeOf(dtype);
  uint64_t bits;
  if (std::isnan(value)) {
    bits = 0;
  } else if (value <= static_cast<double>(range.lo)) {
    bits = static_cast<uint64_t>(range.lo);
  } else if (value >= static_cast<double>(range.hi)) {
    bits = range.hi;
  } else {
    bits = value < 0 ? static_cast<uint64_t>(static_cast<int64_t>(value))
                     : static_cast<uint64_t>(value);
  }
  return bits & (~uint64_t{0} >> (64 - BitsOf(dtype)));
}

bool Fits(const Scalar& scalar, DType dtype) {
  const IntRange range = RangeOf(dtype);
  if (scalar.beyond()) return false;
  if (scalar.big) return static_cast<uint64_t>(scalar.i) <= range.hi;
  return scalar.i >= range.lo && (scalar.i < 0 || static_cast<uint64_t>(scalar.i) <= range.hi);
}

StatusOr<ValueRef> ToImmediate(std::string_view op, const Scalar& scalar, DType dtype) {
  if (IsComplex(dtype) || scalar.is_complex()) {
    return TypeError("[", std::string(op), "] the complex number ", scalar.f,
                     scalar.im < 0 ? "" : "+", scalar.im, "j is no ", std::string(Name(dtype)),
                     ".");
  }
  if (scalar.kind == Scalar::Kind::kFloat) return Value::Immediate(dtype, BitsOf(dtype, scalar.f));
  if (!IsInt(dtype) && !std::isinf(scalar.f)) {
    return Value::Immediate(dtype, BitsOf(dtype, scalar.AsDouble()));
  }
  if (!IsInt(dtype) || !Fits(scalar, dtype)) {
    const std::string text = scalar.beyond() ? "beyond 64 bits"
                             : scalar.big    ? absl::StrCat(static_cast<uint64_t>(scalar.i))
                                             : absl::StrCat(scalar.i);
    return OverflowError("[", std::string(op), "] Python integer ", text, " is out of bounds for ",
                         std::string(Name(dtype)), ".");
  }
  return Value::Immediate(dtype,
                          static_cast<uint64_t>(scalar.i) & (~uint64_t{0} >> (64 - BitsOf(dtype))));
}

}  // namespace frazil
