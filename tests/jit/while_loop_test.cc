// Loops that test their condition: as a kernel of scalars and as steps, against their ops one by one.
#include "jit/graph/while_loop.h"

#include <gtest/gtest.h>

#include "absl/strings/str_replace.h"
#include "core/str.h"
#include "jit/plan/compile.h"
#include "jit/run/plan.h"
#include "tests/jit/graph_gen.h"
#include "tests/jit/plan_testing.h"

namespace frazil::jit {
namespace {

// Triples x until its largest element reaches the limit, counts, and hands y on one iteration late.
constexpr std::string_view kTripling = R"(graph (f32[3], f32[3], i32[], f32[]) {
  %4 = loop %0, %1, %2, %3 : bool[0] while 3 times 9223372036854775807 (state 0, state 1, state 2, same) graph (f32[3], f32[3], i32[], f32[]) {
    %4 = add %0, %0 : f32[3]
    %5 = add %4, %0 : f32[3]
    %6 = max %5 {1, 0} : f32[]
    %7 = sign %2 : i32[]
    %8 = add %2, %7 : i32[]
    %9 = less %6, %3 : bool[]
    %10 = copy %0 : f32[3]
    return %5, %10, %8, %9
  }
  %5 = end %4 {2} : i32[]
  %6 = end %4 {1} : f32[3]
  %7 = end %4 {0} : f32[3]
  return %7, %6, %5
})";

Graph Parsed(std::string text) {
  auto graph = Parse(text);
  EXPECT_TRUE(graph.ok()) << graph.status();
  EXPECT_TRUE(Verify(*graph).ok()) << Verify(*graph);
  return *std::move(graph);
}

std::string With(absl::string_view from, absl::string_view to) {
  return absl::StrReplaceAll(std::string(kTripling), {{from, to}});
}

ValueRef Floats(absl::Span<const int64_t> dims, std::vector<float> numbers) {
  ValueRef v = *Value::Allocate(DType::kF32, Device(), Dense(dims));
  std::memcpy(v->data, numbers.data(), numbers.size() * sizeof(float));
  return v;
}

ValueRef One() {
  ValueRef v = *Value::Allocate(DType::kI32, Device(), Dense({}));
  *reinterpret_cast<int32_t*>(v->data) = 1;
  return v;
}

// Its run up to a limit; how many iterations there were.
int RunUpTo(const Graph& graph, float limit, std::string_view passes, std::string* dump) {
  const int64_t n = graph.nodes[0].layout->size;
  std::vector<float> start(static_cast<size_t>(n), 0.5f);
  start[1] = 1;
  const std::vector<ValueRef> inputs = {Floats({n}, start), Floats({n}, start), One(),
                                        Floats({}, {limit})};
  const auto want = RunOpByOp(graph, inputs);
  EXPECT_TRUE(want.ok()) << want.status();
  const auto plan =
      CompileWith(graph, {}, {.passes = *PassSwitches::FromText(passes), .verify = true});
  EXPECT_TRUE(plan.ok()) << plan.status();
  std::vector<ValueRef> got(graph.outputs.size());
  EXPECT_TRUE((*plan)->Run(Pointers(inputs), absl::MakeSpan(got)).ok());
  for (size_t i = 0; i < got.size(); ++i)
    EXPECT_EQ(Differences(*got[i], *(*want)[i]), "") << i << (*plan)->Dump();
  *dump = (*plan)->Dump();
  return *reinterpret_cast<const int32_t*>(got[2]->data) - 1;
}

TEST(WhileLoop, TextAndKeyKeepTheCondition) {
  const Graph graph = Parsed(std::string(kTripling));
  EXPECT_EQ(Print(*Parse(Print(graph))), Print(graph));
  Graph other = graph;
  Loop loop = *other.nodes[4].loop;
  loop.condition = -1;
  other.nodes[4].loop = LoopRef(new Loop(loop));
  EXPECT_NE(ContentKey(other), ContentKey(graph));
  EXPECT_FALSE(other.nodes[4] == graph.nodes[4]);
}

TEST(WhileLoop, EndsWhereItsOpsEnd) {
  for (const std::string_view passes : {"", "-scalars"}) {
    for (const bool large : {false, true}) {
      const std::string text = With("[3]", large ? "[300]" : "[3]");
      const Graph graph = Parsed(text);
      int iterations = 0;
      for (float limit = 0.1f; limit < 1e9f; limit *= 3) {
        std::string dump;
        const int now = RunUpTo(graph, limit, passes, &dump);
        if (testing::Test::HasFailure()) return;
        EXPECT_GE(now, std::max(1, iterations));
        iterations = now;
        EXPECT_NE(dump.find("loop while"), std::string::npos) << dump;
        EXPECT_EQ(dump.find("done %") != std::string::npos, !large && passes.empty()) << dump;
      }
      EXPECT_GE(iterations, 17);
    }
  }
}

// More iterations than a kernel runs at once.
TEST(WhileLoop, GoesOnBeyondOneCallOfItsKernel) {
  const std::string text =
      With("%6 = max %5 {1, 0} : f32[]", StrCat("%6 = astype %2 {", int(DType::kF32), "} : f32[]"));
  std::string dump;
  const auto limit = float(3 * kAtOnce + 5);
  EXPECT_EQ(RunUpTo(Parsed(text), limit, "", &dump), int(limit));
  EXPECT_NE(dump.find("done %"), std::string::npos) << dump;
}

TEST(WhileLoop, RefusesWhatIsNoCondition) {
  const auto refused = [](absl::string_view from, absl::string_view to, std::string_view why) {
    const auto graph = Parse(With(from, to));
    const std::string message(graph.ok() ? Verify(*graph).message() : graph.status().message());
    EXPECT_NE(message.find(why), std::string::npos) << message;
  };
  refused("while 3", "while 4", "the condition is none of 4 outputs");
  refused("while 3", "while 2", "the condition is no single bool");
  refused("times 9223372036854775807 (state 0, state 1, state 2, same",
          "times 2 (state 0, state 1, state 2, slide 0 by 0", "a source moves with the iterations");
  refused("times 9223372036854775807", "times 5", "");
  refused("end %4 {0} : f32[3]", "every %4 {0} : f32[9223372036854775807,3]", "");
}

}  // namespace
}  // namespace frazil::jit
