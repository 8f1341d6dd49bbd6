// The cost model: estimates keep the order of what was measured, and are numbers that can be added.
#include "core/cost.h"

#include "gtest/gtest.h"

namespace frazil::cost {
namespace {

TEST(Cost, DearOpsAreDearer) {
  const DType f32 = DType::kF32;
  EXPECT_LT(Slots(OpId::k_add, f32), Slots(OpId::k_exp, f32));
  EXPECT_LT(Slots(OpId::k_exp, f32), Slots(OpId::k_divide, f32));
  EXPECT_LT(Slots(OpId::k_divide, f32), Slots(OpId::k_tanh, f32));
  EXPECT_LT(Slots(OpId::k_tanh, f32), Slots(OpId::k_sin, f32));
  EXPECT_LT(Slots(OpId::k_tanh, f32), Slots(OpId::k_tanh, DType::kF64));
  EXPECT_LT(Slots(OpId::k_multiply, DType::kI32), Slots(OpId::k_floor_divide, DType::kI32));
}

// 16 Ki elements in cache, one thread: 2.1 us to add, 2.7 us of exp.
TEST(Cost, IsNearWhatWasMeasured) {
  const double n = 1 << 14;
  EXPECT_NEAR(Bytes(12 * n, 12 * n), 2100, 500);
  EXPECT_NEAR(Elements(n, Slots(OpId::k_exp, DType::kF32) + 2, 4), 2700, 500);
  // Beyond the cache: 1 Mi elements in 480 us.
  EXPECT_NEAR(Bytes(12 * 64 * n, 12 * 64 * n), 480e3, 50e3);
}

TEST(Cost, MemoryAndComputingOverlap) {
  EXPECT_EQ(Overlapped(3, 5), 5);
  EXPECT_EQ(Overlapped(7, 5), 7);
}

TEST(Cost, WholeNumbersCanBeAdded) {
  EXPECT_EQ(Whole(0), 1);
  EXPECT_EQ(Whole(12.7), 12);
  EXPECT_GT(1000 * Whole(1e300), 0);
}

TEST(Cost, WidthCounts) {
  EXPECT_EQ(Elements(100, 1, 8), 2 * Elements(100, 1, 4));
  EXPECT_GT(Points(100, 1), Elements(100, 1, 8));
}

}  // namespace
}  // namespace frazil::cost
