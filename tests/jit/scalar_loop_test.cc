// Loops over small arrays that are written out as scalars: which can be, and that each op has its
// bits there.
#include "jit/graph/scalar_loop.h"

#include <gtest/gtest.h>

#include "absl/strings/str_replace.h"
#include "core/str.h"
#include "jit/graph/passes/passes.h"
#include "jit/plan/compile.h"
#include "jit/run/plan.h"
#include "tests/jit/graph_gen.h"
#include "tests/jit/plan_testing.h"

namespace frazil::jit {
namespace {

using Kind = Loop::Source::Kind;

int32_t LoopOf(const Graph& graph) {
  int32_t id = 0;
  while (!graph.nodes[id].loop) ++id;
  return id;
}

// As the plan that is made of it, against its ops one by one.
void ExpectSameRun(Rng& rng, const Graph& graph, std::string* dump = nullptr) {
  const std::vector<ValueRef> inputs = RandomInputs(rng, graph);
  const auto want = RunOpByOp(graph, inputs);
  ASSERT_TRUE(want.ok()) << want.status();
  const auto plan = CompileWith(graph, {}, {.verify = true});
  ASSERT_TRUE(plan.ok()) << plan.status() << Print(graph);
  std::vector<ValueRef> got(graph.outputs.size());
  ASSERT_TRUE((*plan)->Run(Pointers(inputs), absl::MakeSpan(got)).ok());
  for (size_t i = 0; i < got.size(); ++i)
    ASSERT_EQ(Differences(*got[i], *(*want)[i]), "") << i << Print(graph) << (*plan)->Dump();
  if (dump) *dump = (*plan)->Dump();
}

// --- random bodies

// Values of the body that an iteration may hand to the next in place of input `id`.
std::vector<int32_t> NextsOf(const Graph& body, int32_t id) {
  std::vector<int32_t> nexts;
  for (auto i = int32_t(body.num_inputs); i < int32_t(body.nodes.size()); ++i) {
    const Node &node = body.nodes[i], &input = body.nodes[id];
    if (!node.view && node.dtype == input.dtype && node.layout == input.layout) nexts.push_back(i);
  }
  return nexts;
}

// A random graph as the body of a loop whose inputs come from everywhere and of whose results all
// kinds are read.
std::optional<Graph> RandomLoop(Rng& rng) {
  Loop loop{.times = 1 + Below(rng, 9)};
  loop.body = RandomGraph(rng, 2 + int(Below(rng, 12)));
  Graph& body = loop.body;
  for (int32_t id = 0, count = int32_t(body.nodes.size()); id < count; ++id) {
    const Node& node = body.nodes[id];
    if (node.layout->rank == 0 || node.layout->size == 0 || Below(rng, 4)) continue;
    const OpId op = Below(rng, 2) ? OpId::k_cumulative_sum : OpId::k_cumulative_prod;
    (void)body.AddOp(op, {id}, {Below(rng, node.layout->rank)});
  }
  body.outputs.clear();
  const auto output = [&](int32_t id) {
    const auto known = std::find(body.outputs.begin(), body.outputs.end(), id);
    if (known != body.outputs.end()) return int32_t(known - body.outputs.begin());
    body.outputs.push_back(id);
    return int32_t(body.outputs.size()) - 1;
  };
  for (int32_t i = 0; i < body.num_inputs; ++i) {
    const Node& input = body.nodes[i];
    Loop::Source source{.kind = Below(rng, 2) ? Kind::kSame : Kind::kSlide};
    std::vector<int32_t> nexts;
    if (input.immediate) {
      source.kind = Below(rng, 2) ? Kind::kSame : Kind::kEach;
    } else if (nexts = NextsOf(body, i); input.layout->dense && !nexts.empty() && Below(rng, 3)) {
      source.kind = Kind::kState;
      source.next = output(nexts[Below(rng, nexts.size())]);
    }
    loop.sources.push_back(source);
  }
  for (int i = 0; i < 2; ++i) {
    const auto id = int32_t(Below(rng, body.nodes.size()));
    if (!body.nodes[id].input && !body.nodes[id].view) output(id);
  }
  // What it takes, and the loop with its results.
  Graph graph;
  std::vector<int32_t> operands;
  for (size_t i = 0; i < loop.sources.size(); ++i) {
    Loop::Source& s = loop.sources[i];
    const Node& input = body.nodes[i];
    s.operand = int32_t(operands.size());
    const Layout* layout = input.layout;
    if (s.kind == Kind::kSlide) {
      const Reach reach = ReachOf(*layout);
      s.step = Below(rng, 5) - 1;
      s.start = -reach.low + (s.step < 0 ? loop.times : 0) + Below(rng, 3);
      layout = Dense({s.start + loop.times * std::max<int64_t>(s.step, 0) + reach.high + 1});
    }
    for (int64_t t = 0; t < (s.kind == Kind::kEach ? loop.times : 1); ++t)
      operands.push_back(graph.AddInput(input.dtype, Device(), layout, input.immediate));
    const bool zero = input.immediate && s.kind == Kind::kSame && IsFloat(input.dtype);
    body.nodes[i].zero = graph.nodes.back().zero = zero && Below(rng, 2);
  }
  Node node;
  node.dtype = DType::kBool;
  node.layout = Dense({0});
  node.role = Role::kLoop;
  node.operands.assign(operands.begin(), operands.end());
  loop.scalars = true;
  node.loop = LoopRef(new Loop(loop));
  const auto at = int32_t(graph.nodes.size());
  graph.nodes.push_back(node);
  for (size_t i = 0; i < body.outputs.size(); ++i) {
    const Node& like = body.nodes[body.outputs[i]];
    const auto how = Below(rng, 3);  // last, all, or nobody reads it
    if (how == 2 && i + 1 < body.outputs.size()) continue;
    Node result;
    result.role = how == 1 && like.layout->rank < kMaxRank ? Role::kEvery : Role::kEnd;
    result.attrs = {int64_t(i)};
    result.operands = {at};
    result.dtype = like.dtype;
    Attrs dims(like.layout->dims().begin(), like.layout->dims().end());
    if (result.role == Role::kEvery) dims.insert(dims.begin(), loop.times);
    result.layout = Dense(dims);
    graph.outputs.push_back(int32_t(graph.nodes.size()));
    graph.nodes.push_back(result);
  }
  if (graph.outputs.empty() || !MayBeScalars(graph, at)) return std::nullopt;
  return graph;
}

TEST(ScalarLoop, RandomBodiesKeepTheirBits) {
  int ran = 0, along_instances = 0;
  for (uint64_t seed = 0; seed < 3000 && ran < 400; ++seed) {
    Rng rng(seed);
    const std::optional<Graph> graph = RandomLoop(rng);
    if (!graph) continue;
    ++ran;
    along_instances += ScalarBodyOf(*graph, LoopOf(*graph)).instances > 1;
    ASSERT_TRUE(Verify(*graph).ok()) << Verify(*graph) << Print(*graph);
    const auto again = Parse(Print(*graph));
    ASSERT_TRUE(again.ok()) << again.status() << Print(*graph);
    EXPECT_EQ(ContentKey(*again), ContentKey(*graph));
    std::string dump;
    ExpectSameRun(rng, *graph, &dump);
    if (HasFatalFailure()) return;
    EXPECT_NE(dump.find("repeat %"), std::string::npos) << dump;
    EXPECT_EQ(dump.find("loop of"), std::string::npos) << dump;
  }
  EXPECT_EQ(ran, 400);
  EXPECT_GT(along_instances, 40);
}

// Independent instances: an axis of any place that no op mixes.
TEST(ScalarLoop, InstancesFillTheLanes) {
  constexpr std::string_view kText = R"(
graph (f32[N,3], f32[9,N,1], f32[3,3]) {
  %3 = loop %1, %2, %0 : bool[0] times 9 (slide 0 by N, same, state 0) graph (f32[N,1], f32[3,3], f32[N,3]) {
    %3 = matmul %2, %1 : f32[N,3]
    %4 = slice %3 {0, 1, N, 0, 1, 2} : view f32[N,2] strides [3,1] offset 0
    %5 = concat %4, %0 {1} : f32[N,3]
    %6 = sum %5 {2, 1} : f32[N,1]
    %7 = divide %5, %6 : f32[N,3]
    return %7
  }
  %4 = every %3 {0} : f32[9,N,3]
  return %4
})";
  Rng rng(1);
  for (const int n : {100, 1000}) {
    const std::string text = absl::StrReplaceAll(AbslView(kText), {{"N", StrCat(n)}});
    const auto graph = Parse(text);
    ASSERT_TRUE(graph.ok()) << graph.status() << text;
    ASSERT_TRUE(IsWorthScalars(*graph, LoopOf(*graph)));
    EXPECT_EQ(ScalarBodyOf(*graph, LoopOf(*graph)).instances, n);
    Graph scalars = *graph;
    WriteOut(&scalars);
    ExpectSameRun(rng, scalars);
  }
  // What mixes them: a sum over them, a slice of some, a product along them.
  for (const auto& [from, to] :
       std::initializer_list<std::pair<std::string_view, std::string_view>>{
           {"sum %5 {2, 1} : f32[N,1]", "sum %5 {1, 1} : f32[1,3]"},
           {"slice %3 {0, 1, N, 0, 1, 2} : view f32[N,2] strides [3,1] offset 0",
            "slice %3 {N-1, -1, N, 0, 1, 2} : view f32[N,2] strides [-3,1] offset LAST"}}) {
    std::string text = absl::StrReplaceAll(AbslView(kText), {{AbslView(from), AbslView(to)}});
    text = absl::StrReplaceAll(text, {{"LAST", "297"}, {"N-1", "99"}, {"N", "100"}});
    const auto graph = Parse(text);
    ASSERT_TRUE(graph.ok()) << graph.status() << text;
    EXPECT_FALSE(MayBeScalars(*graph, LoopOf(*graph))) << text;
  }
}

// --- what can be written out

// h[t] = (A h[t - 1] + reversed x[t]) * number, over n elements.
std::string TextOf(int n) {
  return absl::StrReplaceAll(R"(
graph (f32[n], f32[9,n], f32[n,n], scalar f32) {
  %4 = loop %1, %2, %3, %0 : bool[0] times 9 (slide 0 by n, same, same, state 0) graph (f32[n], f32[n,n], scalar f32, f32[n]) {
    %4 = reshape %3 {n, 1} : view f32[n,1] strides [1,0] offset 0
    %5 = matmul %1, %4 : f32[n,1]
    %6 = reshape %5 {n} : view f32[n] strides [1] offset 0
    %7 = slice %0 {last, -1, n} : view f32[n] strides [-1] offset last
    %8 = add %6, %7 : f32[n]
    %9 = multiply %8, %2 : f32[n]
    return %9
  }
  %5 = every %4 {0} : f32[9,n]
  return %5
})",
                             {{"[n", StrCat("[", n)},
                              {"n]", StrCat(n, "]")},
                              {"{n", StrCat("{", n)},
                              {"n}", StrCat(n, "}")},
                              {"by n", StrCat("by ", n)},
                              {"[9,n", StrCat("[9,", n)},
                              {"last", StrCat(n - 1)}});
}

