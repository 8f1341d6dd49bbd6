#include "core/dtype.h"

#include <bit>
#include <cmath>

namespace frazil {
namespace {

// Rounds |x| to a 16-bit float with `mant` stored mantissa bits and exponent bias `bias`.
uint16_t RoundTo16(double x, int mant, int bias) {
  const uint64_t bits = std::bit_cast<uint64_t>(x);
  const uint16_t sign = static_cast<uint16_t>(bits >> 63 << 15);
  const int exp_bits = 15 - mant;
  const uint16_t inf = static_cast<uint16_t>(((1 << exp_bits) - 1) << mant);
  if (std::isnan(x)) return inf | static_cast<uint16_t>(1 << (mant - 1));
  const int exponent = static_cast<int>(bits >> 52 & 0x7ff) - 1023;
  if (exponent == 1024) return sign | inf;
  // The weight of the last kept bit: fixed once the result is subnormal.
  const int lsb = (exponent < 1 - bias ? 1 - bias : exponent) - mant;
  if (exponent < 1 - bias - mant - 1) return sign;
  const uint64_t m = (bits & ((1ull << 52) - 1)) | 1ull << 52;
  const int drop = lsb - (exponent - 52);
  uint64_t kept = m >> drop;
  const uint64_t rest = m & ((1ull << drop) - 1), half = 1ull << (drop - 1);
  kept += rest > half || (rest == half && (kept & 1));
  // A carry out of the mantissa moves into the exponent field by plain addition.
  uint64_t out =
      exponent < 1 - bias ? kept : kept + (static_cast<uint64_t>(exponent + bias - 1) << mant);
  if (out > inf) out = inf;
  return sign | static_cast<uint16_t>(out);
}

}  // namespace

std::optional<DType> ParseDType(std::string_view name) {
  for (int i = 0; i < kNumDTypes; ++i) {
    const auto& row = dtype_internal::kRows[i];
    if (name == row.name || name == row.short_name) return static_cast<DType>(i);
  }
  return std::nullopt;
}

float ToFloat(Half h) {
  const uint32_t sign = static_cast<uint32_t>(h.bits & 0x8000) << 16;
  const int exponent = h.bits >> 10 & 0x1f;
  const uint32_t mantissa = h.bits & 0x3ff;
  if (exponent == 31) return std::bit_cast<float>(sign | 0x7f800000u | mantissa << 13);
  if (exponent != 0)
    return std::bit_cast<float>(sign | static_cast<uint32_t>(exponent + 112) << 23 |
                                mantissa << 13);
  const float magnitude = static_cast<float>(mantissa) * 0x1p-24f;
  return sign ? -magnitude : magnitude;
}

float ToFloat(BFloat16 b) { return std::bit_cast<float>(static_cast<uint32_t>(b.bits) << 16); }

Half ToHalf(double x) { return {RoundTo16(x, 10, 15)}; }

BFloat16 ToBFloat16(double x) { return {RoundTo16(x, 7, 127)}; }

}  // namespace frazil
