// Graphs: text round trips, what Verify refuses, identity.
#include "jit/graph/graph.h"

#include "gtest/gtest.h"

namespace frazil::jit {
namespace {

constexpr const char* kExample = R"(graph (f32[64,10], f32[10], scalar f32) {
  %3 = add %0, %1 : f32[64,10]  # train.py:12
  %4 = multiply %3, %2 : f32[64,10]  # train.py:13
  %5 = sum %4 {2, 0} : f32[64]  # train.py:12
  %6 = permute_dims %0 {1, 0} : view f32[10,64] strides [1,10] offset 0
  %7 = slice %6 {1, 2, 4, 63, -1, 64} : view f32[4,64] strides [2,-10] offset 631
  return %5, %4, %0, %7, %5
}
)";

TEST(GraphText, RoundTrip) {
  const char* texts[] = {
      kExample,
      "graph () {\n  %0 = iota {4, 12} : i64[12]\n  return %0\n}\n",
      "graph (f32[2]) {\n  return\n}\n",
      "graph (f16[3,4] strides [1,3], i64[5], f16[5,4], bool[], scalar f64) {\n"
      "  %5 = put %0, %1, %2 {0, 1, 1} : f16[3,4]\n  return %5, %3\n}\n",
  };
  for (const std::string text : texts) {
    const auto graph = Parse(text);
    ASSERT_TRUE(graph.ok()) << graph.status();
    EXPECT_EQ(Print(*graph), text);
    const auto again = Parse(Print(*graph));
    ASSERT_TRUE(again.ok());
    EXPECT_TRUE(again->nodes == graph->nodes && again->outputs == graph->outputs &&
                again->origins == graph->origins);
    EXPECT_EQ(ContentKey(*graph), ContentKey(*again));
  }
}

TEST(GraphText, AnyNames) {
  const auto graph =
      Parse("graph (f32[4]) {\n %sum = add %0, %0 : f32[4] %e = exp %sum : f32[4]\nreturn %e }");
  ASSERT_TRUE(graph.ok()) << graph.status();
  EXPECT_EQ(
      Print(*graph),
      "graph (f32[4]) {\n  %1 = add %0, %0 : f32[4]\n  %2 = exp %1 : f32[4]\n  return %2\n}\n");
}

TEST(GraphText, Errors) {
  const std::pair<const char*, const char*> cases[] = {
      {"", "'graph' is missing"},
      {"graph (f32[4]) {\n %1 = expo %0 : f32[4]\n return %1\n}", "line 2: 'expo' is no op"},
      {"graph (f32[4]) {\n %1 = exp %7 : f32[4]\n return %1\n}",
       "line 2: '%7' names no earlier value"},
      {"graph (f32[4]) {\n %1 = exp %1 : f32[4]\n return %1\n}", "'%1' uses itself"},
      {"graph (f32[4]) {\n %0 = exp %0 : f32[4]\n return %0\n}", "'%0' is defined twice"},
      {"graph (f33[4]) {\n return %0\n}", "line 1: 'f33' is no dtype"},
      {"graph (f32[4]) {\n return %0\n} x", "line 3: 'x' follows the graph"},
      {"graph (f32[4]) {\n %1 = exp %0 : f32[4]", "'return' is missing"},
      {"graph (f32[4,x]) {\n return %0\n}", "'x' is no integer"},
      {"graph (f32[4]) {\n return %0, %9\n}", "'%9' names no earlier value"},
      {"graph (f32[4]) {\n return %0", "'}' is missing at the end"},
      {"graph (f32[4] strides [1,2]) {\n return %0\n}", "2 strides for 1 axes"},
      {"graph (f32[-4]) {\n return %0\n}", "negative extent -4"},
      {"graph (f32[4]@tpu) {\n return %0\n}", "tpu"},
  };
  for (const auto& [text, message] : cases) {
    const auto graph = Parse(text);
    ASSERT_FALSE(graph.ok()) << text;
    EXPECT_NE(std::string(graph.status().message()).find(message), std::string::npos)
        << graph.status();
  }
}

TEST(GraphVerify, AttributesFromOutside) {
  const char* nodes[] = {
      "sum %0 : f32[]",
      "sum %0 {4, 0} : f32[]",
      "sum %0 {-1, 0} : f32[]",
      "astype %0 {99} : f32[2,3]",
      "slice %0 {0} : f32[2]",
      "concat %0, %0 {2} : f32[2]",
      "pad %0, %1 {1} : f32[2,3]",
      "iota {4} : i64[1]",
      "exp %0 {1} : f32[2,3]",
      "permute_dims %0 {0, 0} : view f32[2,2]",
      "iota {4, -3} : i64[]",
      "add %0 : f32[2,3]",
      "take %0, %2 {5} : f32[1]",
      "reshape %0 {-1} : view f32[6]",
      "concat {0} : f32[1]",
  };
  for (const std::string node : nodes) {
    const auto graph =
        Parse("graph (f32[2,3], scalar f32, i64[1]) {\n %3 = " + node + "\n return %3\n}");
    EXPECT_FALSE(graph.ok()) << node;
  }
}

