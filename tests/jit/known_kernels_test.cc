// What is known of sets of nodes: what Analyse says of each, and once for those that are equal.
#include "jit/graph/known_kernels.h"

#include "gtest/gtest.h"
#include "jit/graph/groups.h"
#include "jit/graph/passes/passes.h"
#include "jit/graph/space.h"
#include "tests/jit/graph_gen.h"

namespace frazil::jit {
namespace {

// Consecutive computing nodes, and those of them that are read elsewhere.
struct Set {
  std::vector<int32_t> nodes, outputs;
};
Set RandomSet(Rng& rng, const Graph& graph) {
  const auto count = static_cast<int32_t>(graph.nodes.size());
  Set set;
  const int32_t begin = graph.num_inputs + int32_t(Below(rng, count - graph.num_inputs));
  const int32_t end = std::min<int32_t>(count, begin + 1 + int32_t(Below(rng, 6)));
  for (int32_t id = begin; id < end; ++id) {
    if (graph.nodes[id].view || IsLibrary(graph.nodes[id].op)) continue;
    set.nodes.push_back(id);
    if (Below(rng, 2) == 0 || id + 1 == end) set.outputs.push_back(id);
  }
  return set;
}

TEST(KnownKernels, AreWhatAnalyseSays) {
  KnownKernels known;
  int kernels = 0, asked = 0;
  for (uint64_t seed = 0; seed < 400; ++seed) {
    Rng rng(seed % 100);  // many sets come again
    const Graph graph = RandomGraph(rng, 10 + int(Below(rng, 30)));
    for (int i = 0; i < 20; ++i) {
      const Set set = RandomSet(rng, graph);
      if (set.nodes.empty() || set.outputs.empty()) continue;
      ++asked;
      const std::optional<Space> space = Analyse(graph, set.nodes, set.outputs);
      const std::optional<KernelFacts> facts = known.Find(graph, set.nodes, set.outputs);
      ASSERT_EQ(space.has_value(), facts.has_value()) << Print(graph);
      if (!space) continue;
      ++kernels;
      EXPECT_EQ(facts->compute, space->compute) << Print(graph);
      EXPECT_EQ(facts->bytes, space->bytes);
      EXPECT_EQ(facts->shares, space->shares);
      EXPECT_EQ(facts->repeats, space->repeats);
      EXPECT_EQ(facts->Time(), space->Time());
      if (set.nodes.size() > 1) {
        EXPECT_EQ(WithViews(graph, set.nodes), space->nodes) << Print(graph);
      }
    }
  }
  EXPECT_GT(kernels, 1000);
  EXPECT_LT(static_cast<int>(known.size()), asked / 3);
}

// A residual layer norm and a product, with weights of their own.
Graph Layers(int count) {
  Graph graph;
  graph.AddInput(DType::kF32, Device(), Dense({32, 16}), false);
  for (int i = 0; i < count; ++i) graph.AddInput(DType::kF32, Device(), Dense({16, 16}), false);
  const auto add = [&](OpId op, std::initializer_list<int32_t> operands, const Attrs& attrs = {}) {
    return *graph.AddOp(op, {operands.begin(), operands.size()}, attrs);
  };
  int32_t x = 0;
  for (int i = 0; i < count; ++i) {
    const int32_t sum = add(OpId::k_sum, {x}, {2, 1});
    const int32_t apart = add(OpId::k_subtract, {x, sum});
    const int32_t squares = add(OpId::k_sum, {add(OpId::k_multiply, {apart, apart})}, {2, 1});
    const int32_t normal = add(OpId::k_multiply, {apart, add(OpId::k_exp, {squares})});
    x = add(OpId::k_add, {x, add(OpId::k_matmul, {normal, 1 + i})});
  }
  graph.outputs = {x};
  return graph;
}

TEST(KnownKernels, LayersAreAnalysedOnce) {
  const auto analysed = [](int layers) {
    KnownKernels known;
    const Grouping grouping = Fuse(Layers(layers), true, {}, &known);
    EXPECT_EQ(grouping.groups.size(), size_t(2 * layers + 1));
    return known.size();
  };
  EXPECT_GT(analysed(3), 5u);
  EXPECT_EQ(analysed(3), analysed(60));
}

}  // namespace
}  // namespace frazil::jit
