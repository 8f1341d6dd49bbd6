// May a kernel write its result over an operand? Only where each point reads what it writes, and
// nothing else.
#include "jit/plan/in_place.h"

#include "tests/jit/pending_testing.h"

namespace frazil::jit {
namespace {

constexpr std::string_view kNegate = R"(kernel k(x: buf f32 [s,1], o: out f32 [s,1]) space 2
  %0 = load x : f32
  %1 = neg %0 : f32
  store o, %1
)";

// Buffer 1 over buffer 0.
bool May(const Launch& launch, bool teams = false) {
  return MayOverwrite(launch, 1, teams, [](int buffer) { return buffer == 0; });
}

Launch Negate() { return MadeLaunch(kNegate, {5, 8}, {32, 4, 32, 4}); }

TEST(MayOverwrite, WhatEachPointReadsAndWritesAtOnePlace) {
  EXPECT_TRUE(May(Negate()));
  EXPECT_TRUE(May(Negate(), /*teams=*/true));
}

TEST(MayOverwrite, NotElementsOfAnotherSize) {
  Launch launch = Negate();
  launch.kernel.buffers[1].dtype = DType::kF64;
  EXPECT_FALSE(May(launch));
  launch.kernel.buffers[1].dtype = DType::kI32;
  EXPECT_TRUE(May(launch)) << "of one size";
}

TEST(MayOverwrite, NotFromAnotherPlace) {
  Launch launch = Negate();
  launch.buffers[0].offset = 4;
  EXPECT_FALSE(May(launch));
  launch.buffers[1].offset = 4;
  EXPECT_TRUE(May(launch));
}

TEST(MayOverwrite, NotInAnotherOrder) {
  Launch launch = Negate();
  launch.strides = {4, 20, 32, 4};
  EXPECT_FALSE(May(launch)) << "transposed";
}

TEST(MayOverwrite, StridesOfOneElementDoNotCount) {
  EXPECT_TRUE(May(MadeLaunch(kNegate, {1, 8}, {0, 4, 32, 4})));
  EXPECT_FALSE(May(MadeLaunch(kNegate, {2, 8}, {0, 4, 32, 4})));
}

TEST(MayOverwrite, NotWhatSeveralPointsRead) {
  EXPECT_FALSE(May(MadeLaunch(kNegate, {5, 8}, {0, 4, 0, 4})));
}

TEST(MayOverwrite, AValueBesideALoopUnlessTeamsShareIt) {
  const Launch launch = MadeLaunch(
      "kernel k(x: buf f32 [1,0], y: buf f32 [s,1], o: out f32 [1,0]) space 1 loop\n"
      "  %0 = load x : f32\n  loop\n    %2 = load y : f32\n    %3 = reduce max %2 : f32\n  end\n"
      "  %5 = add %0, %3 : f32\n  store o, %5\n",
      {5, 8}, {4, 0, 32, 4, 4, 0});
  const auto over_x = [](int buffer) { return buffer == 0; };
  EXPECT_TRUE(MayOverwrite(launch, 2, /*teams=*/false, over_x));
  EXPECT_FALSE(MayOverwrite(launch, 2, /*teams=*/true, over_x));
}

TEST(MayOverwrite, NotWhatAnotherResultIsWrittenTo) {
  Launch launch = Negate();
  launch.kernel.buffers[0].out = true;
  EXPECT_FALSE(May(launch));
}

TEST(MayOverwrite, OtherOperandsMayBeReadAnyhow) {
  const Launch launch = MadeLaunch(
      "kernel k(x: buf f32 [1], o: out f32 [1], y: buf f32 [s]) space 1\n"
      "  %0 = load x : f32\n  store o, %0\n  %2 = load y : f32\n  store o, %2\n",
      {8}, {4, 4, 64});
  EXPECT_TRUE(May(launch));
  EXPECT_FALSE(MayOverwrite(launch, 1, false, [](int buffer) { return buffer == 2; }));
}

TEST(MayOverwrite, NotWhatIsReadAgainBehindTheStore) {
  EXPECT_FALSE(
      May(MadeLaunch("kernel k(x: buf f32 [1], o: out f32 [1]) space 1\n"
                     "  %0 = load x : f32\n  store o, %0\n  %2 = load x : f32\n"
                     "  store o, %2\n",
                     {8}, {4, 4})));
}

TEST(MayOverwrite, NotWhereAllPointsWaitForEachOther) {
  Launch launch = Negate();
  launch.kernel.body.push_back({.op = kir::Op::kBarrier});
  EXPECT_FALSE(May(launch));
}

TEST(MayOverwrite, NotAtPlacesThatAreComputed) {
  EXPECT_FALSE(
      May(MadeLaunch("kernel k(x: buf f32 [1], o: out f32 [1]) space 1\n"
                     "  %0 = const 3 : i64\n  %1 = load x[%0] : f32\n  store o, %1\n",
                     {8}, {4, 4})));
  EXPECT_FALSE(
      May(MadeLaunch("kernel k(x: buf f32 [1], o: out f32 [1]) space 1\n"
                     "  %0 = const 3 : i64\n  %1 = load x : f32\n  store o[%0], %1\n",
                     {8}, {4, 4})));
}

}  // namespace
}  // namespace frazil::jit
