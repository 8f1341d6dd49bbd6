// What a builder of scripts writes down of one call: where values come from, what ends segments,
// and what it refuses.
#include "tracer/script_builder.h"

#include "core/memory/storage.h"
#include "gtest/gtest.h"
#include "tests/tracer/programs.h"

namespace frazil::tracer {
namespace {

class ScriptBuilderTest : public testing::Test {
 protected:
  ScriptBuilderTest() : cells_{&a_, &b_}, builder_(cells_) {
    static_cast<CallRecord&>(node_) = MadeCall(OpId::k_negative);
    static_cast<NodeOperands&>(node_) = Taking({-1}, 1);
  }

  // A call that the session ran: negates `x`.
  Tensor Negate(const Tensor& x) {
    const Tensor out = Ints({-1, -2});
    const Node* node = &node_;
    builder_.OnSegment({&node, 1}, {x.value_ref()}, {out.value_ref()}, Precision::kDefault);
    return out;
  }
  std::shared_ptr<LearntCall> Finish(std::initializer_list<const Tensor*> outputs = {}) {
    return builder_.Finish(absl::MakeConstSpan(outputs.begin(), outputs.size()));
  }
  // What call i takes.
  static ValueId Taken(const LearntCall& learnt, size_t i) {
    return learnt.program.calls.at(i).operands[0];
  }

