// Which nodes may be one kernel, and how: axes, loops, passes over them, what is written out.
#include "tests/jit/space_testing.h"

namespace frazil::jit {
namespace {

using Extents = std::vector<int64_t>;
Extents ParallelOf(const Space& space) {
  Extents extents;
  for (const int a : space.parallel) extents.push_back(space.extents[a]);
  return extents;
}
Extents LoopOf(const Space& space) {
  Extents extents;
  for (const int a : space.loop) extents.push_back(space.extents[a]);
  return extents;
}

// Of a read, per parallel axis.
Extents StridesOf(const Space& space, int32_t node, int operand) {
  Extents strides;
  for (const int a : space.parallel) strides.push_back(space.FindRead(node, operand)->strides[a]);
  return strides;
}

TEST(Analyse, ElementwiseOpsShareTheAxesOfTheLargest) {
  const auto space = SpaceOf(R"(graph (f32[64,32], f32[32]) {
    %2 = negative %1 : f32[32]
    %3 = add %0, %2 : f32[64,32]
    return %3
  })");
  ASSERT_TRUE(space);
  EXPECT_EQ(ParallelOf(*space), Extents({64, 32}));
  EXPECT_FALSE(space->has_loop);
  EXPECT_EQ(StridesOf(*space, 2, 0), Extents({0, 1})) << "the same for all rows";
  EXPECT_EQ(StridesOf(*space, 3, 0), Extents({32, 1}));
}

TEST(Analyse, NotWhatStoresLessThanTheSpace) {
  EXPECT_FALSE(SpaceOf(R"(graph (f32[64,32], f32[32]) {
    %2 = negative %1 : f32[32]
    %3 = add %0, %2 : f32[64,32]
    return %3, %2
  })"));
}

TEST(Analyse, ReductionsRunOverALoop) {
  const auto rows = SpaceOf("graph (f32[64,32]) {\n  %1 = sum %0 {2, 0} : f32[64]\n  return %1\n}");
  ASSERT_TRUE(rows);
  EXPECT_EQ(LoopOf(*rows), Extents({32}));
  EXPECT_EQ(ParallelOf(*rows), Extents({64}));
  EXPECT_EQ(rows->lanes, 64) << "the sum rule of the last axis";
  EXPECT_EQ(rows->loops, 1);
  const auto columns =
      SpaceOf("graph (f32[64,32]) {\n  %1 = sum %0 {1, 0} : f32[32]\n  return %1\n}");
  ASSERT_TRUE(columns);
  EXPECT_EQ(LoopOf(*columns), Extents({64}));
  EXPECT_EQ(columns->lanes, 8);
  const auto max = SpaceOf("graph (f32[64,32]) {\n  %1 = max %0 {2, 0} : f32[64]\n  return %1\n}");
  EXPECT_EQ(max->lanes, 0) << "in any order";
}

TEST(Analyse, ReductionsOfOneKernelRunOverTheSameAxes) {
  EXPECT_FALSE(SpaceOf(R"(graph (f32[64,32]) {
    %1 = negative %0 : f32[64,32]
    %2 = max %1 {2, 0} : f32[64]
    %3 = max %1 {1, 0} : f32[32]
    return %2, %3
  })"));
}

TEST(Analyse, WhatAReductionMakesIsForALaterPass) {
  const auto space = SpaceOf(R"(graph (f32[64,32]) {
    %1 = max %0 {2, 1} : f32[64,1]
    %2 = subtract %0, %1 : f32[64,32]
    %3 = exp %2 : f32[64,32]
    %4 = sum %3 {2, 1} : f32[64,1]
    %5 = divide %3, %4 : f32[64,32]
    return %5
  })");
  ASSERT_TRUE(space);
  EXPECT_EQ(space->loops, 3);
  EXPECT_EQ(space->members.at(1).phase, 1);
  EXPECT_EQ(space->members.at(3).phase, 1);
  EXPECT_EQ(space->members.at(4).phase, 2);
  EXPECT_EQ(space->members.at(3).passes, 2) << "for the sum, and again to be divided";
  EXPECT_EQ(space->members.at(5).passes, 1);
  EXPECT_TRUE(space->members.at(3).in_loop);
  EXPECT_FALSE(space->members.at(4).in_loop);
  EXPECT_TRUE(space->repeats);
}