// Each way of breaking a graph that a pass could come up with.
TEST(GraphVerify, Errors) {
  const auto good = Parse(kExample);
  ASSERT_TRUE(good.ok());
  ASSERT_TRUE(Verify(*good).ok());
  const std::pair<void (*)(Graph*), const char*> cases[] = {
      {[](Graph* g) { g->nodes[3].operands[0] = 3; }, "operand %3 is not an earlier node"},
      {[](Graph* g) { g->nodes[3].operands[0] = -1; }, "operand %-1"},
      {[](Graph* g) { g->nodes[3].operands.pop_back(); }, "add takes 2 operands, it has 1"},
      {[](Graph* g) { g->nodes[3].dtype = DType::kF64; }, "dtype is f64, inference says f32"},
      {[](Graph* g) {
         g->nodes[3].layout = Dense({10, 64});
       },
       "inference says [64,10]"},
      {[](Graph* g) { g->nodes[6].offset = 1; }, "offset 1, inference says view at offset 0"},
      {[](Graph* g) { g->nodes[6].view = false; }, "no view at offset 0"},
      {[](Graph* g) { g->nodes[3].input = true; }, "inputs are the first nodes"},
      {[](Graph* g) { g->nodes[1].input = false; }, "inputs are the first nodes"},
      {[](Graph* g) { g->num_inputs = 99; }, "99 inputs among 8 nodes"},
      {[](Graph* g) { g->outputs[0] = 8; }, "output %8 is none of 8 nodes"},
      {[](Graph* g) { g->nodes[0].immediate = true; }, "a scalar has rank 0"},
      {[](Graph* g) { g->nodes[3].immediate = true; }, "cannot be a scalar"},
      {[](Graph* g) { g->nodes[3].origin = 5; }, "origin 5 is not one of 2"},
      {[](Graph* g) { g->nodes[3].device = Device(DeviceKind::kNpu, 0); }, "device is npu"},
      {[](Graph* g) {
         g->nodes[4].operands[1] = 0;
         g->nodes[0].dtype = DType::kF64;
       },
       "inference refuses it"},
  };
  for (const auto& [change, message] : cases) {
    Graph graph = *good;
    change(&graph);
    const Status status = Verify(graph);
    EXPECT_NE(std::string(status.message()).find(message), std::string::npos)
        << message << " | " << status;
  }
}

TEST(Graph, ReshapeThatMustCopyIsTwoNodes) {
  Graph graph;
  const int32_t x = graph.AddInput(DType::kF32, Device(), Intern({3, 4}, {1, 3}), false);
  const auto y = graph.AddOp(OpId::k_reshape, {x}, {12});
  ASSERT_TRUE(y.ok());
  graph.outputs = {*y};
  EXPECT_TRUE(Verify(graph).ok());
  EXPECT_EQ(graph.nodes[*y].operands[0], 1);
  EXPECT_EQ(graph.nodes[1].op, OpId::k_copy);
  EXPECT_EQ(BaseOf(graph, *y), 1);
}

TEST(Graph, ErrorsOfOpsAreTheUsers) {
  Graph graph;
  const int32_t x = graph.AddInput(DType::kF32, Device(), Dense({3}), false);
  const int32_t y = graph.AddInput(DType::kF32, Device(), Dense({4}), false);
  const auto z = graph.AddOp(OpId::k_add, {x, y}, {});
  ASSERT_FALSE(z.ok());
  EXPECT_EQ(KindOf(z.status()), ErrorKind::kValue);
  EXPECT_EQ(graph.nodes.size(), 2u);
}

TEST(Graph, ContentKeyLeavesOutOrigins) {
  Graph a = *Parse(kExample);
  Graph b = a;
  for (Node& node : b.nodes) node.origin = -1;
  b.origins.clear();
  EXPECT_EQ(ContentKey(a), ContentKey(b));
  b.nodes[5].attrs[1] = 1;
  EXPECT_NE(ContentKey(a), ContentKey(b));
  b = a;
  b.outputs.pop_back();
  EXPECT_NE(ContentKey(a), ContentKey(b));
}

TEST(Graph, OffsetsOfViewsAddUp) {
  const Graph graph = *Parse(kExample);
  EXPECT_EQ(BaseOf(graph, 7), 0);
  EXPECT_EQ(OffsetInBase(graph, 7), 631 * 4);
}

}  // namespace
}  // namespace frazil::jit
