// Scripts: what is asked of the compiler for a path, what is wanted of each segment and what may be
// overwritten, and that running a script changes nothing before it knows its end.
#include "tracer/script.h"

#include "gtest/gtest.h"
#include "tests/tracer/paths.h"

namespace frazil::tracer {
namespace {

constexpr OpId kAdd = OpId::k_add, kNegative = OpId::k_negative, kMultiply = OpId::k_multiply;
using Paths = std::vector<std::shared_ptr<const PathRecord>>;

std::shared_ptr<const PathRecord> Shared(PathRecord path) {
  return std::make_shared<const PathRecord>(std::move(path));
}

class ScriptTest : public testing::Test {
 protected:
  std::shared_ptr<const Script> Build(Paths paths, const Script* previous = nullptr) {
    auto script = Script::Build(std::move(paths), previous);
    EXPECT_TRUE(script.ok()) << script.status();
    return *std::move(script);
  }
  // The elements of what comes out; empty if the body has to run.
  std::vector<std::vector<int32_t>> Run(const Script& script, std::vector<Tensor>* cells) {
    std::vector<Tensor*> pointers;
    for (Tensor& t : *cells) pointers.push_back(&t);
    absl::InlinedVector<Tensor, 4> outputs;
    int kernels = 0;
    const auto path = script.Run(pointers, &outputs, &kernels);
    EXPECT_TRUE(path.ok()) << path.status();
    std::vector<std::vector<int32_t>> elements;
    for (const Tensor& t : outputs) elements.push_back(ElementsOf(t));
    EXPECT_TRUE(*path || elements.empty());
    return elements;
  }
  const FakeCompiler::Request& Asked(size_t i) const { return fakes_.compiler.requests.at(i); }
  size_t asked() const { return fakes_.compiler.requests.size(); }

  Fakes fakes_;
};

using Elements = std::vector<std::vector<int32_t>>;

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

// Negates cell 0; where cell 1, a number, was 1 negates again; otherwise adds cell 0.
SegmentRecord Begin(uint64_t outcome) {
  return Reading(MadeSegment({MadeCall(kNegative, {-1}, 1)}, {Cell(0)}), Cell(1), outcome);
}
std::shared_ptr<const PathRecord> One() {
  return Shared(
      MadePath({Begin(1), MadeSegment({MadeCall(kNegative, {-1}, 1)}, {MadeBy(0)})}, {MadeBy(1)}));
}
std::shared_ptr<const PathRecord> Two() {
  return Shared(
      MadePath({Begin(2), MadeSegment({MadeCall(kAdd, {-1, -2}, 2)}, {MadeBy(0), Cell(0)})},
               {MadeBy(1), MadeBy(0)}));
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

TEST_F(ScriptTest, AValueThatNoOutcomeReadsAgainMayBeOverwritten) {
  Build({One()});
  EXPECT_TRUE(Asked(0).spendable.slots.empty()) << "a cell that keeps its content";
  EXPECT_EQ(Asked(1).spendable.slots, (absl::InlinedVector<uint64_t, 2>{1}));
  EXPECT_FALSE(Asked(1).spendable.lent_by_cells);
}

TEST_F(ScriptTest, AValueThatComesOutMayNot) {
  Build({Two()});
  EXPECT_TRUE(Asked(1).spendable.slots.empty());
}

TEST_F(ScriptTest, NorOneThatIsReadBehindTheStep) {
  Build({Shared(MadePath(
      {Begin(1), Reading(MadeSegment({MadeCall(kNegative, {-1}, 1)}, {MadeBy(0)}), MadeBy(0), 1)},
      {MadeBy(1)}))});
  EXPECT_TRUE(Asked(1).spendable.slots.empty());
}

// Cell 0 is replaced by its sum with cell 1.
PathRecord Step() {
  PathRecord path = MadePath({MadeSegment({MadeCall(kAdd, {-1, -2}, 2)}, {Cell(0), Cell(1)})}, {});
  path.writes = {{0, {MadeBy(0), {}}}};
  return path;
}

TEST_F(ScriptTest, ACellThatIsReplacedLendsItsContent) {
  const auto script = Build({Shared(Step())});
  EXPECT_EQ(Asked(0).spendable.slots, (absl::InlinedVector<uint64_t, 2>{1}));
  EXPECT_TRUE(Asked(0).spendable.lent_by_cells);
  std::vector<Tensor> cells{Ints({1, 2}), Ints({10, 20})};
  for (int i = 0; i < 2; ++i) EXPECT_EQ(Run(*script, &cells), Elements());
  EXPECT_EQ(ElementsOf(cells[0]), std::vector({21, 42}));
}

TEST_F(ScriptTest, ACellWhoseOldContentIsKeptLendsNothing) {
  // Slots that may be overwritten, as bits.
  const auto lent = [&](const auto& change) -> uint64_t {
    PathRecord path = Step();
    change(&path);
    Build({Shared(path)});
    const auto& slots = Asked(asked() - 1).spendable.slots;
    return slots.empty() ? 0 : slots[0];
  };
  EXPECT_EQ(lent([](PathRecord*) {}), 1u);
  EXPECT_EQ(lent([](PathRecord* p) { p->outputs = {{Cell(0), {}}}; }), 0u) << "returned";
  EXPECT_EQ(lent([](PathRecord* p) {
              p->writes.push_back({1, {Cell(0), {}}});
            }),
            2u)
      << "written to cell 1, which lends its own";
  EXPECT_EQ(lent([](PathRecord* p) { p->segments[0].slots[1] = Cell(0); }), 0u) << "read twice";
  EXPECT_EQ(lent([](PathRecord* p) { p->tape.emplace_back().saved_output = Cell(0); }), 0u);
  EXPECT_EQ(lent([](PathRecord* p) { p->tape.emplace_back().saved[2].value = Cell(0); }), 0u);
  EXPECT_EQ(lent([](PathRecord* p) { p->segments[0] = Reading(p->segments[0], Cell(1), 3); }), 0u)
      << "an outcome may be unknown";
}

TEST_F(ScriptTest, NothingIsLentWhereAnotherOutcomeMayEnd) {
  PathRecord one = *One(), two = *Two();
  one.writes = two.writes = {{0, {MadeBy(1), {}}}};
  two.outputs.clear();
  Build({Shared(one), Shared(two)});
  for (const auto& request : fakes_.compiler.requests)
    EXPECT_FALSE(request.spendable.lent_by_cells);
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
  // The first result is wanted as before, its end as well; only the other end is new.
  EXPECT_EQ(asked(), 3u);
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
