#include "core/dtype.h"

#include <cmath>

#include "gtest/gtest.h"

namespace frazil {
namespace {

TEST(DType, HalfRoundTripsEveryPattern) {
  for (int i = 0; i < 65536; ++i) {
    const Half h{static_cast<uint16_t>(i)};
    const float f = ToFloat(h);
    if (std::isnan(f)) continue;
    ASSERT_EQ(ToHalf(f).bits, h.bits) << i;
    const BFloat16 b{static_cast<uint16_t>(i)};
    if (std::isnan(ToFloat(b))) continue;
    ASSERT_EQ(ToBFloat16(ToFloat(b)).bits, b.bits) << i;
  }
}

TEST(DType, RoundsOnceToNearestEven) {
  EXPECT_EQ(ToHalf(65504.0).bits, 0x7bff);
  EXPECT_EQ(ToHalf(65519.999).bits, 0x7bff);
  EXPECT_EQ(ToHalf(65520.0).bits, 0x7c00);
  EXPECT_EQ(ToHalf(1.0 + 0x1p-11).bits, 0x3c00);
  EXPECT_EQ(ToHalf(1.0 + 0x1p-11 + 0x1p-40).bits, 0x3c01);  // through float this would be 0x3c00
  EXPECT_EQ(ToHalf(0x1p-25).bits, 0);
  EXPECT_EQ(ToHalf(0x1.8p-25).bits, 1);
  EXPECT_EQ(ToHalf(-0.0).bits, 0x8000);
  EXPECT_EQ(ToBFloat16(NAN).bits & 0x7fff, 0x7fc0);
}

TEST(DType, ParsesBothNames) {
  EXPECT_EQ(ParseDType("f32"), DType::kF32);
  EXPECT_EQ(ParseDType("bfloat16"), DType::kBF16);
  EXPECT_EQ(ParseDType("float128"), std::nullopt);
}

}  // namespace
}  // namespace frazil