std::string With(std::string_view from, std::string_view to) {
  const std::string text = TextOf(3);
  EXPECT_NE(text.find(from), std::string::npos) << from;
  return absl::StrReplaceAll(text, {{AbslView(from), AbslView(to)}});
}

TEST(ScalarLoop, WhatIsSmallIsWrittenOut) {
  Rng rng(1);
  const auto parsed = Parse(TextOf(3));
  ASSERT_TRUE(parsed.ok()) << parsed.status() << TextOf(3);
  Graph graph = *parsed;
  EXPECT_TRUE(MayBeScalars(graph, LoopOf(graph)));
  EXPECT_TRUE(IsWorthScalars(graph, LoopOf(graph)));
  WriteOut(&graph);
  EXPECT_TRUE(graph.nodes[LoopOf(graph)].loop->scalars) << Print(graph);
  EXPECT_NE(Print(graph).find("times 9 as scalars ("), std::string::npos);
  EXPECT_EQ(graph.nodes, Parse(Print(graph))->nodes);
  std::string dump;
  ExpectSameRun(rng, graph, &dump);
  EXPECT_NE(dump.find("moves vec none"), std::string::npos) << dump;
}

TEST(ScalarLoop, WhatIsNotIsNot) {
  // Large arrays, no state, values that lie anywhere, products that are rounded at their end.
  for (const std::string& text :
       {TextOf(300), With("state 0", "same"), With("f32", "f16"),
        With("%9 = multiply %8, %2 : f32[3]", "%9 = sort %8 {0} : f32[3]")}) {
    const auto graph = Parse(text);
    ASSERT_TRUE(graph.ok()) << graph.status() << text;
    EXPECT_FALSE(MayBeScalars(*graph, LoopOf(*graph))) << text;
    Graph same = *graph;
    WriteOut(&same);
    EXPECT_EQ(Print(same), Print(*graph));
  }
  const auto marked = Parse(With("state 0", "same"));
  Graph graph = *marked;
  Loop loop = *graph.nodes[LoopOf(graph)].loop;
  loop.scalars = true;
  graph.nodes[LoopOf(graph)].loop = LoopRef(new Loop(loop));
  EXPECT_EQ(Verify(graph).message(), "[graph] node %4: the loop cannot be written out as scalars.");
}

TEST(ScalarLoop, LargeBodiesStaySteps) {
  // Vectors take less time than as many scalars.
  const auto graph = Parse(TextOf(24));
  ASSERT_TRUE(graph.ok()) << graph.status();
  EXPECT_TRUE(MayBeScalars(*graph, LoopOf(*graph)));
  EXPECT_FALSE(IsWorthScalars(*graph, LoopOf(*graph)));
}

}  // namespace
}  // namespace frazil::jit
