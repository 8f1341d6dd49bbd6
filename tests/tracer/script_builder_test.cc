// What a builder of scripts writes down of one call: where values come from, what ends segments,
// and what it refuses.
#include "tracer/script_builder.h"

#include "core/memory/storage.h"
#include "gtest/gtest.h"
#include "tests/tracer/paths.h"

namespace frazil::tracer {
namespace {

class ScriptBuilderTest : public testing::Test {
 protected:
  ScriptBuilderTest() : cells_{&a_, &b_}, builder_(cells_) {}

  // A call that the session ran: negates `x`.
  Tensor Negate(const Tensor& x, bool in_trie = false) {
    const Tensor out = Ints({-1, -2});
    const CallRecord* call = &call_;
    builder_.OnSegment({&call, 1}, {x.value_ref()}, {out.value_ref()}, Precision::kDefault,
                       in_trie);
    return out;
  }
  std::shared_ptr<PathRecord> Finish(std::initializer_list<const Tensor*> outputs = {}) {
    return builder_.Finish(absl::MakeConstSpan(outputs.begin(), outputs.size()));
  }

  Fakes fakes_;
  Tensor a_ = Ints({1, 2}), b_ = Ints({3, 4});
  std::vector<Tensor*> cells_;
  CallRecord call_ = MadeCall(OpId::k_negative, {-1}, 1);
  ScriptBuilder builder_;
};

TEST_F(ScriptBuilderTest, OperandsComeFromCellsResultsAndElsewhere) {
  const Tensor constant = Ints({7, 8});
  const Tensor x = Negate(b_), y = Negate(x), z = Negate(constant), w = Negate(constant);
  const auto path = Finish({&y, &a_, &constant});
  ASSERT_TRUE(path);
  ASSERT_EQ(path->segments.size(), 4u);
  EXPECT_EQ(path->segments[0].slots, std::vector({Cell(1)}));
  EXPECT_EQ(path->segments[1].slots, std::vector({MadeBy(0)}));
  EXPECT_EQ(path->segments[2].slots, std::vector({Constant(0)}));
  EXPECT_EQ(path->segments[3].slots, std::vector({Constant(0)})) << "the same one again";
  EXPECT_EQ(path->constants.size(), 1u);
  EXPECT_EQ(path->outputs,
            (std::vector<Origin>{{MadeBy(1), {}}, {Cell(0), {}}, {Constant(0), {}}}));
  EXPECT_TRUE(path->writes.empty());
}

TEST_F(ScriptBuilderTest, CellsWithAnotherContentWereWritten) {
  b_ = Negate(a_);
  const auto path = Finish();
  ASSERT_TRUE(path);
  EXPECT_EQ(path->writes, (std::vector<std::pair<int, Origin>>{{1, {MadeBy(0), {}}}}));
}

TEST_F(ScriptBuilderTest, AnIntegerThatIsReadEndsASegment) {
  const Tensor x = Negate(a_), number = Int(42);
  builder_.OnRead(*number.value(), frazil::Reading::kNumber);
  Negate(x);
  const auto path = Finish();
  ASSERT_TRUE(path);
  ASSERT_EQ(path->segments.size(), 2u);
  EXPECT_EQ(path->segments[0].end, SegmentRecord::End::kNumber);
  EXPECT_EQ(path->segments[0].outcome, 42u);
  EXPECT_EQ(path->segments[0].read, Constant(0));
  EXPECT_EQ(path->segments[1].end, SegmentRecord::End::kContinue);
}

TEST_F(ScriptBuilderTest, ASecondReadIsASegmentOfItsOwn) {
  Negate(a_);
  for (const int32_t n : {1, 2}) {
    const Tensor number = Int(n);
    builder_.OnRead(*number.value(), frazil::Reading::kNumber);
  }
  const auto path = Finish();
  ASSERT_EQ(path->segments.size(), 2u);
  EXPECT_EQ(path->segments[0].outcome, 1u);
  EXPECT_EQ(path->segments[1].outcome, 2u);
  EXPECT_TRUE(path->segments[1].calls().empty());
}

TEST_F(ScriptBuilderTest, ACheckOfIndicesEndsASegment) {
  Negate(a_);
  builder_.OnIndexCheck("take", *b_.value(), {-5, 5}, "rows");
  const auto path = Finish();
  const SegmentRecord& segment = path->segments.at(0);
  EXPECT_EQ(segment.end, SegmentRecord::End::kIndexCheck);
  EXPECT_EQ(segment.read, Cell(1));
  EXPECT_EQ(segment.range, IndexRange(-5, 5));
  EXPECT_EQ(segment.check, "take");
  EXPECT_EQ(segment.of, "rows");
}

TEST_F(ScriptBuilderTest, WhatOpsReadThemselvesIsNoRead) {
  const Tensor number = Floats({1});
  builder_.OnRead(*number.value(), frazil::Reading::kInside);
  const auto path = Finish();
  ASSERT_TRUE(path);
  EXPECT_TRUE(path->segments.empty());
}

TEST_F(ScriptBuilderTest, FloatsAndBytesThatTheProgramSeesAreRefused) {
  const Tensor number = Floats({1});
  builder_.OnRead(*number.value(), frazil::Reading::kNumber);
  EXPECT_EQ(builder_.refusal(), "the body reads a float into the program");
  builder_.OnRead(*a_.value(), frazil::Reading::kBytes);
  EXPECT_EQ(builder_.refusal(), "the body reads a float into the program") << "the first counts";
  EXPECT_FALSE(Finish());
  ScriptBuilder other(cells_);
  other.OnRead(*a_.value(), frazil::Reading::kBytes);
  EXPECT_EQ(other.refusal(), "the body reads a tensor's bytes");
}

TEST_F(ScriptBuilderTest, TheFirstRefusalCounts) {
  builder_.Refuse("one");
  builder_.Refuse("two");
  EXPECT_EQ(builder_.refusal(), "one");
  EXPECT_FALSE(builder_.postponed());
}

TEST_F(ScriptBuilderTest, PostponedItTellsNothing) {
  Negate(a_);
  builder_.Postpone();
  Negate(b_);
  EXPECT_TRUE(builder_.postponed());
  EXPECT_EQ(builder_.refusal(), "");
  EXPECT_FALSE(Finish());
}

TEST_F(ScriptBuilderTest, ArgumentsThatBorrowTheirMemoryAreRefused) {
  a_.value()->storage->foreign = true;
  const ScriptBuilder builder(cells_);
  EXPECT_EQ(builder.refusal(), "an argument borrows its memory");
}

TEST_F(ScriptBuilderTest, OnlyLeavesAmongTheArgumentsMayGetGradients) {
  const auto leaf = GradNodeRef::Adopt(new autograd::LeafNode);
  a_.SetNode(leaf);
  ScriptBuilder builder(cells_);
  builder.OnGradient(*leaf);
  EXPECT_EQ(builder.refusal(), "");
  const auto other = GradNodeRef::Adopt(new autograd::LeafNode);
  builder.OnGradient(*other);
  EXPECT_EQ(builder.refusal(), "the body sets .grad of a tensor outside of its arguments");
}

TEST_F(ScriptBuilderTest, AHistoryOfLeavesElsewhereIsRefused) {
  Tensor out = Negate(a_);
  out.SetNode(GradNodeRef::Adopt(new autograd::LeafNode));
  EXPECT_FALSE(Finish({&out}));
  EXPECT_EQ(builder_.refusal(), "a result's history for gradients begins outside of the arguments");
}

TEST_F(ScriptBuilderTest, SegmentsOfOneNodeOfTheTrieShareTheirContent) {
  Negate(a_, true), Negate(b_, true), Negate(a_, false);
  const auto path = Finish();
  EXPECT_EQ(path->segments[0].content, path->segments[1].content);
  EXPECT_NE(path->segments[0].content, path->segments[2].content);
}

TEST_F(ScriptBuilderTest, ThePlanOfTheLastSegmentIsKnown) {
  Negate(a_), Negate(b_);
  const auto plan = *fakes_.compiler.Compile({}, {1}, Precision::kDefault, {}, nullptr);
  builder_.OnPlan(plan, {1});
  const auto path = Finish();
  EXPECT_EQ(path->segments[0].plan.lock(), nullptr);
  EXPECT_EQ(path->segments[1].plan.lock(), plan);
  EXPECT_EQ(path->segments[1].live, LiveMask({1}));
}

TEST_F(ScriptBuilderTest, AValueIsToldFromALaterOneInItsMemory) {
  // So many values that the builder lets go of those that nobody else holds.
  Tensor kept = Negate(a_);
  for (int i = 0; i < 3000; ++i) Negate(a_);
  const Tensor constant = Ints({5, 6});
  Negate(constant), Negate(kept);
  const auto path = Finish();
  ASSERT_TRUE(path);
  EXPECT_EQ(path->segments[3001].slots, std::vector({Constant(0)}));
  EXPECT_EQ(path->segments[3002].slots, std::vector({MadeBy(0)})) << "still held, still known";
}

}  // namespace
}  // namespace frazil::tracer
