// Limits of one kernel: long loops, many nodes, instructions and pointers, short reductions.
#include "tests/jit/space_testing.h"

namespace frazil::jit {
namespace {

TEST(AnalyseLimits, LongLoopsAreCutUnlessSomethingWaitsForThem) {
  const auto sum = [](int64_t n) {
    return SpaceOf(
        StrCat("graph (f32[4,", n, "]) {\n  %1 = sum %0 {2, 0} : f32[4]\n  return %1\n}"));
  };
  EXPECT_FALSE(sum(4096)->chunked);
  EXPECT_TRUE(sum(4097)->chunked);
  const auto centred = [](int64_t n) {
    return SpaceOf(StrCat("graph (f32[4,", n,
                          "]) {\n  %1 = max %0 {2, 1} : f32[4,1]\n"
                          "  %2 = subtract %0, %1 : f32[4,",
                          n, "]\n  return %2\n}"));
  };
  EXPECT_TRUE(centred(4096));
  EXPECT_FALSE(centred(4097));
}

std::string Chain(int nodes, std::string_view op) {
  std::string text = "graph (f32[64]) {\n";
  for (int i = 1; i <= nodes; ++i)
    StrAppend(&text, "  %", i, " = ", op, " %", i - 1, " : f32[64]\n");
  return StrCat(text, "  return %", nodes, "\n}");
}

TEST(AnalyseLimits, KernelsHaveALimitOfNodes) {
  EXPECT_TRUE(SpaceOf(Chain(64, "negative")));
  EXPECT_FALSE(SpaceOf(Chain(65, "negative")));
}

TEST(AnalyseLimits, AndOfInstructions) {
  const Graph one = MustParse(Chain(1, "tan"));
  ASSERT_TRUE(SpaceOf(Chain(2, "tan")));
  const int each = SpaceOf(Chain(2, "tan"))->cost / 2;
  EXPECT_TRUE(SpaceOf(Chain(260 / each, "tan")));
  EXPECT_FALSE(SpaceOf(Chain(260 / each + 1, "tan")));
  EXPECT_TRUE(SpaceOf(one)) << "a node by itself always is one";
}

TEST(AnalyseLimits, AndOfPointers) {
  const auto sum_of = [](int inputs) {
    std::string text = "graph (f32[64]";
    for (int i = 1; i < inputs; ++i) StrAppend(&text, ", f32[64]");
    StrAppend(&text, ") {\n");
    for (int i = 1; i < inputs; ++i)
      StrAppend(&text, "  %", inputs + i - 1, " = add %", i == 1 ? 0 : inputs + i - 2, ", %", i,
                " : f32[64]\n");
    return SpaceOf(StrCat(text, "  return %", 2 * inputs - 2, "\n}"));
  };
  EXPECT_TRUE(sum_of(23)) << "and a result";
  EXPECT_FALSE(sum_of(24));
}

TEST(AnalyseLimits, ShortReductionsAreWrittenOut) {
  const auto sum = [](int64_t rows, int64_t n, std::string_view device = "") {
    return SpaceOf(StrCat("graph (f32[", rows, ",", n, "]", device,
                          ") {\n  %1 = sum %0 {2, 0} : f32[", rows, "]", device,
                          "\n  return %1\n}"));
  };
  EXPECT_EQ(sum(1000, 16)->unrolled.size(), 1u);
  EXPECT_FALSE(sum(1000, 16)->has_loop);
  EXPECT_TRUE(sum(1000, 16)->members.at(1).written_out);
  EXPECT_TRUE(sum(1000, 17)->unrolled.empty()) << "too many elements";
  EXPECT_EQ(sum(16, 3)->unrolled.size(), 1u);
  EXPECT_TRUE(sum(15, 3)->unrolled.empty()) << "too few rows";
  EXPECT_TRUE(sum(1000, 16, " @npu")->unrolled.empty()) << "only the CPU has such kernels";
}

}  // namespace
}  // namespace frazil::jit
