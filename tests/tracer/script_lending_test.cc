// What the plans of a script may overwrite: results that nothing reads again, and the content of
// cells that the call replaces.
#include "tests/tracer/script_testing.h"

namespace frazil::tracer {
namespace {

constexpr OpId kNegative = OpId::k_negative;
using ScriptLendingTest = ScriptTest;

TEST_F(ScriptLendingTest, AValueThatNoOutcomeReadsAgainMayBeOverwritten) {
  Build(One());
  EXPECT_TRUE(Asked(0).overwritable.slots.empty()) << "a cell that keeps its content";
  EXPECT_EQ(Asked(1).overwritable.slots, (absl::InlinedVector<uint64_t, 2>{1}));
  EXPECT_FALSE(Asked(1).overwritable.lent_by_cells);
}

TEST_F(ScriptLendingTest, AValueThatComesOutMayNot) {
  Build(Two());
  EXPECT_TRUE(Asked(1).overwritable.slots.empty());
}

TEST_F(ScriptLendingTest, NorOneThatIsReadBehindTheStep) {
  Build(WithNumber(R"(
    %0 = negative p0 : i32[2]
    number p1 is 1
    %1 = negative %0 : i32[2]
    number %0 is 1
    return %1
)"));
  EXPECT_TRUE(Asked(1).overwritable.slots.empty());
}

TEST_F(ScriptLendingTest, ACellThatIsReplacedLendsItsContent) {
  const auto script = Build(Step());
  EXPECT_EQ(Asked(0).overwritable.slots, (absl::InlinedVector<uint64_t, 2>{1}));
  EXPECT_TRUE(Asked(0).overwritable.lent_by_cells);
  std::vector<Tensor> cells{Ints({1, 2}), Ints({10, 20})};
  for (int i = 0; i < 2; ++i) EXPECT_EQ(Run(*script, &cells), Elements());
  EXPECT_EQ(ElementsOf(cells[0]), std::vector({21, 42}));
}

TEST_F(ScriptLendingTest, ACellWhoseOldContentIsKeptLendsNothing) {
  // Slots that may be overwritten, as bits.
  const auto lent = [&](const Program& program) -> uint64_t {
    Build(program);
    const auto& slots = Asked(asked() - 1).overwritable.slots;
    return slots.empty() ? 0 : slots[0];
  };
  EXPECT_EQ(lent(Step()), 1u);
  EXPECT_EQ(lent(Step("cut", "", "p0")), 0u) << "returned";
  EXPECT_EQ(lent(Step("cut", "write p1 = p0")), 2u) << "written to cell 1, which lends its own";
  EXPECT_EQ(lent(Step("cut", "tape add () output p0")), 0u);
  EXPECT_EQ(lent(Step("cut", "tape add () saves (none, none, p0)")), 0u);
  EXPECT_EQ(lent(Step("number p1 is 3")), 0u) << "an outcome may be unknown";
  // Cells that hold one value are one: what two of them lend is named twice.
  Program twice = Step();
  twice.calls[0].operands = {-1, -1};
  EXPECT_EQ(lent(twice), 1u);
}

TEST_F(ScriptLendingTest, ConstantsLendNothing) {
  Build(Over2(R"(
    constant c0 = i32[2] "0500000006000000"
    %0 = add p0, c0 : i32[2]
    cut
    write p0 = %0
    return
)"));
  EXPECT_EQ(Asked(0).overwritable.slots, (absl::InlinedVector<uint64_t, 2>{1}));
}

TEST_F(ScriptLendingTest, NothingIsLentWhereAnotherOutcomeMayEnd) {
  Program one = One(), two = Two();
  one.writes = two.writes = {{0, {1, {}}}};
  two.outputs.clear();
  Build({Learnt(one), Learnt(two)});
  for (const auto& request : fakes_.compiler.requests)
    EXPECT_FALSE(request.overwritable.lent_by_cells);
}

}  // namespace
}  // namespace frazil::tracer
