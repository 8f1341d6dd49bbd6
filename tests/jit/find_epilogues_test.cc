// Which kernels may take the rows of a product as they are made.
#include "jit/plan/epilogue.h"
#include "tests/jit/pending_testing.h"

namespace frazil::jit {
namespace {

using Ends = std::vector<std::pair<int32_t, int32_t>>;

// A product of 64 rows of 512 elements, which memory 2 holds: 2048 bytes a row, 128 KiB.
PendingStep Product(int64_t rows = 64) {
  return CallOf(2, 1, {Reads(0), Reads(1), Writes(2)}, rows);
}

// Memory `from` to memory `to`, element by element.
PendingStep Follower(int32_t from, int32_t to, std::vector<int64_t> strides = {2048, 4, 2048, 4},
                     std::vector<int64_t> extents = {64, 512}) {
  PendingStep step = KernelOf(1, {Reads(from), Writes(to)});
  LaunchOf(&step) = MadeLaunch(
      "kernel k(x: buf f32 [s,1], o: out f32 [s,1]) space 2\n  %0 = load x : f32\n"
      "  store o, %0\n",
      std::move(extents), std::move(strides));
  return step;
}

Ends Find(const std::vector<PendingStep>& steps, bool always = false, int64_t rows = 64) {
  const std::string n = std::to_string(rows);
  const Graph graph = MustParse("graph (f32[" + n +
                                ",16], f32[16,512]) {\n  %2 = matmul %0, %1 : "
                                "f32[" +
                                n + ",512]\n  return %2\n}");
  Ends ends;
  for (const Epilogue& e : FindEpilogues(graph, steps, always)) ends.emplace_back(e.begin, e.end);
  return ends;
}

TEST(FindEpilogues, KernelsThatTakeRowsAsTheyAre) {
  EXPECT_EQ(Find(StepsOf(Product(), Follower(2, 3))), Ends({{0, 2}}));
  EXPECT_EQ(Find(StepsOf(Product(), Follower(2, 3), Follower(3, 4))), Ends({{0, 3}}));
  EXPECT_EQ(Find(StepsOf(Follower(5, 6), Product(), Follower(2, 3))), Ends({{1, 3}}));
}

TEST(FindEpilogues, NoneWhereNothingFollows) {
  EXPECT_EQ(Find(StepsOf(Product())), Ends());
  EXPECT_EQ(Find(StepsOf(Product(), Product())), Ends());
}

TEST(FindEpilogues, AKernelOfOtherValuesEndsThem) {
  EXPECT_EQ(Find(StepsOf(Product(), Follower(5, 6), Follower(2, 3))), Ends());
}

TEST(FindEpilogues, NotASmallProduct) {
  const auto small = [](bool always) {
    return Find(StepsOf(Product(63), Follower(2, 3, {2048, 4, 2048, 4}, {63, 512})), always, 63);
  };
  EXPECT_EQ(small(false), Ends());
  EXPECT_EQ(small(true), Ends({{0, 2}}));
}

TEST(FindEpilogues, NotOneThatTellsOfNoRows) {
  EXPECT_EQ(Find(StepsOf(Product(0), Follower(2, 3)), true), Ends());
  EXPECT_EQ(Find(StepsOf(Product(1), Follower(2, 3)), true), Ends());
}

TEST(FindEpilogues, NotOneElsewhere) {
  PendingStep product = Product(), follower = Follower(2, 3);
  product.device = Device(DeviceKind::kNpu, 0);
  EXPECT_EQ(Find(StepsOf(std::move(product), Follower(2, 3))), Ends());
  follower.device = Device(DeviceKind::kNpu, 0);
  EXPECT_EQ(Find(StepsOf(Product(), std::move(follower))), Ends());
}

TEST(FindEpilogues, NotWhatCutsItsRows) {
  PendingStep follower = Follower(2, 3);
  LaunchOf(&follower).kernel.chunked = true;
  EXPECT_EQ(Find(StepsOf(Product(), std::move(follower))), Ends());
}

TEST(FindEpilogues, RowsMayBeCutIntoEqualParts) {
  EXPECT_EQ(Find(StepsOf(Product(), Follower(2, 3, {1024, 4, 1024, 4}, {128, 256}))),
            Ends({{0, 2}}));
  EXPECT_EQ(Find(StepsOf(Product(), Follower(2, 3, {2048, 4, 2048, 4}, {32, 512}))), Ends())
      << "half of the rows";
  EXPECT_EQ(Find(StepsOf(Product(), Follower(2, 3, {1024, 4, 1024, 4}, {96, 256}))), Ends());
}

TEST(FindEpilogues, NotMoreRowsThanTheProductHas) {
  EXPECT_EQ(Find(StepsOf(Product(), Follower(2, 3, {2048, 4, 2048, 4}, {96, 512}))), Ends());
}

TEST(FindEpilogues, NotAcrossTheRows) {
  EXPECT_EQ(Find(StepsOf(Product(), Follower(2, 3, {4, 2048, 2048, 4}))), Ends()) << "read";
  EXPECT_EQ(Find(StepsOf(Product(), Follower(2, 3, {2048, 4, 4, 256}))), Ends()) << "written";
  EXPECT_EQ(Find(StepsOf(Product(), Follower(2, 3, {-2048, 4, 2048, 4}))), Ends()) << "backwards";
}

TEST(FindEpilogues, NotRowsThatBeginElsewhere) {
  PendingStep later = Follower(2, 3), before = Follower(2, 3);
  LaunchOf(&later).buffers[0].offset = 4;
  EXPECT_EQ(Find(StepsOf(Product(), std::move(later))), Ends()) << "into the next row";
  LaunchOf(&before).buffers[0].offset = -4;
  EXPECT_EQ(Find(StepsOf(Product(), std::move(before))), Ends());
}

TEST(FindEpilogues, NotWhatReadsAheadByANumber) {
  PendingStep follower = Follower(2, 3);
  LaunchOf(&follower).kernel = *kir::Parse(
      "kernel k(x: buf f32 [s,1], o: out f32 [s,1]) space 2\n  %0 = const 1 : i64\n"
      "  %1 = load x[%0] : f32\n  store o, %1\n");
  EXPECT_EQ(Find(StepsOf(Product(), std::move(follower))), Ends());
}

TEST(FindEpilogues, NotWhatOverwritesTheProduct) {
  EXPECT_EQ(Find(StepsOf(Product(), Follower(2, 2))), Ends());
  EXPECT_EQ(Find(StepsOf(Product(), Follower(2, 3), Follower(3, 2))), Ends({{0, 2}}));
}

TEST(FindEpilogues, NotWhatOverwritesAnOperand) {
  EXPECT_EQ(Find(StepsOf(Product(), Follower(2, 1))), Ends()) << "rows that are still to be made";
}

TEST(FindEpilogues, ANumberForEachRowIsMadeByRowsToo) {
  // Memory 3 holds 64 numbers; what reads them as rows of their own goes on.
  EXPECT_EQ(Find(StepsOf(Product(), Follower(2, 3, {2048, 4, 4, 0}, {64, 512}),
                         Follower(3, 4, {4, 0, 2048, 4}))),
            Ends({{0, 3}}));
  EXPECT_EQ(Find(StepsOf(Product(), Follower(2, 3, {2048, 4, 4, 0}, {64, 512}),
                         Follower(3, 4, {2048, 4, 2048, 4}))),
            Ends({{0, 2}}))
      << "it lies with other bytes from row to row";
}

TEST(FindEpilogues, WhatWasThereBeforeMayBeReadAnyhow) {
  PendingStep follower = Follower(2, 3);
  LaunchOf(&follower) = MadeLaunch(
      "kernel k(x: buf f32 [s,1], o: out f32 [s,1], y: buf f32 [s,s]) space 2\n"
      "  %0 = load x : f32\n  %1 = load y : f32\n  %2 = add %0, %1 : f32\n  store o, %2\n",
      {64, 512}, {2048, 4, 2048, 4, 4, 2048});
  follower.touches.push_back(Reads(7));
  EXPECT_EQ(Find(StepsOf(Product(), std::move(follower))), Ends({{0, 2}}));
}

}  // namespace
}  // namespace frazil::jit
