// What the roll pass rolls, and what it leaves as it is.
#include <algorithm>

#include "gtest/gtest.h"
#include "jit/graph/groups.h"
#include "jit/graph/loop_kernel.h"
#include "jit/graph/passes/passes.h"
#include "jit/graph/scalar_loop.h"
#include "tests/jit/graph_gen.h"

namespace frazil::jit {
namespace {

// A graph that grows op by op over matrices of 8 x 8.
struct Grown {
  explicit Grown(int arrays, int numbers = 0) {
    for (int i = 0; i < arrays; ++i) graph.AddInput(DType::kF32, Device(), Dense({8, 8}), false);
    for (int i = 0; i < numbers; ++i) graph.AddInput(DType::kF32, Device(), Dense({}), true);
  }
  int32_t Add(OpId op, std::initializer_list<int32_t> operands) {
    const auto id = graph.AddOp(op, {operands.begin(), operands.size()}, {});
    EXPECT_TRUE(id.ok()) << id.status();
    return *id;
  }
  Graph graph;
};

// Rolled, with the same bits.
Graph Rolled(const Graph& graph) {
  Graph rolled = graph;
  Roll(&rolled);
  EXPECT_TRUE(Verify(rolled).ok()) << Verify(rolled) << Print(rolled);
  Rng rng(1);
  const std::vector<ValueRef> inputs = RandomInputs(rng, graph);
  const auto want = RunOpByOp(graph, inputs), got = RunOpByOp(rolled, inputs);
  EXPECT_TRUE(want.ok() && got.ok());
  for (size_t i = 0; i < want->size(); ++i)
    EXPECT_EQ(Differences(*(*got)[i], *(*want)[i]), "") << Print(rolled);
  return rolled;
}

const Loop* LoopOf(const Graph& graph) {
  for (const Node& node : graph.nodes) {
    if (node.loop) return node.loop.get();
  }
  return nullptr;
}

TEST(Roll, AListThatABodyReadsTwiceIsOneInput) {
  Grown g(1, 40);
  int32_t x = 0;
  for (int t = 0; t < 40; ++t) x = g.Add(OpId::k_add, {g.Add(OpId::k_multiply, {x, 1 + t}), 1 + t});
  g.graph.outputs = {x};
  const Graph rolled = Rolled(g.graph);
  ASSERT_TRUE(LoopOf(rolled));
  EXPECT_EQ(LoopOf(rolled)->sources.size(), 2u) << Print(rolled);
}

TEST(Roll, ABodyTooLargeForAKernelStaysAsItIs) {
  for (const int length : {20, 200}) {
    Grown g(1);
    int32_t x = 0;
    for (int t = 0; t < 6; ++t) {
      Rng rng(1);  // no shorter body within
      for (int i = 0; i < length; ++i) x = g.Add(Below(rng, 2) ? OpId::k_tanh : OpId::k_sin, {x});
      x = g.Add(OpId::k_exp, {x});
    }
    g.graph.outputs = {x};
    EXPECT_EQ(HasLoops(Rolled(g.graph)), length == 20);
  }
}

// Backwards over the rows of an array, the last iteration reading another one: as the pass back over
// a loop reads the state before it. The loop ends where the array does.
TEST(Roll, ALoopEndsWhereWhatItSlidesThroughDoes) {
  for (const int rows : {6, 40}) {
    Graph graph;
    graph.AddInput(DType::kF32, Device(), Dense({rows, 3}), false);
    for (int i = 0; i < 2; ++i) graph.AddInput(DType::kF32, Device(), Dense({3}), false);
    const auto add = [&](OpId op, std::initializer_list<int32_t> operands, const Attrs& attrs) {
      const auto id = graph.AddOp(op, {operands.begin(), operands.size()}, attrs);
      EXPECT_TRUE(id.ok()) << id.status();
      return *id;
    };
    int32_t x = 1;
    for (int t = rows; t >= 0; --t) {
      int32_t row = 2;
      if (t > 0) {
        row = add(OpId::k_slice, {0}, {t - 1, 1, 1, 0, 1, 3});
        row = add(OpId::k_reshape, {row}, {3});
      }
      for (int i = 0; i < 12; ++i)
        x = i % 2 ? add(OpId::k_tanh, {x}, {}) : add(OpId::k_add, {x, row}, {});
    }
    graph.outputs = {x};
    const Graph rolled = Rolled(graph);
    if (rows == 6) continue;  // a list of arrays may as well be steps
    ASSERT_TRUE(LoopOf(rolled)) << Print(rolled);
    EXPECT_LE(LoopOf(rolled)->times, rows);
    const auto& sources = LoopOf(rolled)->sources;
    EXPECT_EQ(
        std::count_if(sources.begin(), sources.end(),
                      [](const Loop::Source& s) { return s.kind == Loop::Source::Kind::kSlide; }),
        1)
        << Print(rolled);
    EXPECT_TRUE(
        IsWorthScalars(rolled, int32_t(std::find_if(rolled.nodes.begin(), rolled.nodes.end(),
                                                    [](const Node& n) { return bool(n.loop); }) -
                                       rolled.nodes.begin())));
    // The rest is a loop of one iteration.
    Graph written = rolled;
    WriteOut(&written);
    EXPECT_TRUE(Verify(written).ok()) << Verify(written) << Print(written);
    EXPECT_LE(Fuse(written).groups.size(), 2u) << Print(written);
  }
}

// Iterations of a product with a loop behind it; what the inner iterations make is kept, or only
// where they end.
Graph Nested(bool kept, bool products) {
  Grown g(2);
  int32_t x = 0;
  std::vector<int32_t> every;
  for (int t = 0; t < 9; ++t) {
    x = g.Add(OpId::k_exp, {g.Add(OpId::k_matmul, {x, 1})});
    for (int i = 0; i < 40; ++i) {
      x = g.Add(OpId::k_tanh, {g.Add(products ? OpId::k_matmul : OpId::k_add, {x, 1})});
      if (kept) every.push_back(x);
    }
  }
  every.push_back(x);
  g.graph.outputs.assign(every.begin(), every.end());
  return g.graph;
}

TEST(Roll, LoopsStandInLoops) {
  for (const bool products : {false, true}) {
    const Graph rolled = Rolled(Nested(/*kept=*/false, products));
    ASSERT_TRUE(LoopOf(rolled));
    EXPECT_TRUE(HasLoops(LoopOf(rolled)->body)) << Print(rolled);
    EXPECT_LT(LoopOf(rolled)->body.nodes.size(), 12u);
  }
}

// Each output of a body has memory of its own, which a slice of what a loop within keeps has not.
TEST(Roll, ABodyWhoseOutputsAreSlicesStaysUnrolled) {
  const Graph rolled = Rolled(Nested(/*kept=*/true, /*products=*/true));
  ASSERT_TRUE(LoopOf(rolled));
  EXPECT_FALSE(HasLoops(LoopOf(rolled)->body)) << Print(rolled);
}

}  // namespace
}  // namespace frazil::jit
