// Segments of a path put together: which, and that operands are found again.
#include "tracer/merge_segments.h"

#include "gtest/gtest.h"
#include "tests/tracer/paths.h"

namespace frazil::tracer {
namespace {

constexpr OpId kAdd = OpId::k_add, kNegative = OpId::k_negative;

// Cell 0 plus cell 1; then that plus cell 0, negated.
PathRecord TwoSegments() {
  return MadePath(
      {MadeSegment({MadeCall(kAdd, {-1, -2}, 2)}, {Cell(0), Cell(1)}),
       MadeSegment({MadeCall(kAdd, {-1, -2}, 2), MadeCall(kNegative, {0})}, {MadeBy(0), Cell(0)})},
      {MadeBy(2)});
}

size_t CountOf(const std::shared_ptr<PathRecord>& path) { return path ? path->segments.size() : 0; }

TEST(MergeSegments, OneAloneIsLeft) {
  EXPECT_FALSE(MergeSegments(
      MadePath({MadeSegment({MadeCall(kNegative, {-1}, 1)}, {Cell(0)})}, {MadeBy(0)})));
}

TEST(MergeSegments, OperandsAreFoundAgain) {
  const auto merged = MergeSegments(TwoSegments());
  ASSERT_EQ(CountOf(merged), 1u);
  const SegmentRecord& whole = merged->segments[0];
  ASSERT_EQ(whole.calls().size(), 3u);
  EXPECT_EQ(whole.results, 3);
  EXPECT_EQ(whole.calls()[0].operands, Operands({-1, -2}));
  EXPECT_EQ(whole.calls()[1].operands, Operands({0, -1})) << "a result, and a slot met before";
  EXPECT_EQ(whole.calls()[2].operands, Operands({1}));
  EXPECT_EQ(whole.slots, std::vector({Cell(0), Cell(1)}));
  EXPECT_EQ(whole.calls()[0].slots.size(), 2u);
  EXPECT_TRUE(whole.calls()[1].slots.empty()) << "no slot is first met there";
  EXPECT_EQ(merged->outputs[0].value, MadeBy(2));
}

TEST(MergeSegments, AReadParts) {
  PathRecord path = TwoSegments();
  path.segments[0] = Reading(path.segments[0], MadeBy(0), 1);
  EXPECT_FALSE(MergeSegments(path));
}

TEST(MergeSegments, AReadBehindThemStays) {
  PathRecord path = TwoSegments();
  path.segments[1] = Reading(path.segments[1], MadeBy(1), 5);
  const auto merged = MergeSegments(path);
  ASSERT_EQ(CountOf(merged), 1u);
  EXPECT_EQ(merged->segments[0].end, SegmentRecord::End::kNumber);
  EXPECT_EQ(merged->segments[0].read, MadeBy(1));
  EXPECT_EQ(merged->segments[0].outcome, 5u);
}

TEST(MergeSegments, AnotherPrecisionParts) {
  PathRecord path = TwoSegments();
  path.segments[1].precision = Precision::kBlas;
  EXPECT_FALSE(MergeSegments(path));
}

TEST(MergeSegments, WhatThePathHasElseStays) {
  PathRecord path = TwoSegments();
  path.constants = {Ints({4, 5}).value_ref()};
  path.writes = {{1, {MadeBy(1), {}}}};
  path.shape = {3, 4};
  path.tape.push_back({.op = kAdd, .saved_output = MadeBy(2)});
  const auto merged = MergeSegments(path);
  ASSERT_TRUE(merged);
  EXPECT_EQ(merged->constants, path.constants);
  EXPECT_EQ(merged->writes, path.writes);
  EXPECT_EQ(merged->shape, path.shape);
  EXPECT_EQ(merged->tape[0].saved_output, MadeBy(2));
}

TEST(MergeSegments, EachSlotKeepsItsOwnGuard) {
  CallRecord last = MadeCall(kAdd, {-3, -4}, 2);
  last.slots[1].dtype = DType::kF32;
  const auto merged = MergeSegments(
      MadePath({MadeSegment({MadeCall(kNegative, {-1}, 1)}, {Cell(0)}),
                MadeSegment({MadeCall(kAdd, {-1, -2}, 2), MadeCall(kAdd, {-1, -2}), last},
                            {MadeBy(0), Cell(1), Cell(2), Cell(3)})},
               {MadeBy(3)}));
  ASSERT_TRUE(merged);
  const SegmentRecord& whole = merged->segments[0];
  EXPECT_EQ(whole.slots, std::vector({Cell(0), Cell(1), Cell(2), Cell(3)}));
  ASSERT_EQ(whole.calls()[3].slots.size(), 2u);
  EXPECT_EQ(whole.calls()[3].slots[0].dtype, DType::kI32);
  EXPECT_EQ(whole.calls()[3].slots[1].dtype, DType::kF32);
}

TEST(MergeSegments, EqualNumbersBecomeOne) {
  PathRecord path;
  for (const uint64_t bits : {7, 8, 7})
    path.constants.push_back(Value::Immediate(DType::kI32, bits));
  path.segments = {MadeSegment({MadeCall(kAdd, {-1, -2}, 2)}, {Cell(0), Constant(0)}),
                   MadeSegment({MadeCall(kAdd, {-1, -2}, 2), MadeCall(kAdd, {0, -3}, 1)},
                               {MadeBy(0), Constant(1), Constant(2)})};
  const auto merged = MergeSegments(path);
  ASSERT_TRUE(merged);
  EXPECT_EQ(merged->segments[0].slots, std::vector({Cell(0), Constant(0), Constant(1)}));
  EXPECT_EQ(merged->segments[0].calls()[2].operands, Operands({1, -2}));
}

// A segment of `count` calls that repeat no body, each of the one before; the first of `from`.
SegmentRecord Chain(int count, Source from) {
  std::vector<CallRecord> calls;
  for (int i = 0; i < count; ++i)
    calls.push_back(MadeCall(kNegative, {i ? i - 1 : -1}, i == 0, {i}));
  return MadeSegment(std::move(calls), {from});
}

TEST(MergeSegments, UpToWhatOnePlanMayHave) {
  EXPECT_EQ(CountOf(MergeSegments(
                MadePath({Chain(2048, Cell(0)), Chain(2048, MadeBy(2047))}, {MadeBy(4095)}))),
            1u);
  EXPECT_FALSE(
      MergeSegments(MadePath({Chain(2048, Cell(0)), Chain(2049, MadeBy(2047))}, {MadeBy(4096)})));
}

// `segments` of `length` calls each, which repeat a body of two: an addition of cell 1, and
// `other`.
PathRecord Loop(int segments, int length, OpId other = kNegative, Device device = Device()) {
  PathRecord path;
  for (int s = 0; s < segments; ++s) {
    std::vector<CallRecord> calls;
    for (int i = 0; i < length; ++i) {
      const bool even = i % 2 == 0;
      Operands operands{i ? i - 1 : -1};
      if (even) operands.push_back(-2);
      calls.push_back(MadeCall(even ? kAdd : other, operands, i == 0 ? 2 : 0));
      calls.back().results[0].device = device;
    }
    path.segments.push_back(
        MadeSegment(std::move(calls), {s ? MadeBy(s * length - 1) : Cell(0), Cell(1)}));
  }
  path.outputs = {{MadeBy(segments * length - 1), {}}};
  return path;
}

TEST(MergeSegments, LoopsOfElementwiseOpsAreOfAnyLength) {
  const auto merged = MergeSegments(Loop(40, 1024));
  ASSERT_EQ(CountOf(merged), 1u);
  EXPECT_EQ(merged->segments[0].slots, std::vector({Cell(0), Cell(1)}));
  EXPECT_EQ(merged->segments[0].results, 40 * 1024);
}

TEST(MergeSegments, LoopsOfOtherOpsHaveALimit) {
  EXPECT_EQ(CountOf(MergeSegments(Loop(32, 1024, OpId::k_sum))), 1u);
  EXPECT_EQ(CountOf(MergeSegments(Loop(40, 1024, OpId::k_sum))), 2u);
}

TEST(MergeSegments, SoHaveThoseOfWhichAMiddleValueIsWanted) {
  PathRecord path = Loop(40, 1024);
  path.outputs.push_back({MadeBy(5), {}});
  EXPECT_EQ(CountOf(MergeSegments(path)), 2u);
  path.outputs.back().value = MadeBy(39 * 1024 + 5);  // of the last piece
  EXPECT_EQ(CountOf(MergeSegments(path)), 1u);
}

TEST(MergeSegments, ValuesThatTheTapeSavesAreWanted) {
  PathRecord path = Loop(40, 1024);
  path.tape.push_back({.op = kAdd, .saved_output = MadeBy(5)});
  EXPECT_EQ(CountOf(MergeSegments(path)), 2u);
  path.tape[0] = {.op = kAdd};
  path.tape[0].saved[1].value = MadeBy(5);
  EXPECT_EQ(CountOf(MergeSegments(path)), 2u);
}

TEST(MergeSegments, AWrittenMiddleValueIsWanted) {
  PathRecord path = Loop(40, 1024);
  path.writes = {{1, {MadeBy(5), {}}}};
  EXPECT_EQ(CountOf(MergeSegments(path)), 2u);
}

TEST(MergeSegments, LoopsOfOtherOpsElsewhereArePiecesAsOthersAre) {
  EXPECT_EQ(CountOf(MergeSegments(Loop(5, 1024, OpId::k_sum, Device(DeviceKind::kNpu, 0)))), 2u);
  EXPECT_EQ(CountOf(MergeSegments(Loop(5, 1024, OpId::k_sum))), 1u);
}

TEST(MergeSegments, ALoopEndsWhereANumberIsRead) {
  PathRecord path = Loop(6, 1024);
  path.segments[1] = Reading(path.segments[1], Cell(1), 5);
  const auto merged = MergeSegments(path);
  ASSERT_EQ(CountOf(merged), 2u);
  EXPECT_EQ(merged->segments[0].results, 2 * 1024);
  EXPECT_EQ(merged->segments[0].outcome, 5u);
}

TEST(MergeSegments, AnotherBodyIsNoPartOfALoop) {
  PathRecord path = Loop(6, 1024);
  for (size_t s = 3; s < 6; ++s) {
    auto calls =
        std::vector<CallRecord>(path.segments[s].calls().begin(), path.segments[s].calls().end());
    for (CallRecord& call : calls) call.attrs = {3};
    path.segments[s].content = std::make_shared<const std::vector<CallRecord>>(std::move(calls));
  }
  const auto merged = MergeSegments(path);
  ASSERT_EQ(CountOf(merged), 2u);
  EXPECT_EQ(merged->segments[0].results, 3 * 1024);
  EXPECT_EQ(merged->segments[1].slots[0], MadeBy(3 * 1024 - 1));
}

}  // namespace
}  // namespace frazil::tracer
