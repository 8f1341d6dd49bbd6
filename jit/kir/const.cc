#include "jit/kir/const.h"

#include <bit>
#include <cmath>

#include "core/check.h"

namespace frazil::kir {
namespace {

// Saturates to a signed or unsigned integer of `bits` bits; NaN gives 0.
uint64_t Saturate(double value, int bits, bool is_signed) {
  if (std::isnan(value)) return 0;
  if (is_signed) {
    const double bound = std::ldexp(1.0, bits - 1);
    if (value >= bound) return (uint64_t{1} << (bits - 1)) - 1;
    if (value < -bound) return ~uint64_t{0} << (bits - 1);
    return static_cast<uint64_t>(static_cast<int64_t>(value));
  }
  if (value <= 0) return 0;
  if (value >= std::ldexp(1.0, bits)) return ~uint64_t{0};
  return static_cast<uint64_t>(value);
}

}  // namespace

uint64_t BitsFromDouble(DType type, double value) {
  switch (type) {
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
      return TruncateBits(type, Saturate(value, BitsOf(type), IsSigned(type)));
  }
}

double FloatFromBits(DType type, uint64_t bits) {
  switch (type) {
    case DType::kF16:
      return ToFloat(Half{static_cast<uint16_t>(bits)});
    case DType::kBF16:
      return ToFloat(BFloat16{static_cast<uint16_t>(bits)});
    case DType::kF32:
      return std::bit_cast<float>(static_cast<uint32_t>(bits));
    default:
      FZ_CHECK(type == DType::kF64);
      return std::bit_cast<double>(bits);
  }
}

int64_t IntFromBits(DType type, uint64_t bits) {
  const int unused = 64 - BitsOf(type);
  if (!IsSigned(type)) return static_cast<int64_t>(TruncateBits(type, bits));
  return static_cast<int64_t>(bits << unused) >> unused;
}

}  // namespace frazil::kir
