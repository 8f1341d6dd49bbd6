// What the cost model says of kernels, by comparison: no number of nanoseconds is held, but which
// kernel takes longer, and how many bytes it moves.
#include "tests/jit/space_testing.h"

namespace frazil::jit {
namespace {

Space Of(std::string_view text) {
  auto space = SpaceOf(text);
  EXPECT_TRUE(space) << text;
  return space ? *std::move(space) : Space();
}

// "graph (INPUTS) { OP }", whose one op is node `inputs`.
Space OfOp(std::string_view inputs, int count, std::string_view op) {
  return Of(StrCat("graph (", inputs, ") {\n  %", count, " = ", op, "\n  return %", count, "\n}"));
}

TEST(EstimateTime, BytesAreWhatIsLoadedAndStored) {
  EXPECT_EQ(OfOp("f32[1000], f32[1000]", 2, "add %0, %1 : f32[1000]").bytes, 3 * 4000);
  EXPECT_EQ(OfOp("f32[1000]", 1, "add %0, %0 : f32[1000]").bytes, 2 * 4000) << "loaded once";
  EXPECT_EQ(OfOp("f64[1000]", 1, "negative %0 : f64[1000]").bytes, 2 * 8000);
  EXPECT_EQ(OfOp("f32[100,10], f32[10]", 2, "add %0, %1 : f32[100,10]").bytes, 2 * 4000 + 40)
      << "a row that all share counts once";
  EXPECT_EQ(OfOp("f32[1000], scalar f32", 2, "add %0, %1 : f32[1000]").bytes, 2 * 4000)
      << "a number is no memory";
}

TEST(EstimateTime, OfWhatIsGatheredOnlyWhatIsTaken) {
  EXPECT_EQ(OfOp("f32[100000], i64[100]", 2, "take %0, %1 {0} : f32[100]").bytes, 400 + 800 + 400);
}

TEST(EstimateTime, MoreElementsAndDearerOpsTakeLonger) {
  const double add = OfOp("f32[1000]", 1, "add %0, %0 : f32[1000]").compute;
  EXPECT_GT(OfOp("f32[4000]", 1, "add %0, %0 : f32[4000]").compute, 3 * add);
  EXPECT_GT(OfOp("f32[1000]", 1, "tan %0 : f32[1000]").compute, 2 * add);
  EXPECT_GT(OfOp("f64[1000]", 1, "add %0, %0 : f64[1000]").compute, 1.5 * add) << "fewer lanes";
}

TEST(EstimateTime, RowsThatFillNoVectorTakeAsLongAsThoseThatDo) {
  const auto row = [](int64_t n) {
    return OfOp(StrCat("f32[1000,", n, "], f32[1000,1]"), 2,
                StrCat("add %0, %1 : f32[1000,", n, "]"))
        .compute;
  };
  EXPECT_EQ(row(5), row(16));
  EXPECT_GT(row(17), 1.5 * row(16));
}

TEST(EstimateTime, RowsThatAreOneRunAreWalkedAsOne) {
  EXPECT_EQ(OfOp("f32[1000,6]", 1, "negative %0 : f32[1000,6]").compute,
            OfOp("f32[6000]", 1, "negative %0 : f32[6000]").compute);
}

TEST(EstimateTime, ElementsThatLieApartAreLoadedOneByOne) {
  const double dense = OfOp("f32[64,64]", 1, "negative %0 : f32[64,64]").compute;
  EXPECT_GT(OfOp("f32[64,64] strides [1,64]", 1, "negative %0 : f32[64,64]").compute, 2 * dense);
  const double second = OfOp("f32[64,64] strides [128,2]", 1, "negative %0 : f32[64,64]").compute;
  const double third = OfOp("f32[64,64] strides [192,3]", 1, "negative %0 : f32[64,64]").compute;
  EXPECT_GT(second, dense);
  EXPECT_GT(third, second) << "two vectors make one of every second element";
}

TEST(EstimateTime, WhatIsTheSameForARowIsComputedOnce) {
  const auto with = [](std::string_view column) {
    return Of(StrCat("graph (f32[100,64], f32[", column, "]) {\n  %2 = tan %1 : f32[", column,
                     "]\n  %3 = add %0, %2 : f32[100,64]\n  return %3\n}"));
  };
  const Space once = with("100,1"), always = with("1,64"), all = with("100,64");
  EXPECT_LT(once.compute, always.compute);
  EXPECT_FALSE(once.repeats);
  EXPECT_TRUE(always.repeats) << "each row computes the row again";
  EXPECT_FALSE(all.repeats);
}

TEST(EstimateTime, ALaterPassComputesAgainUnlessAResultKeepsIt) {
  // The op's values are needed before and behind a maximum of rows.
  const auto rows = [](std::string_view op, std::string_view end) {
    return Of(StrCat("graph (f32[100,64]) {\n  %1 = ", op,
                     " %0 : f32[100,64]\n  %2 = max %1 {2, 1} : f32[100,1]\n"
                     "  %3 = subtract %1, %2 : f32[100,64]\n",
                     end));
  };
  const std::string_view summed = "  %4 = sum %3 {2, 0} : f32[100]\n  return %4\n}";
  const std::string_view stored = "  return %3\n}";
  const auto dearer = [&](std::string_view end) {
    return rows("exp", end).compute - rows("negative", end).compute;
  };
  const double once = OfOp("f32[100,64]", 1, "exp %0 : f32[100,64]").compute -
                      OfOp("f32[100,64]", 1, "negative %0 : f32[100,64]").compute;
  EXPECT_TRUE(rows("negative", summed).repeats);
  EXPECT_GT(dearer(summed), 1.5 * once);
  EXPECT_EQ(dearer(stored), once) << "it waits in the result's memory";
}

TEST(EstimateTime, SharesArePartsThatThreadsCanTake) {
  EXPECT_EQ(OfOp("f32[6400]", 1, "negative %0 : f32[6400]").shares, 100) << "of 64 elements";
  EXPECT_EQ(OfOp("f32[6401]", 1, "negative %0 : f32[6401]").shares, 101);
  EXPECT_EQ(OfOp("f32[50,1000]", 1, "sum %0 {2, 0} : f32[50]").shares, 50) << "rows";
  EXPECT_EQ(OfOp("f32[50,10000]", 1, "sum %0 {2, 0} : f32[50]").shares, 150) << "rows, in chunks";
  EXPECT_EQ(OfOp("f32[1000,640]", 1, "sum %0 {1, 0} : f32[640]").shares, 10)
      << "columns, 64 at a time";
}

TEST(EstimateTime, AskedAgainItSaysTheSame) {
  const Graph graph = MustParse(R"(graph (f32[100,64]) {
    %1 = max %0 {2, 1} : f32[100,1]
    %2 = subtract %0, %1 : f32[100,64]
    return %2
  })");
  auto space = Analyse(graph, {1, 2}, {2});
  ASSERT_TRUE(space);
  const Space before = *space;
  EstimateTime(graph, &*space);
  EXPECT_EQ(space->compute, before.compute);
  EXPECT_EQ(space->bytes, before.bytes);
  EXPECT_EQ(space->shares, before.shares);
  EXPECT_EQ(space->repeats, before.repeats);
}

}  // namespace
}  // namespace frazil::jit
