// Checks of indices between segments that are put together: which come before them all, and with
// what.
#include "absl/algorithm/container.h"
#include "gtest/gtest.h"
#include "tests/tracer/programs.h"
#include "tracer/pieces.h"

namespace frazil::tracer {
namespace {

constexpr std::string_view kCheck = " from 0 to 9 for \"take\" of \"elements\"\n";

// Work over cell 0, and indices that are made of cell 1 by `makers` calls; they are checked, and
// used with that work.
Program Checked(int makers, std::string_view maker = "negative", std::string_view type = "i32[2]",
                std::string_view indices = "") {
  std::string text = StrCat("program (i32[2], ", type, ") {\n%0 = multiply p0, p0 : i32[2]\n");
  for (int i = 0; i < makers; ++i)
    StrAppend(&text, "%", i + 1, " = ", maker, " ", i > 0 ? StrCat("%", i) : "p1", " : ", type,
              "\n");
  const std::string last = StrCat("%", makers);
  StrAppend(&text, "indices ", indices.empty() ? last : std::string(indices), kCheck, "%",
            makers + 1, " = add %0, ", last, " : i32[2]\ncut\nreturn %", makers + 1, "}");
  return Parsed(text);
}

TEST(PiecesOfChecks, ACheckComesFirstWithWhatMakesItsIndices) {
  const auto pieces = MergedSegmentsOf(Checked(2));
  ASSERT_EQ(pieces.size(), 2u);
  EXPECT_TRUE(pieces[0].ahead);
  EXPECT_EQ(pieces[0].calls, std::vector({1, 2})) << "without the other work";
  EXPECT_EQ(pieces[0].mark, 0);
  EXPECT_FALSE(pieces[1].ahead);
  EXPECT_EQ(pieces[1].calls, std::vector({0, 1, 2, 3}));
  EXPECT_EQ(pieces[1].mark, 1);
}

TEST(PiecesOfChecks, ACallThatIsTakenTwiceIsMadeOnce) {
  const auto pieces = MergedSegmentsOf(Parsed(StrCat(R"(program (i32[2]) {
    %0 = negative p0 : i32[2]
    %1 = negative %0 : i32[2]
    %2 = add %0, %1 : i32[2]
    indices %2)",
                                                     kCheck, R"(
    %3 = negative %2 : i32[2]
    cut
    return %3
  })")));
  EXPECT_EQ(pieces.at(0).calls, std::vector({0, 1, 2}));
}

TEST(PiecesOfChecks, IndicesThatWereThereBeforeNeedNoCalls) {
  const auto pieces = MergedSegmentsOf(Checked(1, "negative", "i32[2]", "p1"));
  ASSERT_EQ(pieces.size(), 2u);
  EXPECT_TRUE(pieces[0].calls.empty());
}

TEST(PiecesOfChecks, IndicesFromBeforeWhatIsMergedNeedNoneEither) {
  // A read parts the first segment, whose result is checked behind the second.
  const auto pieces = MergedSegmentsOf(Parsed(StrCat(R"(program (i32[2], i32[2], i32[]) {
    %0 = negative p0 : i32[2]
    number p2 is 3
    %1 = negative p1 : i32[2]
    indices %0)",
                                                     kCheck, R"(
    %2 = add %1, %0 : i32[2]
    cut
    return %2
  })")));
  ASSERT_EQ(pieces.size(), 3u);
  EXPECT_EQ(pieces[0].mark, 0);
  EXPECT_TRUE(pieces[1].calls.empty());
  EXPECT_EQ(pieces[2].calls, std::vector({1, 2}));
}

TEST(PiecesOfChecks, IndicesThatTakeMuchToMakeStayWhereTheyAre) {
  const auto parted = [](const Program& program) {
    return !MergedSegmentsOf(program).back().merged;
  };
  EXPECT_FALSE(parted(Checked(16)));
  EXPECT_TRUE(parted(Checked(17))) << "many calls";
  EXPECT_TRUE(parted(Checked(1, "sum"))) << "more than elementwise";
  EXPECT_FALSE(parted(Checked(1, "negative", "i32[1048576]")));
  EXPECT_TRUE(parted(Checked(1, "negative", "i32[1048577]"))) << "long";
}

TEST(PiecesOfChecks, ACompositeIsElementwiseIfItsBodyIs) {
  const auto parted = [](std::string_view op) {
    const Program program = Parsed(StrCat(R"(program (f32[2]) {
      %0 = call silu p0 : f32[2] = program (f32[2]) { %0 = )",
                                          op, R"( p0 : f32[2]
        return %0
      }
      indices %0)",
                                          kCheck, R"(
      %1 = negative %0 : f32[2]
      cut
      return %1
    })"));
    return !MergedSegmentsOf(program).back().merged;
  };
  EXPECT_FALSE(parted("exp"));
  EXPECT_TRUE(parted("sum"));
}

TEST(PiecesOfChecks, SoManyAndNoMore) {
  const auto with_work = [](int checks) {
    std::string text = "program (i32[2]) {\n";
    for (int i = 0; i <= checks; ++i) {
      StrAppend(&text, "%", i, " = negative p0 {", i, "} : i32[2]\n");
      StrAppend(&text, i < checks ? StrCat("indices p0", kCheck) : "cut\n");
    }
    const auto pieces = MergedSegmentsOf(Parsed(StrCat(text, "return %", checks, "}")));
    return absl::c_count_if(pieces, [](const Piece& p) { return !p.calls.empty(); });
  };
  EXPECT_EQ(with_work(16), 1);
  EXPECT_EQ(with_work(17), 2);
}

}  // namespace
}  // namespace frazil::tracer
