#include "jit/kir/const.h"

#include <bit>
#include <cmath>

#include "core/check.h"
#include "core/promote.h"

namespace frazil::kir {
uint64_t BitsFromDouble(DType type, double value) { return frazil::BitsOf(type, value); }

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
