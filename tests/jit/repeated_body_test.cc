// Bodies that a graph repeats: which are found, what their operands are, and where they end.
#include "jit/graph/passes/repeated_body.h"

#include "tests/jit/plan_testing.h"

namespace frazil::jit {
namespace {

using Kind = BodySource::Kind;

// A graph that grows op by op: inputs 0 (the state's first value) and 1, then `numbers`, each of
// them a number or an array like the others.
class Grown {
 public:
  explicit Grown(int numbers = 0, bool immediate = true, Device device = Device()) {
    for (int i = 0; i < 2; ++i) graph.AddInput(DType::kF32, device, Dense({8, 8}), false);
    for (int i = 0; i < numbers; ++i) {
      graph.AddInput(DType::kF32, device, immediate ? Scalar0d() : Dense({8, 8}), immediate);
    }
  }
  int32_t Add(OpId op, std::initializer_list<int32_t> operands, AttrSpan attrs = {}) {
    auto id = graph.AddOp(op, absl::MakeConstSpan(operands.begin(), operands.size()), attrs);
    EXPECT_TRUE(id.ok()) << id.status();
    return *id;
  }
  // `times` iterations of x -> tanh(x + input 1), from `x` on.
  int32_t AddLoop(int times, int32_t x) {
    for (int t = 0; t < times; ++t) x = Add(OpId::k_tanh, {Add(OpId::k_add, {x, 1})});
    return x;
  }

  Graph graph;
};

std::optional<RepeatedBody> Find(const Graph& graph, LoopOf what, int32_t at = 0) {
  const auto good = [](const RepeatedBody&) { return true; };
  return BodyFinder(graph, what, good).Find(at);
}

TEST(BodyFinder, ABodyItsStateAndWhatStaysTheSame) {
  Grown g;
  g.graph.outputs = {g.AddLoop(40, 0)};
  const auto found = Find(g.graph, LoopOf::kKernel);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->run.first, 2);
  EXPECT_EQ(found->run.length, 2);
  EXPECT_EQ(found->run.times, 40);
  EXPECT_EQ(found->state, std::vector<int32_t>({1}));
  EXPECT_EQ(found->inits, std::vector<int32_t>({0}));
  ASSERT_EQ(found->sources.size(), 2u);
  EXPECT_EQ(found->sources[0][0].kind, Kind::kState);
  EXPECT_EQ(found->sources[0][1].kind, Kind::kSame);
  EXPECT_EQ(found->sources[0][1].id, 1);
  EXPECT_EQ(found->sources[1][0].kind, Kind::kBody);
  EXPECT_EQ(found->sources[1][0].id, 0);
  EXPECT_TRUE(found->each.empty());
}

TEST(BodyFinder, FewNodesAreNoLoop) {
  Grown few, enough;
  few.graph.outputs = {few.AddLoop(32, 0)};
  enough.graph.outputs = {enough.AddLoop(33, 0)};
  EXPECT_FALSE(Find(few.graph, LoopOf::kKernel));
  EXPECT_TRUE(Find(enough.graph, LoopOf::kKernel));
}

// `times` iterations of a body of `length` calls, which has no shorter one in it.
Graph LongBody(int times, int length) {
  Grown g;
  int32_t x = 0;
  for (int t = 0; t < times; ++t) {
    Rng rng(1);
    for (int i = 0; i < length; ++i)
      x = Below(rng, 2) ? g.Add(OpId::k_tanh, {x}) : g.Add(OpId::k_add, {x, 1});
  }
  g.graph.outputs = {x};
  return g.graph;
}

TEST(BodyFinder, FewIterationsAreNoLoop) {
  EXPECT_FALSE(Find(LongBody(3, 40), LoopOf::kSteps));
  EXPECT_EQ(Find(LongBody(5, 40), LoopOf::kSteps)->run.length, 40);
}

TEST(BodyFinder, LongBodiesAreNotLookedFor) {
  EXPECT_TRUE(Find(LongBody(6, 300), LoopOf::kSteps));
  EXPECT_FALSE(Find(LongBody(6, 301), LoopOf::kSteps));
}

TEST(BodyFinder, ItBeginsBehindWhatComesBefore) {
  Grown g;
  int32_t x = g.Add(OpId::k_exp, {0});
  x = g.Add(OpId::k_negative, {x});
  g.graph.outputs = {g.AddLoop(40, x)};
  EXPECT_EQ(Find(g.graph, LoopOf::kKernel)->run.first, 4);
  EXPECT_EQ(Find(g.graph, LoopOf::kKernel)->inits, std::vector<int32_t>({3}));
}

TEST(BodyFinder, TheSearchBeginsWhereItIsTold) {
  Grown g;
  const int32_t first = g.AddLoop(40, 0);
  g.graph.outputs = {g.AddLoop(40, g.Add(OpId::k_exp, {first}))};
  EXPECT_EQ(Find(g.graph, LoopOf::kKernel)->run.first, 2);
  EXPECT_EQ(Find(g.graph, LoopOf::kKernel, first + 1)->run.first, first + 2);
}

TEST(BodyFinder, NumbersOfTheIterationsAreAList) {
  Grown g(40);
  int32_t x = 0;
  for (int t = 0; t < 40; ++t) x = g.Add(OpId::k_tanh, {g.Add(OpId::k_multiply, {x, 2 + t})});
  g.graph.outputs = {x};
  const auto found = Find(g.graph, LoopOf::kKernel);
  ASSERT_TRUE(found);
  ASSERT_EQ(found->each.size(), 1u);
  EXPECT_EQ(found->each[0].size(), 40u);
  EXPECT_EQ(found->each[0][7], 9);
  EXPECT_EQ(found->sources[0][1].kind, Kind::kEach);
}

TEST(BodyFinder, ArraysOfTheIterationsAreForLoopsOfSteps) {
  Grown g(40, /*immediate=*/false);
  int32_t x = 0;
  for (int t = 0; t < 40; ++t) x = g.Add(OpId::k_tanh, {g.Add(OpId::k_multiply, {x, 2 + t})});
  g.graph.outputs = {x};
  EXPECT_FALSE(Find(g.graph, LoopOf::kKernel));
  EXPECT_TRUE(Find(g.graph, LoopOf::kSteps));
}

TEST(BodyFinder, ProductsAndReductionsAreForLoopsOfSteps) {
  Grown g;
  int32_t x = 0;
  for (int t = 0; t < 40; ++t) x = g.Add(OpId::k_tanh, {g.Add(OpId::k_matmul, {x, 1})});
  g.graph.outputs = {x};
  EXPECT_FALSE(Find(g.graph, LoopOf::kKernel));
  const auto found = Find(g.graph, LoopOf::kSteps);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->run.times, 40);
}

