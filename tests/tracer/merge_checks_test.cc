// Checks of indices between segments that are put together: which come before them all, and with
// what.
#include "gtest/gtest.h"
#include "tests/tracer/paths.h"
#include "tracer/merge_segments.h"

namespace frazil::tracer {
namespace {

using End = SegmentRecord::End;

// Work over cell 0, and indices that are made of cell 1 by `makers` calls; they are checked, and
// used with that work.
PathRecord Checked(int makers, OpId maker = OpId::k_negative, const Layout* layout = Pair()) {
  std::vector<CallRecord> calls{MadeCall(OpId::k_multiply, {-1, -1}, 1)};
  for (int i = 0; i < makers; ++i) {
    calls.push_back(MadeCall(maker, {i ? i : -2}, i == 0));
    calls.back().results[0].layout = layout;
  }
  return MadePath({Checking(MadeSegment(std::move(calls), {Cell(0), Cell(1)}), MadeBy(makers), 9),
                   MadeSegment({MadeCall(OpId::k_add, {-1, -2}, 2)}, {MadeBy(0), MadeBy(makers)})},
                  {MadeBy(makers + 1)});
}

TEST(MergeChecks, ACheckComesFirstWithWhatMakesItsIndices) {
  const auto merged = MergeSegments(Checked(2));
  ASSERT_TRUE(merged);
  ASSERT_EQ(merged->segments.size(), 2u);
  const SegmentRecord &check = merged->segments[0], &whole = merged->segments[1];
  EXPECT_EQ(check.end, End::kIndexCheck);
  EXPECT_EQ(check.range, IndexRange(0, 9));
  ASSERT_EQ(check.calls().size(), 2u) << "without the other work";
  EXPECT_EQ(check.slots, std::vector({Cell(1)}));
  EXPECT_EQ(check.calls()[0].operands, Operands({-1}));
  EXPECT_EQ(check.calls()[0].slots.size(), 1u);
  EXPECT_EQ(check.calls()[1].operands, Operands({0}));
  EXPECT_EQ(check.results, 2);
  EXPECT_EQ(check.read, MadeBy(1));
  EXPECT_EQ(whole.end, End::kContinue);
  EXPECT_EQ(whole.calls().size(), 4u);
  EXPECT_EQ(whole.calls()[3].operands, Operands({0, 2}));
  EXPECT_EQ(merged->outputs[0].value, MadeBy(2 + 3)) << "behind the results of the check";
}

TEST(MergeChecks, IndicesThatWereThereBeforeNeedNoCalls) {
  PathRecord path = Checked(1);
  path.segments[0].read = Cell(1);
  const auto merged = MergeSegments(path);
  ASSERT_TRUE(merged);
  ASSERT_EQ(merged->segments.size(), 2u);
  EXPECT_TRUE(merged->segments[0].calls().empty());
  EXPECT_EQ(merged->segments[0].read, Cell(1));
  EXPECT_EQ(merged->outputs[0].value, MadeBy(2));
}

TEST(MergeChecks, IndicesFromBeforeWhatIsMergedAreFoundAgain) {
  // A read parts the first segment, whose result is checked behind the second.
  const PathRecord path = MadePath(
      {Reading(MadeSegment({MadeCall(OpId::k_negative, {-1}, 1)}, {Cell(0)}), Cell(2), 3),
       Checking(MadeSegment({MadeCall(OpId::k_negative, {-1}, 1)}, {Cell(1)}), MadeBy(0), 9),
       MadeSegment({MadeCall(OpId::k_add, {-1, -2}, 2)}, {MadeBy(1), MadeBy(0)})},
      {MadeBy(2)});
  const auto merged = MergeSegments(path);
  ASSERT_TRUE(merged);
  ASSERT_EQ(merged->segments.size(), 3u);
  EXPECT_EQ(merged->segments[0].end, End::kNumber);
  EXPECT_EQ(merged->segments[1].read, MadeBy(0));
  EXPECT_TRUE(merged->segments[1].calls().empty());
  EXPECT_EQ(merged->segments[2].slots, std::vector({Cell(1), MadeBy(0)}));
}

TEST(MergeChecks, IndicesThatTakeMuchToMakeStayWhereTheyAre) {
  EXPECT_TRUE(MergeSegments(Checked(16)));
  EXPECT_FALSE(MergeSegments(Checked(17))) << "many calls";
  EXPECT_FALSE(MergeSegments(Checked(1, OpId::k_sum))) << "more than elementwise";
  EXPECT_TRUE(MergeSegments(Checked(1, OpId::k_negative, Dense({1 << 20}))));
  EXPECT_FALSE(MergeSegments(Checked(1, OpId::k_negative, Dense({(1 << 20) + 1})))) << "long";
}

TEST(MergeChecks, SoManyAndNoMore) {
  const auto segments = [](int checks) {
    PathRecord path;
    for (int i = 0; i <= checks; ++i) {
      path.segments.push_back(MadeSegment({MadeCall(OpId::k_negative, {-1}, 1, {i})}, {Cell(0)}));
      if (i < checks) path.segments.back() = Checking(path.segments.back(), Cell(1), 9);
    }
    path.outputs = {{MadeBy(checks), {}}};
    const auto merged = MergeSegments(path);
    int with_work = 0;
    for (const SegmentRecord& s : merged->segments) with_work += s.results > 0;
    return with_work;
  };
  EXPECT_EQ(segments(16), 1);
  EXPECT_EQ(segments(17), 2);
}

}  // namespace
}  // namespace frazil::tracer
