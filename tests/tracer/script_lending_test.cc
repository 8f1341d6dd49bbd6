// What the plans of a script may overwrite: results that nothing reads again, and the content of
// cells that the call replaces.
#include "tests/tracer/script_testing.h"

namespace frazil::tracer {
namespace {

constexpr OpId kNegative = OpId::k_negative;
using ScriptLendingTest = ScriptTest;

TEST_F(ScriptLendingTest, AValueThatNoOutcomeReadsAgainMayBeOverwritten) {
  Build({One()});
  EXPECT_TRUE(Asked(0).overwritable.slots.empty()) << "a cell that keeps its content";
  EXPECT_EQ(Asked(1).overwritable.slots, (absl::InlinedVector<uint64_t, 2>{1}));
  EXPECT_FALSE(Asked(1).overwritable.lent_by_cells);
}

TEST_F(ScriptLendingTest, AValueThatComesOutMayNot) {
  Build({Two()});
  EXPECT_TRUE(Asked(1).overwritable.slots.empty());
}

TEST_F(ScriptLendingTest, NorOneThatIsReadBehindTheStep) {
  Build({Shared(MadePath(
      {Begin(1), Reading(MadeSegment({MadeCall(kNegative, {-1}, 1)}, {MadeBy(0)}), MadeBy(0), 1)},
      {MadeBy(1)}))});
  EXPECT_TRUE(Asked(1).overwritable.slots.empty());
}

TEST_F(ScriptLendingTest, ACellThatIsReplacedLendsItsContent) {
  const auto script = Build({Shared(Step())});
  EXPECT_EQ(Asked(0).overwritable.slots, (absl::InlinedVector<uint64_t, 2>{1}));
  EXPECT_TRUE(Asked(0).overwritable.lent_by_cells);
  std::vector<Tensor> cells{Ints({1, 2}), Ints({10, 20})};
  for (int i = 0; i < 2; ++i) EXPECT_EQ(Run(*script, &cells), Elements());
  EXPECT_EQ(ElementsOf(cells[0]), std::vector({21, 42}));
}

TEST_F(ScriptLendingTest, ACellWhoseOldContentIsKeptLendsNothing) {
  // Slots that may be overwritten, as bits.
  const auto lent = [&](const auto& change) -> uint64_t {
    PathRecord path = Step();
    change(&path);
    Build({Shared(path)});
    const auto& slots = Asked(asked() - 1).overwritable.slots;
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

TEST_F(ScriptLendingTest, NothingIsLentWhereAnotherOutcomeMayEnd) {
  PathRecord one = *One(), two = *Two();
  one.writes = two.writes = {{0, {MadeBy(1), {}}}};
  two.outputs.clear();
  Build({Shared(one), Shared(two)});
  for (const auto& request : fakes_.compiler.requests)
    EXPECT_FALSE(request.overwritable.lent_by_cells);
}

}  // namespace
}  // namespace frazil::tracer
