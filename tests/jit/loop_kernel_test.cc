// Loops (graph.h) written down: which are one kernel, that they run as they are defined either way,
// and what the verifier refuses.
#include "jit/graph/loop_kernel.h"

#include "absl/strings/str_replace.h"
#include "core/str.h"
#include "jit/graph/space.h"
#include "jit/plan/compile.h"
#include "jit/run/plan.h"
#include "tests/jit/graph_gen.h"
#include "tests/jit/plan_testing.h"

namespace frazil::jit {
namespace {

// A loop of x * number + w over a row of four, with what a test adds behind it.
constexpr std::string_view kLoop = R"(
graph (f32[4], f32[4], scalar f32, scalar f32, scalar f32) {
  %5 = loop %2, %3, %4, %1, %0 : bool[0] times 3 (each, same, state 0) graph (scalar f32, f32[4], f32[4]) {
    %3 = multiply %2, %0 : f32[4]
    %4 = add %3, %1 : f32[4]
    return %4
  }
  %6 = end %5 {0} : f32[4]
  return %6
})";

std::string With(std::initializer_list<std::pair<std::string_view, std::string_view>> changes,
                 std::string_view base = kLoop) {
  std::string text(base);
  for (const auto& [from, to] : changes) {
    EXPECT_NE(text.find(from), std::string::npos) << from;
    text = absl::StrReplaceAll(text, {{AbslView(from), AbslView(to)}});
  }
  return text;
}

int32_t LoopOf(const Graph& graph) {
  int32_t id = 0;
  while (!graph.nodes[id].loop) ++id;
  return id;
}

// As a plan, fused and not, against its ops one by one; the kernels and steps of the fused plan. By
// default of the loops that the graph has, as they are.
std::string ExpectSameRun(const Graph& graph, std::string_view passes = "-scalars,-roll") {
  Rng rng(1);
  const std::vector<ValueRef> inputs = RandomInputs(rng, graph);
  const auto want = RunOpByOp(graph, inputs);
  EXPECT_TRUE(want.ok()) << want.status();
  std::string dump;
  for (const std::string_view switches : {std::string_view("-fuse"), passes}) {
    CompileSettings settings{.verify = true};
    settings.passes = *PassSwitches::FromText(switches);
    const auto plan = CompileWith(graph, {}, settings);
    EXPECT_TRUE(plan.ok()) << plan.status() << Print(graph);
    if (!plan.ok() || !want.ok()) return "";
    std::vector<ValueRef> got(graph.outputs.size());
    EXPECT_TRUE((*plan)->Run(Pointers(inputs), absl::MakeSpan(got)).ok());
    dump = (*plan)->Dump();
    for (size_t i = 0; i < got.size(); ++i)
      EXPECT_EQ(Differences(*got[i], *(*want)[i]), "") << i << Print(graph) << dump;
  }
  return dump;
}
std::string ExpectSameRun(std::string_view text) { return ExpectSameRun(MustParse(text)); }

int Count(std::string_view text, std::string_view what) {
  int count = 0;
  for (size_t at = 0; (at = text.find(what, at)) != std::string_view::npos; ++at) ++count;
  return count;
}

void ExpectOneKernel(std::string_view text, bool one) {
  const Graph graph = MustParse(text);
  EXPECT_EQ(IsOneKernel(graph, LoopOf(graph)), one) << text;
  const std::string dump = ExpectSameRun(graph);
  EXPECT_EQ(Count(dump, "loop of"), one ? 0 : 2) << dump;  // what is planned, and the step
  EXPECT_EQ(Count(dump, "repeat %"), one ? 1 : 0) << dump;
  const Graph again = *Parse(Print(graph));
  EXPECT_EQ(again.nodes, graph.nodes);
  EXPECT_EQ(ContentKey(again), ContentKey(graph));
}

TEST(LoopKernel, StateInRegisters) {
  ExpectOneKernel(kLoop, true);
  ExpectOneKernel(With({{"times 3", "times 1"}, {"loop %2, %3, %4", "loop %2"}}), true);
  for (const std::string_view type : {"f64", "f16", "bf16", "i32", "i8", "u8"})
    ExpectOneKernel(With({{"f32", type}}), true);
}

TEST(LoopKernel, NoKernel) {
  // A reduction, a gather, values of all iterations, arrays of the iterations, windows.
  ExpectOneKernel(
      With({{"%4 = add %3, %1 : f32[4]", "%9 = sum %3 {1, 1} : f32[1] %4 = add %9, %1 : f32[4]"}}),
      false);
  ExpectOneKernel(With({{"%4 = add %3, %1 : f32[4]",
                         "%8 = greater %3, %1 : bool[4] %9 = astype %8 {4} : i64[4] %7 = take %1, "
                         "%9 {0} : f32[4] "
                         "%4 = add %3, %7 : f32[4]"}}),
                  false);
  ExpectOneKernel(With({{"%6 = end %5 {0} : f32[4]", "%6 = every %5 {0} : f32[3,4]"}}), false);
  ExpectOneKernel(With({{"scalar f32", "f32[1]"}}), false);
  ExpectOneKernel(
      With({{"loop %2, %3, %4, %1", "loop %2, %3, %4, %1"}, {"each, same", "each, slide 0 by 0"}}),
      false);
  // A result that is no state: registers hold what is handed on.
  ExpectOneKernel(With({{"return %4", "return %4, %3"}, {"%5 {0}", "%5 {1}"}}), false);
  // Nothing is handed on.
  ExpectOneKernel(With({{"state 0", "same"}}), false);
}

TEST(LoopKernel, TooLargeForAKernel) {
  std::string body = "%3 = multiply %2, %0 : f32[4]";
  for (int i = 4; i < 300; ++i) StrAppend(&body, "\n %", i, " = tanh %", i - 1, " : f32[4]");
  ExpectOneKernel(With({{"%3 = multiply %2, %0 : f32[4]", body},
                        {"%4 = add %3, %1", "%300 = add %299, %1"},
                        {"return %4", "return %300"}}),
                  false);
}

TEST(LoopKernel, WhatIsAroundIsPartOfIt) {
  const std::string dump = ExpectSameRun(R"(
graph (f32[5,4], f32[4], scalar f32) {
  %3 = exp %0 : f32[5,4]
  %4 = loop %1, %2, %3 : bool[0] times 9 (same, same, state 0) graph (f32[4], scalar f32, f32[5,4]) {
    %3 = multiply %2, %0 : f32[5,4]
    %4 = subtract %3, %1 : f32[5,4]
    return %4
  }
  %5 = end %4 {0} : f32[5,4]
  %6 = reshape %5 {5, 1, 4} : view f32[5,1,4] strides [4,0,1] offset 0
  %7 = reshape %3 {5, 1, 4} : view f32[5,1,4] strides [4,0,1] offset 0
  %8 = add %6, %7 : f32[5,1,4]
  return %8
})");
  EXPECT_EQ(Count(dump, "\nkernel "), 1) << dump;
}

TEST(LoopKernel, StateThatChangesPlacesAndStateThatNobodyReads) {
  constexpr std::string_view kTwo = R"(
graph (f32[6], f32[6]) {
  %2 = loop %0, %1 : bool[0] times 7 (state 1, state 0) graph (f32[6], f32[6]) {
    %2 = sin %0 : f32[6]
    %3 = add %0, %1 : f32[6]
    return %2, %3
  }
  %3 = end %2 {0} : f32[6]
  %4 = end %2 {1} : f32[6]
  return RESULTS
})";
  for (const std::string_view results : {"%3, %4", "%4, %3", "%3, %3"})
    ExpectOneKernel(With({{"RESULTS", results}}, kTwo), true);
  ExpectOneKernel(With({{"  %4 = end %2 {1} : f32[6]\n", ""}, {"RESULTS", "%3"}}, kTwo), true);
  ExpectOneKernel(With({{"  %3 = end %2 {0} : f32[6]\n  %4", "  %3"}, {"RESULTS", "%3"}}, kTwo),
                  true);
  // Both states become one output.
  ExpectOneKernel(
      With({{"state 1", "state 0"}, {"  %4 = end %2 {1} : f32[6]\n", ""}, {"RESULTS", "%3"}}, kTwo),
      true);
}

