// Scripts: what is asked of the compiler for a path, and that running a script changes nothing
// before it knows its end.
#include "tests/tracer/script_testing.h"

namespace frazil::tracer {
namespace {

constexpr OpId kAdd = OpId::k_add, kNegative = OpId::k_negative, kMultiply = OpId::k_multiply;

// The sum of two cells, and its negative, of which one is wanted.
SegmentRecord SumAndNegative() {
  return MadeSegment({MadeCall(kAdd, {-1, -2}, 2), MadeCall(kNegative, {0})}, {Cell(0), Cell(1)});
}

TEST_F(ScriptTest, OnlyWhatComesOutIsWanted) {
  const auto script = Build({Shared(MadePath({SumAndNegative()}, {MadeBy(1)}))});
  ASSERT_EQ(asked(), 1u);
  EXPECT_EQ(Asked(0).live, LiveMask({2}));
  std::vector<Tensor> cells{Ints({1, 2}), Ints({10, 20})};
  EXPECT_EQ(Run(*script, &cells), Elements({{-11, -22}}));
}

TEST_F(ScriptTest, ResultsComeOutInTheirOrder) {
  const auto script =
      Build({Shared(MadePath({SumAndNegative()}, {MadeBy(1), MadeBy(0), Cell(1)}))});
  std::vector<Tensor> cells{Ints({1, 2}), Ints({10, 20})};
  EXPECT_EQ(Run(*script, &cells), Elements({{-11, -22}, {11, 22}, {10, 20}}));
}

TEST_F(ScriptTest, NothingIsCompiledWhereNothingIsWanted) {
  const auto script = Build({Shared(MadePath({SumAndNegative()}, {Cell(0)}))});
  EXPECT_EQ(asked(), 0u);
  std::vector<Tensor> cells{Ints({1, 2}), Ints({10, 20})};
  EXPECT_EQ(Run(*script, &cells), Elements({{1, 2}}));
}

TEST_F(ScriptTest, OutcomesShareWhatComesBefore) {
  const auto script = Build({One(), Two()});
  EXPECT_EQ(asked(), 3u) << "one beginning, two ends";
  std::vector<Tensor> cells{Ints({1, 2}), Int(1)};
  EXPECT_EQ(Run(*script, &cells), Elements({{1, 2}}));
  cells[1] = Int(2);
  EXPECT_EQ(Run(*script, &cells), Elements({{0, 0}, {-1, -2}}));
}

TEST_F(ScriptTest, AnUnknownOutcomeChangesNothing) {
  PathRecord path = *One();
  path.writes = {{0, {MadeBy(1), {}}}};
  const auto script = Build({Shared(path)});
  std::vector<Tensor> cells{Ints({1, 2}), Int(7)};
  EXPECT_EQ(Run(*script, &cells), Elements());
  EXPECT_EQ(ElementsOf(cells[0]), std::vector({1, 2}));
  cells[1] = Int(1);
  EXPECT_EQ(Run(*script, &cells), Elements({{1, 2}}));
}

TEST_F(ScriptTest, CellsMaySwapTheirContents) {
  PathRecord path = MadePath({}, {});
  path.writes = {{0, {Cell(1), {}}}, {1, {Cell(0), {}}}};
  const auto script = Build({Shared(path)});
  std::vector<Tensor> cells{Ints({1, 2}), Ints({10, 20})};
  Run(*script, &cells);
  EXPECT_EQ(ElementsOf(cells[0]), std::vector({10, 20}));
  EXPECT_EQ(ElementsOf(cells[1]), std::vector({1, 2}));
}

TEST_F(ScriptTest, OneResultMayGoToSeveralCells) {
  PathRecord path = Step();
  path.writes = {{0, {MadeBy(0), {}}}, {1, {MadeBy(0), {}}}};
  const auto script = Build({Shared(path)});
  std::vector<Tensor> cells{Ints({1, 2}), Ints({10, 20})};
  Run(*script, &cells);
  EXPECT_EQ(ElementsOf(cells[0]), std::vector({11, 22}));
  EXPECT_EQ(ElementsOf(cells[1]), std::vector({11, 22}));
}

TEST_F(ScriptTest, IndicesOutOfRangeLeaveItToTheBody) {
  PathRecord path = Step();
  path.segments[0] = Checking(path.segments[0], Cell(1), 5);
  const auto script = Build({Shared(path)});
  std::vector<Tensor> cells{Ints({1, 2}), Ints({4, 5})};
  Run(*script, &cells);
  EXPECT_EQ(ElementsOf(cells[0]), std::vector({1, 2}));
  cells[1] = Ints({4, 0});
  Run(*script, &cells);
  EXPECT_EQ(ElementsOf(cells[0]), std::vector({5, 2}));
}

TEST_F(ScriptTest, SegmentsOfOneContentShareAPlan) {
  // A loop that reads its condition: squares a value as often as the numbers say.
  PathRecord path;
  const auto content =
      std::make_shared<const std::vector<CallRecord>>(1, MadeCall(kMultiply, {-1, -2}, 2));
  for (int i = 0; i < 4; ++i) {
    SegmentRecord segment = MadeSegment({}, {i ? MadeBy(i - 1) : Cell(0), Cell(0)});
    segment.content = content;
    segment.results = 1;
    path.segments.push_back(Reading(segment, Cell(1), 1));
  }
  path.outputs = {{MadeBy(3), {}}};
  const auto script = Build({Shared(path)});
  EXPECT_EQ(asked(), 2u) << "the first may not overwrite what the cell holds, the others may";
  std::vector<Tensor> cells{Ints({2, 3}), Int(1)};
  EXPECT_EQ(Run(*script, &cells), Elements({{32, 243}}));
}

TEST_F(ScriptTest, PlansThatStillFitAreKept) {
  const auto first = Build({One()});
  EXPECT_EQ(asked(), 2u);
  Build({One(), Two()}, first.get());
  EXPECT_EQ(asked(), 3u) << "only the other end is new";
}

TEST_F(ScriptTest, PlansForOtherResultsAreNot) {
  const auto first = Build({Shared(MadePath({SumAndNegative()}, {MadeBy(1)}))});
  const auto next = Build({Shared(MadePath({SumAndNegative()}, {MadeBy(0)}))}, first.get());
  EXPECT_EQ(asked(), 2u);
  std::vector<Tensor> cells{Ints({1, 2}), Ints({10, 20})};
  EXPECT_EQ(Run(*next, &cells), Elements({{11, 22}}));
}

TEST_F(ScriptTest, ThePlanOfTheSegmentHelpsIfItIsForTheSameResults) {
  const auto plan = *fakes_.compiler.Compile({}, {2}, Precision::kDefault, {}, nullptr);
  PathRecord path = MadePath({SumAndNegative()}, {MadeBy(1)});
  path.segments[0].plan = plan;
  path.segments[0].live = {2};
  Build({Shared(path)});
  EXPECT_EQ(Asked(1).like, plan.get());
  path.segments[0].live = {3};
  Build({Shared(path)});
  EXPECT_EQ(Asked(2).like, nullptr);
}

TEST_F(ScriptTest, OneThatCannotBeCompiledIsNone) {
  fakes_.compiler.refuses = true;
  EXPECT_FALSE(Script::Build({One()}, nullptr).ok());
}

}  // namespace
}  // namespace frazil::tracer
