// Which consecutive steps fall into branches, and where running them side by side pays.
#include "jit/plan/branches.h"

#include "core/threads/parallel.h"
#include "jit/run/loop_step.h"
#include "tests/jit/pending_testing.h"

namespace frazil::jit {
namespace {

using Parts = std::vector<std::vector<int32_t>>;

class FindBranchesTest : public testing::Test {
 protected:
  FindBranchesTest() : threads_(NumThreads()) { SetNumThreads(2); }
  ~FindBranchesTest() override { SetNumThreads(threads_); }

  std::vector<Branched> Find(const std::vector<PendingStep>& steps, bool always = false) {
    return FindBranches(graph_, steps, always);
  }
  // Node 2 is a product, node 3 a copy of rows, node 4 moves to another device.
  static constexpr int32_t kProduct = 2, kTake = 3, kTransfer = 4;
  const Graph graph_ = MustParse(R"(graph (f32[4,4], i64[3]) {
    %2 = matmul %0, %0 : f32[4,4]
    %3 = take %0, %1 {0} : f32[3,4]
    %4 = to_device %0 {64, 0} : f32[4,4] @npu
    return %2, %3, %4
  })");

 private:
  int threads_;
};

constexpr int64_t kMiddle = 500'000;  // nanoseconds of a product that threads share badly

TEST_F(FindBranchesTest, ProductsThatDoNotMeet) {
  const auto found = Find(StepsOf(CallOf(kProduct, kMiddle, {Reads(0), Reads(1), Writes(2)}),
                                  CallOf(kProduct, kMiddle, {Reads(0), Reads(3), Writes(4)})));
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].begin, 0);
  EXPECT_EQ(found[0].end, 2);
  EXPECT_EQ(found[0].branches, Parts({{0}, {1}}));
  EXPECT_EQ(found[0].threads, 2) << "three threads are faster one after another";
}

TEST_F(FindBranchesTest, AReaderIsInItsWritersBranch) {
  EXPECT_TRUE(Find(StepsOf(CallOf(kProduct, kMiddle, {Reads(0), Writes(2)}),
                           CallOf(kProduct, kMiddle, {Reads(2), Writes(4)})))
                  .empty());
}

TEST_F(FindBranchesTest, WhoOverwritesIsInItsReadersBranch) {
  EXPECT_TRUE(Find(StepsOf(CallOf(kProduct, kMiddle, {Reads(0), Writes(2)}),
                           CallOf(kProduct, kMiddle, {Reads(3), Writes(0)})))
                  .empty());
}

TEST_F(FindBranchesTest, WhatMeetsByWayOfAnotherIsOneBranch) {
  const auto found =
      Find(StepsOf(KernelOf(100, {Writes(0)}), KernelOf(100, {Writes(1)}),
                   KernelOf(900, {Writes(2)}), KernelOf(100, {Reads(0), Reads(1), Writes(3)})),
           /*always=*/true);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].branches, Parts({{2}, {0, 1, 3}})) << "the longest first";
}

TEST_F(FindBranchesTest, SmallKernelsAloneAreAList) {
  const auto steps = [](bool product) {
    std::vector<PendingStep> all;
    for (int i = 0; i < 12; ++i) all.push_back(KernelOf(7'900, {Writes(i)}));
    if (product) all.push_back(CallOf(kProduct, 6'900, {Writes(12)}));
    return all;
  };
  EXPECT_TRUE(Find(steps(false)).empty());
  EXPECT_EQ(Find(steps(true)).size(), 1u) << "beside a call they are branches";
  EXPECT_EQ(Find(steps(false), /*always=*/true).size(), 1u);
}

TEST_F(FindBranchesTest, NotWhereLittleIsSaved) {
  const auto found = [&](int64_t each) {
    return !Find(StepsOf(CallOf(kTake, each, {Writes(0)}), CallOf(kTake, each, {Writes(1)})))
                .empty();
  };
  // Side by side takes `each` / 0.95 and 5 us until the other thread works; 8 us must be saved.
  EXPECT_FALSE(found(7'000)) << "16 us in all at least";
  EXPECT_FALSE(found(13'500));
  EXPECT_TRUE(found(14'000));
}

TEST_F(FindBranchesTest, NotWhereOneBranchIsAlmostAll) {
  const auto found = [&](int64_t other) {
    return !Find(StepsOf(CallOf(kTake, 1'000'000, {Writes(0)}), CallOf(kTake, other, {Writes(1)})))
                .empty();
  };
  EXPECT_FALSE(found(100'000)) << "less than a sixteenth is saved";
  EXPECT_TRUE(found(200'000));
}

TEST_F(FindBranchesTest, LargeProductsUseThreadsWellByThemselves) {
  EXPECT_TRUE(Find(StepsOf(CallOf(kProduct, 1'500'000, {Writes(0)}),
                           CallOf(kProduct, 1'500'000, {Writes(1)})))
                  .empty());
  EXPECT_FALSE(Find(StepsOf(CallOf(kProduct, 1'499'999, {Writes(0)}),
                            CallOf(kProduct, 1'499'999, {Writes(1)})))
                   .empty());
}

TEST_F(FindBranchesTest, SmallProductsStayOnOneThreadSoThatAnyNumberPays) {
  std::vector<PendingStep> steps;
  for (int i = 0; i < 12; ++i) steps.push_back(CallOf(kProduct, 6'900, {Writes(i)}));
  const auto found = Find(steps);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].end, 12);
  EXPECT_EQ(found[0].threads, 64);
}

TEST_F(FindBranchesTest, NoStepThatIsNotByItselfOnTheCpu) {
  const auto found = [&](const auto& change) {
    auto steps =
        StepsOf(CallOf(kProduct, kMiddle, {Writes(0)}), CallOf(kProduct, kMiddle, {Writes(1)}));
    change(&steps[1]);
    return !Find(steps).empty();
  };
  EXPECT_TRUE(found([](PendingStep*) {}));
  EXPECT_FALSE(found([](PendingStep* s) { s->device = Device(DeviceKind::kNpu, 0); }));
  EXPECT_FALSE(found([](PendingStep* s) { s->what = std::make_unique<LoopStep>(); }));
  EXPECT_FALSE(found([](PendingStep* s) { s->what = ProductWithEpilogue(); }));
  EXPECT_FALSE(found([](PendingStep* s) { s->node = kTransfer; })) << "waits for a device";
}

TEST_F(FindBranchesTest, WindowsAreOfSoManySteps) {
  std::vector<PendingStep> steps;
  for (int i = 0; i < 60; ++i) steps.push_back(KernelOf(100, {Writes(i)}));
  const auto found = Find(steps, /*always=*/true);
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].end, 48);
  EXPECT_EQ(found[1].begin, 48);
  EXPECT_EQ(found[1].end, 60);
}

TEST_F(FindBranchesTest, AStretchBeginsBehindWhatIsNone) {
  auto steps = StepsOf(CallOf(kTransfer, 100, {Writes(5)}), CallOf(kProduct, kMiddle, {Writes(0)}),
                       CallOf(kProduct, kMiddle, {Writes(1)}));
  const auto found = Find(steps);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].begin, 1);
  EXPECT_EQ(found[0].branches, Parts({{1}, {2}}));
}

}  // namespace
}  // namespace frazil::jit
