// Scripts: what is asked of the compiler for a program, and that running a script changes nothing
// before it knows its end.
#include "tests/tracer/script_testing.h"

namespace frazil::tracer {
namespace {

// The sum of two cells, and its negative, of which some are wanted.
Program SumAndNegative(std::string_view outputs) {
  return Over2(
      StrCat("%0 = add p0, p1 : i32[2]\n%1 = negative %0 : i32[2]\ncut\nreturn ", outputs));
}

TEST_F(ScriptTest, OnlyWhatComesOutIsWanted) {
  const auto script = Build(SumAndNegative("%1"));
  ASSERT_EQ(asked(), 1u);
  EXPECT_EQ(Asked(0).live, LiveMask({2}));
  std::vector<Tensor> cells{Ints({1, 2}), Ints({10, 20})};
  EXPECT_EQ(Run(*script, &cells), Elements({{-11, -22}}));
}

TEST_F(ScriptTest, ResultsComeOutInTheirOrder) {
  const auto script = Build(SumAndNegative("%1, %0, p1"));
  std::vector<Tensor> cells{Ints({1, 2}), Ints({10, 20})};
  EXPECT_EQ(Run(*script, &cells), Elements({{-11, -22}, {11, 22}, {10, 20}}));
}

TEST_F(ScriptTest, TwoResultsMayChangePlaces) {
  const auto script = Build(SumAndNegative("%1, %0"));
  std::vector<Tensor> cells{Ints({1, 2}), Ints({10, 20})};
  EXPECT_EQ(Run(*script, &cells), Elements({{-11, -22}, {11, 22}}));
}

TEST_F(ScriptTest, NothingIsCompiledWhereNothingIsWanted) {
  const auto script = Build(SumAndNegative("p0"));
  EXPECT_EQ(asked(), 0u);
  std::vector<Tensor> cells{Ints({1, 2}), Ints({10, 20})};
  EXPECT_EQ(Run(*script, &cells), Elements({{1, 2}}));
}

TEST_F(ScriptTest, ConstantsAreItsOwn) {
  const auto script = Build(Over2(R"(
    constant c0 = i32[2] "0500000006000000"
    %0 = add p1, c0 : i32[2]
    cut
    return %0, c0
)"));
  std::vector<Tensor> cells{Ints({1, 2}), Ints({10, 20})};
  EXPECT_EQ(Run(*script, &cells), Elements({{15, 26}, {5, 6}}));
}

TEST_F(ScriptTest, OutcomesShareWhatComesBefore) {
  const auto script = Build({Learnt(One()), Learnt(Two())});
  EXPECT_EQ(asked(), 3u) << "one beginning, two ends";
  std::vector<Tensor> cells{Ints({1, 2}), Int(1)};
  EXPECT_EQ(Run(*script, &cells), Elements({{1, 2}}));
  cells[1] = Int(2);
  EXPECT_EQ(Run(*script, &cells), Elements({{0, 0}, {-1, -2}}));
}

TEST_F(ScriptTest, AnUnknownOutcomeChangesNothing) {
  Program program = One();
  program.writes = {{0, {1, {}}}};
  const auto script = Build(program);
  std::vector<Tensor> cells{Ints({1, 2}), Int(7)};
  EXPECT_EQ(Run(*script, &cells), Elements());
  EXPECT_EQ(ElementsOf(cells[0]), std::vector({1, 2}));
  cells[1] = Int(1);
  EXPECT_EQ(Run(*script, &cells), Elements({{1, 2}}));
}

TEST_F(ScriptTest, CellsMaySwapTheirContents) {
  const auto script = Build(Over2("write p0 = p1\nwrite p1 = p0\nreturn\n"));
  std::vector<Tensor> cells{Ints({1, 2}), Ints({10, 20})};
  Run(*script, &cells);
  EXPECT_EQ(ElementsOf(cells[0]), std::vector({10, 20}));
  EXPECT_EQ(ElementsOf(cells[1]), std::vector({1, 2}));
}

TEST_F(ScriptTest, OneResultMayGoToSeveralCells) {
  const auto script = Build(Step("cut", "write p1 = %0"));
  std::vector<Tensor> cells{Ints({1, 2}), Ints({10, 20})};
  Run(*script, &cells);
  EXPECT_EQ(ElementsOf(cells[0]), std::vector({11, 22}));
  EXPECT_EQ(ElementsOf(cells[1]), std::vector({11, 22}));
}

TEST_F(ScriptTest, IndicesOutOfRangeLeaveItToTheBody) {
  const auto script = Build(Step("indices p1 from 0 to 5 for \"take\" of \"elements\""));
  std::vector<Tensor> cells{Ints({1, 2}), Ints({4, 5})};
  Run(*script, &cells);
  EXPECT_EQ(ElementsOf(cells[0]), std::vector({1, 2}));
  cells[1] = Ints({4, 0});
  Run(*script, &cells);
  EXPECT_EQ(ElementsOf(cells[0]), std::vector({5, 2}));
}

TEST_F(ScriptTest, ACheckThatComesFirstMakesItsIndicesAlone) {
  // Of the negative of cell 1, beside other work.
  const auto script = Build(Over2(R"(
    %0 = multiply p0, p0 : i32[2]
    %1 = negative p1 : i32[2]
    indices %1 from 0 to 5 for "take" of "elements"
    %2 = add %0, %1 : i32[2]
    cut
    return %2, %1
)"));
  ASSERT_EQ(asked(), 2u);
  EXPECT_EQ(Asked(0).calls, 1u);
  EXPECT_EQ(Asked(1).calls, 3u);
  std::vector<Tensor> cells{Ints({2, 3}), Ints({-4, -1})};
  EXPECT_EQ(Run(*script, &cells), Elements({{8, 10}, {4, 1}}));
  cells[1] = Ints({-4, 1});
  EXPECT_EQ(Run(*script, &cells), Elements());
}

TEST_F(ScriptTest, SegmentsThatDoTheSameShareAPlan) {
  // A loop that reads its condition: multiplies a value as often as the numbers say.
  Program loop = WithNumber(R"(
    %0 = multiply p0, p0 : i32[2]
    number p1 is 1
    %1 = multiply %0, p0 : i32[2]
    number p1 is 1
    %2 = multiply %1, p0 : i32[2]
    number p1 is 1
    %3 = multiply %2, p0 : i32[2]
    number p1 is 1
    return %3
)");
  for (Program::Call& call : loop.calls) call.record = loop.calls[0].record;
  const auto script = Build(loop);
  EXPECT_EQ(asked(), 2u) << "the first takes one value twice, the others two";
  std::vector<Tensor> cells{Ints({2, 3}), Int(1)};
  EXPECT_EQ(Run(*script, &cells), Elements({{32, 243}}));
}

TEST_F(ScriptTest, PlansThatStillFitAreKept) {
  const auto first = Build({Learnt(One())});
  EXPECT_EQ(asked(), 2u);
  Build({Learnt(One()), Learnt(Two())}, first.get());
  EXPECT_EQ(asked(), 3u) << "only the other end is new";
}

TEST_F(ScriptTest, PlansForOtherResultsAreNot) {
  const auto first = Build(SumAndNegative("%1"));
  const auto next = Build({Learnt(SumAndNegative("%0"))}, first.get());
  EXPECT_EQ(asked(), 2u);
  std::vector<Tensor> cells{Ints({1, 2}), Ints({10, 20})};
  EXPECT_EQ(Run(*next, &cells), Elements({{11, 22}}));
}

TEST_F(ScriptTest, PlansThatReachOverMarksAreNoneOfASegments) {
  const Program cut = Over2(R"(
    %0 = negative p0 : i32[2]
    cut
    %1 = negative %0 : i32[2]
    number p1 is 1
    return %1
)");
  const auto first = Build(cut);
  EXPECT_EQ(asked(), 1u);
  Program other = cut;
  other.marks[1].outcome = 2;
  Build({Learnt(cut), Learnt(other)}, first.get());
  EXPECT_EQ(asked(), 3u);
}

TEST_F(ScriptTest, ThePlanOfTheSegmentHelpsIfItIsForTheSameResults) {
  const auto plan = *fakes_.compiler.Compile({}, {2}, Precision::kDefault, {}, nullptr);
  LearntCall learnt;
  learnt.program = SumAndNegative("%1");
  learnt.planned = {{plan, {2}}};
  Build({std::make_shared<const LearntCall>(learnt)});
  EXPECT_EQ(Asked(1).like, plan.get());
  learnt.planned[0].live = {3};
  Build({std::make_shared<const LearntCall>(learnt)});
  EXPECT_EQ(Asked(2).like, nullptr);
}

TEST_F(ScriptTest, OneThatCannotBeCompiledIsNone) {
  fakes_.compiler.refuses = true;
  EXPECT_FALSE(Script::Build({Learnt(One())}, nullptr).ok());
}

}  // namespace
}  // namespace frazil::tracer