TEST(Analyse, PartsThatReadTheSameDataAreOnePass) {
  const auto space = SpaceOf(R"(graph (f32[64,32]) {
    %1 = sum %0 {2, 0} : f32[64]
    %2 = max %0 {2, 0} : f32[64]
    return %1, %2
  })");
  ASSERT_TRUE(space);
  EXPECT_EQ(space->extents, Extents({64, 32}));
  EXPECT_FALSE(SpaceOf(R"(graph (f32[64,32], f32[64,32]) {
    %2 = sum %0 {2, 0} : f32[64]
    %3 = max %1 {2, 0} : f32[64]
    return %2, %3
  })"))
      << "they share nothing";
}

TEST(Analyse, AMeanWhoseAxisWasPutBackIsOneLoop) {
  const auto space = SpaceOf(R"(graph (f32[64,32]) {
    %1 = max %0 {2, 0} : f32[64]
    %2 = reshape %1 {64, 1} : view f32[64,1] strides [1,0] offset 0
    %3 = subtract %0, %2 : f32[64,32]
    return %3
  })");
  ASSERT_TRUE(space);
  EXPECT_EQ(LoopOf(*space), Extents({32}));
  EXPECT_EQ(ParallelOf(*space), Extents({64}));
}

TEST(Analyse, NotTwoPlacesOfAMemberAtOnePoint) {
  EXPECT_FALSE(SpaceOf(R"(graph (f32[32,32]) {
    %1 = negative %0 : f32[32,32]
    %2 = permute_dims %1 {1, 0} : view f32[32,32] strides [1,32] offset 0
    %3 = add %1, %2 : f32[32,32]
    return %3
  })"));
  EXPECT_TRUE(SpaceOf(R"(graph (f32[32,32]) {
    %1 = permute_dims %0 {1, 0} : view f32[32,32] strides [1,32] offset 0
    %2 = add %0, %1 : f32[32,32]
    return %2
  })"))
      << "memory may be read anywhere";
}

TEST(Analyse, NotWhatIsGatheredFromAMember) {
  EXPECT_FALSE(SpaceOf(R"(graph (f32[32], i64[32]) {
    %2 = negative %0 : f32[32]
    %3 = take %2, %1 {0} : f32[32]
    return %3
  })"));
  EXPECT_TRUE(SpaceOf(R"(graph (f32[32], i64[32]) {
    %2 = negative %1 : i64[32]
    %3 = take %0, %2 {0} : f32[32]
    return %3
  })"))
      << "indices may be computed";
}

TEST(Analyse, NotAPaddedMember) {
  EXPECT_FALSE(SpaceOf(R"(graph (f32[32], scalar f32) {
    %2 = negative %0 : f32[32]
    %3 = pad %2, %1 {1, 0} : f32[33]
    return %3
  })"));
}

TEST(Analyse, AnAxisWhoseIndexCountsStaysByItself) {
  const auto space = SpaceOf("graph () {\n  %0 = iota {4, 32} : i64[32]\n  return %0\n}");
  ASSERT_TRUE(space);
  EXPECT_TRUE(space->pinned[0]);
}

TEST(Analyse, ReadsThroughViewsAreOfWhatHoldsTheMemory) {
  const auto space = SpaceOf(R"(graph (f32[64,32]) {
    %1 = slice %0 {3, 1, 8, 2, 2, 4} : view f32[8,4] strides [32,2] offset 98
    %2 = negative %1 : f32[8,4]
    return %2
  })");
  ASSERT_TRUE(space);
  ASSERT_EQ(space->reads.size(), 1u);
  EXPECT_EQ(space->reads[0].base, 0);
  EXPECT_EQ(space->reads[0].offset, 98);
  EXPECT_EQ(StridesOf(*space, 2, 0), Extents({32, 2}));
}

TEST(IsOneRun, WhereOuterStridesFollowFromInnerOnes) {
  EXPECT_TRUE(IsOneRun({4, 8}, {8, 1}, {0, 1}));
  EXPECT_FALSE(IsOneRun({4, 8}, {9, 1}, {0, 1}));
  EXPECT_FALSE(IsOneRun({4, 8}, {8, 1}, {1, 0}));
  EXPECT_TRUE(IsOneRun({4, 8}, {9, 1}, {1}));
}

TEST(IsNear, WhereElementsOfUnrolledAxesLieTogether) {
  Space space;
  space.extents = {100, 3};
  space.unrolled = {1};
  EXPECT_TRUE(IsNear(space, {3, 1}));
  EXPECT_FALSE(IsNear(space, {1, 100}));
  EXPECT_EQ(PointersFor(space, {3, 1}), 1);
  EXPECT_EQ(PointersFor(space, {1, 100}), 3);
}

}  // namespace
}  // namespace frazil::jit
