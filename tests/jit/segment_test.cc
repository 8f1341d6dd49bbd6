// From a program to a graph, and what its plan says of itself.
#include "jit/segment.h"

#include "gtest/gtest.h"
#include "jit/register.h"
#include "tracer/program_text.h"

namespace frazil::jit {
namespace {

// The graph of a program of whose calls results are wanted, and how many constants it has.
std::pair<std::string, size_t> GraphText(std::string_view program, const tracer::LiveMask& live) {
  std::vector<ValueRef> constants;
  const auto graph = GraphOf(*tracer::ParseProgram(program), live, &constants);
  return {graph.ok() ? Print(*graph) : graph.status().ToString(), constants.size()};
}

TEST(Segment, BodiesStandInTheirCallsPlace) {
  const auto [text, constants] = GraphText(R"(program (f32[2], f32[2]) {
    %0 = add p1, p0 : f32[2]  # a.py:1
    %1, %2 = call silu %0, p0 : f32[2], f32[2] = program (f32[2], f32[2]) {
      constant c0 = scalar f32 40000000
      %0 = multiply p0, c0 : f32[2]
      %1 = subtract p1, %0 : f32[2]
      return %1, %0
    }  # a.py:2
    %3 = negative %2 : f32[2]  # a.py:3
    return
  })",
                                           {0b1010});
  EXPECT_EQ(constants, 1u);
  EXPECT_EQ(text, R"(graph (f32[2], f32[2], scalar f32) {
  %3 = add %1, %0 : f32[2]  # a.py:1
  %4 = multiply %3, %2 : f32[2]  # a.py:2
  %5 = subtract %0, %4 : f32[2]  # a.py:2
  %6 = negative %4 : f32[2]  # a.py:3
  return %5, %6
}
)");
}

TEST(Segment, EqualNumbersAreOneInputAndOtherConstantsTheirOwn) {
  const auto [text, constants] = GraphText(R"(program (f32[2]) {
    constant c0 = scalar f32 3f800000
    constant c1 = f32[2] "0000000000000000"
    %0 = add p0, c0 : f32[2]
    %1 = call silu %0 : f32[2] = program (f32[2]) {
      constant c0 = scalar f32 3f800000
      constant c1 = scalar f32 40000000
      %0 = add p0, c1 : f32[2]
      %1 = multiply %0, c0 : f32[2]
      return %1
    }
    %2 = add %1, c1 : f32[2]
    return
  })",
                                           {0b100});
  EXPECT_EQ(constants, 3u);
  EXPECT_NE(text.find("graph (f32[2], scalar f32, f32[2], scalar f32)"), std::string::npos) << text;
  EXPECT_NE(text.find("%4 = add %0, %1 "), std::string::npos) << text;
  EXPECT_NE(text.find("%5 = add %4, %3 "), std::string::npos) << text;
  EXPECT_NE(text.find("%6 = multiply %5, %1 "), std::string::npos) << text;
  EXPECT_NE(text.find("%7 = add %6, %2 "), std::string::npos) << text;
}

TEST(Segment, ALongPlanLetsOthersGoOn) {
  RegisterDevices();
  RegisterSegmentCompiler();
  const auto unlocks = [](std::string_view type) {
    const auto program =
        tracer::ParseProgram(StrCat("program (", type, ") { %0 = exp p0 : ", type, " return %0 }"));
    return (*tracer::GetSegmentCompiler()->Compile(*program, {1}, Precision::kDefault, {}, nullptr))
        ->unlocks();
  };
  EXPECT_FALSE(unlocks("f32[16]"));
  EXPECT_FALSE(unlocks("f32[16]@npu")) << "the CPU does its work";
  EXPECT_TRUE(unlocks("f32[16777216]"));
}

}  // namespace
}  // namespace frazil::jit
