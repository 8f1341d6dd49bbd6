// Graphs and groupings as bytes: what was packed is unpacked, and bytes that were not are refused
// or make a graph that is in order.
#include "jit/graph/pack.h"

#include <filesystem>
#include <fstream>

#include "absl/algorithm/container.h"
#include "core/str.h"
#include "gtest/gtest.h"
#include "jit/graph/passes/passes.h"
#include "tests/jit/graph_gen.h"

namespace frazil::jit {
namespace {

std::optional<Graph> Again(const Graph& graph) {
  const std::string bytes = Pack(graph) + "rest";
  std::string_view left = bytes;
  std::optional<Graph> again = UnpackGraph(&left, graph.origins);
  EXPECT_EQ(left, again ? "rest" : bytes);
  return again;
}

void ExpectSame(const Graph& graph) {
  const std::optional<Graph> again = Again(graph);
  ASSERT_TRUE(again) << Print(graph);
  EXPECT_EQ(again->nodes, graph.nodes) << Print(graph);
  EXPECT_EQ(again->num_inputs, graph.num_inputs);
  EXPECT_EQ(again->outputs, graph.outputs);
}

void ExpectSameGroups(const Graph& graph) {
  const Grouping grouping = Fuse(graph);
  const std::string bytes = Pack(grouping);
  std::string_view left = bytes;
  const std::optional<Grouping> again = UnpackGrouping(&left, graph);
  ASSERT_TRUE(again);
  EXPECT_TRUE(left.empty());
  ASSERT_EQ(again->groups.size(), grouping.groups.size());
  for (size_t g = 0; g < grouping.groups.size(); ++g) {
    EXPECT_EQ(again->groups[g].kind, grouping.groups[g].kind);
    EXPECT_EQ(again->groups[g].nodes, grouping.groups[g].nodes);
    EXPECT_EQ(again->groups[g].outputs, grouping.groups[g].outputs);
  }
}

TEST(Pack, RandomGraphs) {
  Rng rng(1);
  for (int i = 0; i < 300; ++i) {
    Graph graph = RandomGraph(rng, 3 + i % 40);
    for (int n = 0; n < 5; ++n) graph.origins.push_back(StrCat("train.py:", n));
    for (Node& node : graph.nodes) node.origin = int32_t(Below(rng, 6)) - 1;
    ExpectSame(graph);
    ExpectSameGroups(graph);
  }
}

// Loops, views with strides, every pass's results.
std::vector<Graph> GoldenGraphs() {
  std::vector<Graph> graphs;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(FRAZIL_JIT_GOLDENS)) {
    if (entry.path().extension() != ".gir") continue;
    std::ifstream file(entry.path());
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    const size_t divider = text.find("---\n");
    for (const std::string& part :
         {text.substr(0, divider), divider == std::string::npos ? "" : text.substr(divider + 4)}) {
      auto graph = Parse(part);
      if (graph.ok()) graphs.push_back(*std::move(graph));
    }
  }
  return graphs;
}

TEST(Pack, GoldenGraphs) {
  const std::vector<Graph> graphs = GoldenGraphs();
  for (const Graph& graph : graphs) {
    ExpectSame(graph);
    ExpectSameGroups(graph);
  }
  EXPECT_GT(graphs.size(), 10u);
  EXPECT_GT(absl::c_count_if(graphs, HasLoops), 0);
}

TEST(Pack, DifferentGraphsAreDifferentBytes) {
  const auto bytes = [](const char* text) { return Pack(*Parse(text)); };
  const std::string one = bytes("graph (f32[4], f32[4]) { %2 = add %0, %1 : f32[4] return %2 }");
  for (const char* other : {"graph (f32[4], f32[4]) { %2 = add %1, %0 : f32[4] return %2 }",
                            "graph (f32[4], f32[4]) { %2 = subtract %0, %1 : f32[4] return %2 }",
                            "graph (f32[5], f32[5]) { %2 = add %0, %1 : f32[5] return %2 }",
                            "graph (f64[4], f64[4]) { %2 = add %0, %1 : f64[4] return %2 }",
                            "graph (f32[4] strides [2], f32[4]) { %2 = add %0, %1 : f32[4] "
                            "return %2 }",
                            "graph (f32[4], f32[4]) { %2 = add %0, %1 : f32[4] return %2, %2 }"}) {
    ASSERT_TRUE(Parse(other).ok()) << other << Parse(other).status();
    EXPECT_NE(bytes(other), one) << other;
  }
}

void ExpectInRange(const Graph& graph, size_t origins) {
  const auto nodes = int32_t(graph.nodes.size());
  EXPECT_LE(graph.num_inputs, nodes);
  for (int32_t id = 0; id < nodes; ++id) {
    const Node& node = graph.nodes[id];
    for (const int32_t operand : node.operands) EXPECT_TRUE(operand >= 0 && operand < id);
    EXPECT_TRUE(node.layout.get());
    EXPECT_LT(int(node.op), kNumOps);
    EXPECT_LT(int(node.dtype), kNumDTypes);
    EXPECT_TRUE(node.origin >= -1 && node.origin < int64_t(origins));
    if (!node.loop) continue;
    ExpectInRange(node.loop->body, node.loop->body.origins.size());
    for (const Loop::Source& s : node.loop->sources) EXPECT_LE(s.kind, Loop::Source::Kind::kState);
  }
  for (const int32_t id : graph.outputs) EXPECT_TRUE(id >= 0 && id < nodes);
}

// Some bytes changed, or the end cut off.
std::string Damage(std::string bytes, Rng& rng, int i) {
  if (i % 3 == 0) {
    bytes.resize(size_t(Below(rng, int64_t(bytes.size()))));
  } else {
    for (int n = 0; n < 1 + i % 4; ++n)
      bytes[size_t(Below(rng, int64_t(bytes.size())))] = char(rng());
  }
  return bytes;
}

TEST(Pack, OtherBytesAreRefusedOrInRange) {
  Rng rng(2);
  int refused = 0;
  for (int i = 0; i < 3000; ++i) {
    const Graph graph = RandomGraph(rng, 8);
    const std::string bytes = Damage(Pack(graph), rng, i);
    std::string_view left = bytes;
    const auto got = UnpackGraph(&left, {"a", "b"});
    refused += !got;
    if (got) ExpectInRange(*got, 2);
    std::string groups = Pack(Fuse(graph));
    groups[size_t(Below(rng, int64_t(groups.size())))] = char(rng());
    left = groups;
    if (const auto grouping = UnpackGrouping(&left, graph)) {
      for (const Group& group : grouping->groups) {
        EXPECT_FALSE(group.nodes.empty());
        for (const int32_t id : group.nodes)
          EXPECT_TRUE(id >= 0 && id < int32_t(graph.nodes.size()));
      }
    }
  }
  EXPECT_GT(refused, 1000);
}

// Whoever runs a loop relies on all that Verify asks of it.
TEST(Pack, DamagedLoopsAreRefusedOrInOrder) {
  std::vector<Graph> graphs = GoldenGraphs();
  std::erase_if(graphs, [](const Graph& graph) { return !HasLoops(graph); });
  Rng rng(3);
  int taken = 0, refused = 0;
  for (int i = 0; i < 4000; ++i) {
    const Graph& graph = graphs[size_t(i) % graphs.size()];
    const std::string bytes = Damage(Pack(graph), rng, i / int(graphs.size()));
    std::string_view left = bytes;
    std::optional<Graph> got = UnpackGraph(&left, graph.origins);
    refused += !got;
    if (!got) continue;
    ++taken;
    ExpectInRange(*got, graph.origins.size());
    got->origins = graph.origins;
    if (!HasLoops(*got)) continue;
    EXPECT_TRUE(Verify(*got).ok()) << Verify(*got) << "\n" << Print(*got);
    if (HasFailure()) return;
  }
  EXPECT_GT(refused, 1000);
  EXPECT_GT(taken, 10);
}

}  // namespace
}  // namespace frazil::jit