  Fakes fakes_;
  Tensor a_ = Ints({1, 2}), b_ = Ints({3, 4});
  std::vector<Tensor*> cells_;
  Node node_;
  ScriptBuilder builder_;
};

TEST_F(ScriptBuilderTest, AsText) {
  const Tensor x = Negate(b_), number = Int(5);
  builder_.OnRead(*number.value(), frazil::Reading::kNumber);
  a_ = Negate(x);
  const auto learnt = Finish({&x});
  ASSERT_TRUE(learnt);
  EXPECT_EQ(Text(learnt->program), R"(program (i32[2], i32[2]) {
  constant c0 = i32[] "05000000"
  %0 = negative p1 : i32[2]
  number c0 is 5
  %1 = negative %0 : i32[2]
  cut
  write p0 = %1
  return %0
}
)");
}

TEST_F(ScriptBuilderTest, OperandsComeFromCellsResultsAndElsewhere) {
  const Tensor constant = Ints({7, 8});
  const Tensor x = Negate(b_), y = Negate(x), z = Negate(constant), w = Negate(constant);
  const auto learnt = Finish({&y, &a_, &constant});
  ASSERT_TRUE(learnt);
  const Program& program = learnt->program;
  const ValueId c0 = program.IdOfConstant(0);
  ASSERT_EQ(program.calls.size(), 4u);
  EXPECT_EQ(Taken(*learnt, 0), ~1);
  EXPECT_EQ(Taken(*learnt, 1), 0);
  EXPECT_EQ(Taken(*learnt, 2), c0);
  EXPECT_EQ(Taken(*learnt, 3), c0) << "the same one again";
  EXPECT_EQ(program.constants.size(), 1u);
  EXPECT_EQ(program.outputs, (std::vector<Content>{{1, {}}, {~0, {}}, {c0, {}}}));
  EXPECT_TRUE(program.writes.empty());
}

TEST_F(ScriptBuilderTest, ASegmentsNumbersBecomeTheCalls) {
  // A segment of two calls behind another one: the second takes the first's result, and a slot.
  const Tensor before = Negate(a_), one = Ints({1, 1}), two = Ints({2, 2});
  Node next;
  static_cast<CallRecord&>(next) = MadeCall(OpId::k_add);
  next.operands = {0, -2};
  next.first_result = 1;
  const Node* const path[] = {&node_, &next};
  builder_.OnSegment(path, {before.value_ref(), b_.value_ref()}, {one.value_ref(), two.value_ref()},
                     Precision::kTf32);
  const auto learnt = Finish({&two});
  EXPECT_EQ(learnt->program.calls.at(1).operands, Operands({0}));
  EXPECT_EQ(learnt->program.calls.at(2).operands, Operands({1, ~1}));
  EXPECT_EQ(learnt->program.outputs[0].value, 2);
  EXPECT_EQ(learnt->program.marks[1].at, 3);
  EXPECT_EQ(learnt->program.marks[1].precision, Precision::kTf32);
}

TEST_F(ScriptBuilderTest, ViewsFollowEachOther) {
  const Tensor one = Ints({1, 1}), two = Ints({2, 2});
  const Node* const views[] = {&node_, &node_};
  builder_.OnViews(views, *b_.value(), {one.value_ref(), two.value_ref()}, Precision::kDefault);
  const auto learnt = Finish({&two});
  EXPECT_EQ(Taken(*learnt, 0), ~1);
  EXPECT_EQ(Taken(*learnt, 1), 0);
  EXPECT_EQ(learnt->program.marks.size(), 1u);
  EXPECT_EQ(learnt->program.outputs[0].value, 1);
}

TEST_F(ScriptBuilderTest, ALongLoopIsOneCall) {
  Tensor x = Negate(b_);
  for (int i = 1; i < 20'000; ++i) x = Negate(x);
  const Tensor y = Negate(a_);
  const auto learnt = Finish({&x, &y});
  ASSERT_TRUE(learnt);
  EXPECT_EQ(Text(learnt->program), R"(program (i32[2], i32[2]) {
  %0 = call loop p1 : i32[2] of 1 states 20000 times = program (i32[2]) {
    %0 = negative p0 : i32[2]
    return %0
  }
  cut
  %1 = negative p0 : i32[2]
  cut
  return %0, %1
}
)");
  EXPECT_EQ(learnt->planned.size(), learnt->program.marks.size());
}

TEST_F(ScriptBuilderTest, ALoopOfWhichOtherIterationsAreWantedIsWrittenDown) {
  Tensor x = Negate(b_), kept;
  for (int i = 1; i < 20'000; ++i) {
    x = Negate(x);
    if (i == 5000) kept = x;
  }
  const auto learnt = Finish({&kept, &x});
  ASSERT_TRUE(learnt);
  EXPECT_EQ(learnt->program.calls.size(), 20'000u);
  EXPECT_EQ(learnt->program.marks.size(), 20'000u);
  EXPECT_EQ(Taken(*learnt, 0), ~1);
  EXPECT_EQ(Taken(*learnt, 7000), 6999);
  EXPECT_EQ(learnt->program.outputs, (std::vector<Content>{{5000, {}}, {19'999, {}}}));
}

TEST_F(ScriptBuilderTest, ARepeatedCallWithoutAStateIsNoLoop) {
  Tensor x;
  for (int i = 0; i < 20'000; ++i) x = Negate(a_);
  const auto learnt = Finish({&x});
  ASSERT_TRUE(learnt);
  EXPECT_EQ(learnt->program.calls.size(), 20'000u);
  EXPECT_EQ(Taken(*learnt, 19'999), ~0);
}

TEST_F(ScriptBuilderTest, CellsWithAnotherContentWereWritten) {
  b_ = Negate(a_);
  const auto learnt = Finish();
  ASSERT_TRUE(learnt);
  EXPECT_EQ(learnt->program.writes, (std::vector<Program::Write>{{1, {0, {}}}}));
}

TEST_F(ScriptBuilderTest, AnIntegerThatIsReadIsAMark) {
  const Tensor x = Negate(a_), number = Int(42);
  builder_.OnRead(*number.value(), frazil::Reading::kNumber);
  Negate(x);
  const auto learnt = Finish();
  ASSERT_TRUE(learnt);
  const std::vector<Mark>& marks = learnt->program.marks;
  ASSERT_EQ(marks.size(), 2u);
  EXPECT_EQ(marks[0].kind, Mark::Kind::kNumber);
  EXPECT_EQ(marks[0].at, 1);
  EXPECT_EQ(marks[0].outcome, 42u);
  EXPECT_EQ(marks[0].read, learnt->program.IdOfConstant(0));
  EXPECT_EQ(marks[1].kind, Mark::Kind::kCut);
}

TEST_F(ScriptBuilderTest, ASecondReadIsAMarkOfItsOwn) {
  Negate(a_);
  for (const int32_t n : {1, 2}) {
    const Tensor number = Int(n);
    builder_.OnRead(*number.value(), frazil::Reading::kNumber);
  }
  const auto learnt = Finish();
  const std::vector<Mark>& marks = learnt->program.marks;
  ASSERT_EQ(marks.size(), 2u);
  EXPECT_EQ(marks[0].outcome, 1u);
  EXPECT_EQ(marks[1].outcome, 2u);
  EXPECT_EQ(marks[1].at, 1);
}

TEST_F(ScriptBuilderTest, ACheckOfIndicesIsAMark) {
  Negate(a_);
  builder_.OnIndexCheck("take", *b_.value(), {-5, 5}, "rows");
  const auto learnt = Finish();
  const Mark& mark = learnt->program.marks.at(0);
  EXPECT_EQ(mark.kind, Mark::Kind::kIndexCheck);
  EXPECT_EQ(mark.read, ~1);
  EXPECT_EQ(mark.range, IndexRange(-5, 5));
  EXPECT_EQ(mark.check, "take");
  EXPECT_EQ(mark.of, "rows");
}

TEST_F(ScriptBuilderTest, WhatOpsReadThemselvesIsNoRead) {
  const Tensor number = Floats({1});
  builder_.OnRead(*number.value(), frazil::Reading::kInside);
  const auto path = Finish();
  ASSERT_TRUE(path);
  EXPECT_TRUE(path->program.marks.empty());
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

TEST_F(ScriptBuilderTest, CallsOfOneNodeOfTheTrieShareTheirRecord) {
  Negate(a_), Negate(b_);
  Node other;
  static_cast<CallRecord&>(other) = node_;
  const Node* node = &other;
  builder_.OnViews({&node, 1}, *a_.value(), {Ints({1, 1}).value_ref()}, Precision::kDefault);
  const auto calls = Finish()->program.calls;
  EXPECT_EQ(calls[0].record, calls[1].record);
  EXPECT_NE(calls[0].record, calls[2].record);
}

TEST_F(ScriptBuilderTest, ThePlanOfTheLastSegmentIsKnown) {
  Negate(a_), Negate(b_);
  const auto plan = *fakes_.compiler.Compile({}, {1}, Precision::kDefault, {}, nullptr);
  builder_.OnPlan(plan, {1});
  const auto learnt = Finish();
  EXPECT_EQ(learnt->planned[0].plan.lock(), nullptr);
  EXPECT_EQ(learnt->planned[1].plan.lock(), plan);
  EXPECT_EQ(learnt->planned[1].live, LiveMask({1}));
}

TEST_F(ScriptBuilderTest, APlanForSlotsThatAreOneValueNowIsOfNoUse) {
  Node two;
  static_cast<CallRecord&>(two) = MadeCall(OpId::k_add);
  static_cast<NodeOperands&>(two) = Taking({-1, -2}, 2);
  const Node* node = &two;
  const auto plan = *fakes_.compiler.Compile({}, {1}, Precision::kDefault, {}, nullptr);
  for (const Tensor* other : {&a_, &b_}) {
    builder_.OnSegment({&node, 1}, {a_.value_ref(), other->value_ref()}, {Ints({1, 1}).value_ref()},
                       Precision::kDefault);
    builder_.OnPlan(plan, {1});
  }
  const auto learnt = Finish();
  EXPECT_EQ(learnt->planned[0].plan.lock(), nullptr);
  EXPECT_EQ(learnt->planned[1].plan.lock(), plan);
}

TEST_F(ScriptBuilderTest, AValueIsToldFromALaterOneInItsMemory) {
  // So many values that the builder lets go of those that nobody else holds.
  Tensor kept = Negate(a_);
  for (int i = 0; i < 3000; ++i) Negate(a_);
  const Tensor constant = Ints({5, 6});
  Negate(constant), Negate(kept);
  const auto learnt = Finish();
  ASSERT_TRUE(learnt);
  EXPECT_EQ(Taken(*learnt, 3001), learnt->program.IdOfConstant(0));
  EXPECT_EQ(Taken(*learnt, 3002), 0) << "still held, still known";
}

}  // namespace
}  // namespace frazil::tracer