TEST(LoopKernel, TwoLoopsAreTwoKernels) {
  const std::string dump = ExpectSameRun(With({{"return %6", R"(
  %7 = loop %1, %6 : bool[0] times 5 (same, state 0) graph (f32[4], f32[4]) {
    %2 = multiply %1, %0 : f32[4]
    return %2
  }
  %8 = end %7 {0} : f32[4]
  return %8)"}}));
  EXPECT_EQ(Count(dump, "repeat %"), 2) << dump;
}

TEST(LoopKernel, AScalarOfStateBesideARow) {
  ExpectSameRun(R"(
graph (f32[9], f32[]) {
  %2 = loop %0, %1 : bool[0] times 6 (state 0, state 1) graph (f32[9], f32[]) {
    %2 = multiply %0, %1 : f32[9]
    %3 = cos %1 : f32[]
    return %2, %3
  }
  %3 = end %2 {0} : f32[9]
  return %3
})");
}

TEST(LoopKernel, ViewsAndCastsInABody) {
  ExpectSameRun(R"(
graph (f16[3,1], i32[5], f16[3,5]) {
  %3 = loop %0, %1, %2 : bool[0] times 4 (same, same, state 0) graph (f16[3,1], i32[5], f16[3,5]) {
    %3 = broadcast_to %0 {3, 5} : view f16[3,5] strides [1,0] offset 0
    %4 = astype %1 {11} : f32[5]
    %5 = astype %2 {11} : f32[3,5]
    %6 = reshape %5 {3, 1, 5} : view f32[3,1,5] strides [5,0,1] offset 0
    %7 = multiply %6, %4 : f32[3,1,5]
    %8 = reshape %7 {3, 5} : view f32[3,5] strides [5,1] offset 0
    %9 = astype %8 {9} : f16[3,5]
    %10 = add %9, %3 : f16[3,5]
    return %10
  }
  %4 = end %3 {0} : f16[3,5]
  return %4
})");
}

TEST(LoopKernel, TheVerifierRefuses) {
  EXPECT_TRUE(Parse(kLoop).ok());
  const auto refused =
      [](std::initializer_list<std::pair<std::string_view, std::string_view>> changes,
         std::string_view why) {
        const auto graph = Parse(With(changes));
        ASSERT_FALSE(graph.ok()) << With(changes);
        EXPECT_NE(graph.status().message().find(AbslView(why)), std::string::npos)
            << graph.status();
      };
  refused({{"%6 = end %5 {0} : f32[4]\n  return %6", "return %5"}}, "is a loop, which has results");
  refused({{"%6 = end %5 {0} : f32[4]", "%6 = exp %5 : bool[0]"}}, "which only its results read");
  refused({{"%6 = end %5 {0} : f32[4]", "%7 = exp %1 : f32[4] %6 = end %5 {0} : f32[4]"}},
          "stands behind the loop");
  refused({{"%6 = end %5 {0}", "%6 = end %1 {0}"}}, "stands behind the loop");
  refused({{"%6 = end %5 {0}", "%6 = end %5, %5 {0}"}}, "stands behind the loop");
  refused({{"%6 = end %5 {0}", "%6 = end %5 {1}"}}, "is one of 1 outputs");
  refused({{"%6 = end %5 {0}", "%6 = end %5 {-1}"}}, "is one of 1 outputs");
  refused({{"%6 = end", "%7 = end %5 {0} : f32[4] %6 = end"}}, "is a result already, %6");
  refused({{"%6 = end %5 {0} : f32[4]", "%6 = end %5 {0} : f32[5]"}},
          "another type than the body's output");
  refused({{"%6 = end %5 {0} : f32[4]", "%6 = end %5 {0} : i32[4]"}},
          "another type than the body's output");
  refused({{"bool[0]", "bool[1]"}}, "a loop has no value, but results");
  refused({{"times 3", "times 0"}, {"%2, %3, %4, %1", "%1"}}, "a loop of 0 iterations");
  refused({{"times 3", "times 4"}}, "takes");
  refused({{"state 0", "state 1"}}, "becomes none of 1 outputs");
  refused({{"scalar f32, f32[4], f32[4]) {", "scalar f32, f32[4], f32[5]) {"}}, "");
  refused({{"return %4", "return %4, %4"}}, "no value of its own");
  refused({{"return %4", "return %2"}}, "no value of its own");
  refused({{"multiply %2, %0", "multiply %2, %1, %0"}}, "multiply takes");
}

TEST(LoopKernel, LoopsInEachOtherHaveABound) {
  const auto nested = [](int depth) {
    std::string inner = "{ %1 = exp %0 : f32[4] return %1 }";
    for (int i = 0; i < depth; ++i) {
      inner = StrCat("{ %1 = loop %0 : bool[0] times 2 (state 0) graph (f32[4]) ", inner,
                     " %2 = end %1 {0} : f32[4] return %2 }");
    }
    return StrCat("graph (f32[4]) ", inner);
  };
  EXPECT_TRUE(Parse(nested(16)).ok()) << Parse(nested(16)).status();
  EXPECT_FALSE(Parse(nested(17)).ok());
  ExpectSameRun(nested(3));
}

// What iterations take counts as often as there are, what they have of their own not at all.
TEST(LoopKernel, Time) {
  const auto compute = [](std::string_view text) {
    const Graph graph = MustParse(text);
    const int32_t nodes[] = {5, 6}, outputs[] = {6};
    return Analyse(graph, nodes, outputs)->compute;
  };
  const auto one = With({{"%2, %3, %4, %1", "%2, %1"}, {"each, same", "same, same"}});
  EXPECT_EQ(compute(kLoop), compute(one));
  const auto longer = With({{"times 3", "times 300"}}, one);
  EXPECT_GT(compute(longer), 20 * compute(one));
}

TEST(LoopKernel, OtherLoopsAreOtherContent) {
  const std::string one = ContentKey(MustParse(kLoop));
  for (const std::string& text :
       {With({{"add", "subtract"}}), With({{"end %5 {0} : f32[4]", "every %5 {0} : f32[3,4]"}}),
        With({{"each, same", "each, slide 0 by 0"}}),
        With({{"times 3", "times 2"}, {"%2, %3, %4", "%2, %3"}})}) {
    EXPECT_NE(ContentKey(MustParse(text)), one) << text;
    EXPECT_NE(MustParse(text).nodes, MustParse(kLoop).nodes);
  }
}

}  // namespace
}  // namespace frazil::jit