TEST(BodyFinder, AKernelEndsWhereItsMiddleIsRead) {
  Grown g;
  const int32_t half = g.AddLoop(40, 0);
  g.graph.outputs = {g.AddLoop(40, half), half};
  EXPECT_EQ(Find(g.graph, LoopOf::kKernel)->run.times, 40);
  EXPECT_EQ(Find(g.graph, LoopOf::kSteps)->run.times, 80);
}

TEST(BodyFinder, AKernelHasNothingButStateThatIsReadOutside) {
  Grown g;
  const int32_t half = g.AddLoop(40, 0);
  g.graph.outputs = {g.AddLoop(40, half), half - 1};  // what was added, before tanh
  const auto found = Find(g.graph, LoopOf::kKernel);
  ASSERT_TRUE(found);
  // It may begin within the body, so that what is read is state.
  EXPECT_LE(found->run.end(), half + 1);
  const int32_t last = found->run.end() - 1;
  EXPECT_TRUE(last == half - 1 || found->run.end() <= half - 1);
}

TEST(BodyFinder, IterationsStayWhatTheyWere) {
  Grown g(1, /*immediate=*/false);
  int32_t x = g.AddLoop(40, 0);
  for (int t = 0; t < 40; ++t) x = g.Add(OpId::k_tanh, {g.Add(OpId::k_add, {x, 2})});
  g.graph.outputs = {x};
  const auto found = Find(g.graph, LoopOf::kKernel);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->run.times, 40) << "then another array is added";
}

TEST(BodyFinder, TheStateIsOfOneShape) {
  Grown g;
  const int32_t row = g.Add(OpId::k_sum, {0}, {1, 1});  // f32[1,8]
  g.graph.outputs = {g.AddLoop(40, row)};
  const auto found = Find(g.graph, LoopOf::kKernel);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->run.first, row + 3) << "the first iteration reads a row";
  EXPECT_EQ(found->run.times, 39);
}

TEST(BodyFinder, NothingOnOtherDevices) {
  Grown g(0, true, Device(DeviceKind::kNpu, 0));
  g.graph.outputs = {g.AddLoop(40, 0)};
  EXPECT_FALSE(Find(g.graph, LoopOf::kKernel));
  EXPECT_FALSE(Find(g.graph, LoopOf::kSteps));
}

TEST(BodyFinder, WhatIsRepeatedWithoutStateIsNoLoop) {
  Grown g(80, /*immediate=*/false);
  for (int t = 0; t < 80; ++t) g.graph.outputs.push_back(g.Add(OpId::k_tanh, {2 + t}));
  EXPECT_FALSE(Find(g.graph, LoopOf::kSteps));
}

TEST(BodyFinder, WhoeverAsksMayRefuse) {
  Grown g;
  g.graph.outputs = {g.AddLoop(40, 0)};
  int asked = 0;
  const auto never = [&](const RepeatedBody&) { return ++asked, false; };
  EXPECT_FALSE(BodyFinder(g.graph, LoopOf::kKernel, never).Find(0));
  EXPECT_GT(asked, 0);
}

}  // namespace
}  // namespace frazil::jit
