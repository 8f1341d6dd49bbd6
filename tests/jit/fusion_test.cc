// What becomes one kernel and what does not, by the cost model: values that two kernels compute,
// groups that read the same data, what does not pay. Every plan's bits are those of running op by
// op, on one thread and on several.
#include "absl/strings/str_replace.h"
#include "core/threads/parallel.h"
#include "jit/graph/duplicate.h"
#include "jit/graph/order.h"
#include "jit/graph/recompute.h"
#include "jit/graph/space.h"
#include "tests/jit/plan_testing.h"

namespace frazil::jit {
namespace {

int Kernels(const Graph& graph, std::string_view passes = "") {
  const std::vector<ValueRef> inputs = [&] {
    Rng rng(11);
    return RandomInputs(rng, graph);
  }();
  // Indices, where there are any, are in range of every axis of the tests.
  for (int i = 0; i < graph.num_inputs; ++i) {
    if (graph.nodes[i].dtype != DType::kI64 || graph.nodes[i].immediate) continue;
    for (int64_t k = 0; k < graph.nodes[i].layout->size; ++k)
      reinterpret_cast<int64_t*>(inputs[i]->data)[k] = (k * 7) % 16;
  }
  const auto want = RunOpByOp(graph, inputs);
  EXPECT_TRUE(want.ok()) << want.status();
  const auto plan = MustCompile(graph, {}, passes);
  for (const int threads : {1, 2}) {
    SetNumThreads(threads);
    const auto got = MustRun(*plan, graph.outputs.size(), inputs);
    for (size_t i = 0; i < got.size(); ++i)
      EXPECT_EQ(Differences(*got[i], *(*want)[i]), "") << i << plan->Dump();
  }
  return plan->stats().kernels;
}

TEST(Siblings, ReductionsOverTheSameDataAreOnePass) {
  const Graph graph = MustParse(R"(graph (f32[300,700], scalar f32) {
    %2 = sum %0 {2, 0} : f32[300]
    %3 = divide %2, %1 : f32[300]
    %4 = max %0 {2, 0} : f32[300]
    %5 = min %0 {2, 0} : f32[300]
    %6 = multiply %0, %0 : f32[300,700]
    %7 = sum %6 {2, 0} : f32[300]
    return %3, %4, %5, %7
  })");
  EXPECT_EQ(Kernels(graph), 1);
}

TEST(Siblings, MeanVarianceAndMaximumAreOnePass) {
  for (const char* axes : {"{2, 1} : f32[300,1]", "{1, 1} : f32[1,700]"}) {
    const std::string text =
        absl::StrReplaceAll(R"(graph (f32[300,700], scalar f32) {
    %2 = sum %0 AXES
    %3 = divide %2, %1 : SHAPE
    %4 = subtract %0, %3 : f32[300,700]
    %5 = multiply %4, %4 : f32[300,700]
    %6 = sum %5 AXES
    %7 = max %0 AXES
    return %3, %6, %7
  })",
                            {{"AXES", axes}, {"SHAPE", std::string(axes).substr(9)}});
    EXPECT_EQ(Kernels(MustParse(text)), 1) << text;
  }
}

// Reductions that no row holds: each pass makes the parts of all of them.
TEST(Siblings, LongReductionsAreOnePass) {
  const Graph graph = MustParse(R"(graph (f32[100,1000]) {
    %1 = sum %0 {3, 0} : f32[]
    %2 = max %0 {3, 0} : f32[]
    return %1, %2
  })");
  EXPECT_EQ(Kernels(graph), 3);  // one pass; its parts of the sum; its parts of the maximum
}

TEST(Siblings, SeveralOutputsOfOneKernel) {
  const Graph graph = MustParse(R"(graph (f32[300,700], f32[300,700]) {
    %2 = add %0, %1 : f32[300,700]
    %3 = subtract %0, %1 : f32[300,700]
    %4 = multiply %0, %1 : f32[300,700]
    return %2, %3, %4
  })");
  EXPECT_EQ(Kernels(graph), 1);
  EXPECT_EQ(Kernels(graph, "-fuse"), 3);
}

TEST(Siblings, AnElementwiseResultAndARowsSum) {
  const Graph graph = MustParse(R"(graph (f32[300,700], f32[700]) {
    %2 = multiply %0, %1 : f32[300,700]
    %3 = exp %0 : f32[300,700]
    %4 = sum %3 {2, 0} : f32[300]
    return %2, %4
  })");
  EXPECT_EQ(Kernels(graph), 1);
}

// Sums of rows and sums of columns walk the data in different orders.
TEST(Siblings, OtherOrdersStayApart) {
  const Graph graph = MustParse(R"(graph (f32[300,700]) {
    %1 = sum %0 {1, 0} : f32[700]
    %2 = sum %0 {2, 0} : f32[300]
    return %1, %2
  })");
  EXPECT_EQ(Kernels(graph), 2);
}

// The same data read across is other data.
TEST(Siblings, ATransposedReaderStaysApart) {
  const Graph graph = MustParse(R"(graph (f32[300,300]) {
    %1 = permute_dims %0 {1, 0} : view f32[300,300] strides [1,300] offset 0
    %2 = exp %0 : f32[300,300]
    %3 = sum %2 {2, 0} : f32[300]
    %4 = sum %1 {2, 0} : f32[300]
    return %3, %4
  })");
  EXPECT_EQ(Kernels(graph), 2);
}

// One waits for the other through a product: no kernel spans it.
TEST(Siblings, WhoWaitsStaysApart) {
  const Graph graph = MustParse(R"(graph (f32[64,64]) {
    %1 = exp %0 : f32[64,64]
    %2 = matmul %1, %1 : f32[64,64]
    %3 = add %0, %2 : f32[64,64]
    return %3
  })");
  EXPECT_EQ(Kernels(graph), 2);
}

// Few columns are no work for several threads, whereas elements are.
TEST(Siblings, ThreadsAreNotGivenUp) {
  const Graph graph = MustParse(R"(graph (f32[4000,40]) {
    %1 = tanh %0 : f32[4000,40]
    %2 = sum %0 {1, 0} : f32[40]
    return %1, %2
  })");
  EXPECT_EQ(Kernels(graph), 2);
}

// A wide mask that sums of rows and of columns need is read narrow, twice, and never stored.
TEST(Duplicate, CastsForTwoKernels) {
  const Graph graph = MustParse(R"(graph (f16[300,700]) {
    %1 = astype %0 {12} : f64[300,700]
    %2 = sum %1 {1, 0} : f64[700]
    %3 = sum %1 {2, 0} : f64[300]
    return %2, %3
  })");
  EXPECT_EQ(Kernels(graph), 2);
  const auto plan = MustCompile(graph);
  EXPECT_EQ(plan->stats().arena_bytes, 0) << plan->Dump();
  const auto stored = MustCompile(graph, {}, "-duplicate");
  EXPECT_GE(stored->stats().arena_bytes, 300 * 700 * 8) << stored->Dump();
}

// What is dear is stored.
TEST(Duplicate, NotWhatIsDear) {
  const Graph graph = MustParse(R"(graph (f32[300,700]) {
    %1 = sin %0 : f32[300,700]
    %2 = sum %1 {1, 0} : f32[700]
    %3 = sum %1 {2, 0} : f32[300]
    return %2, %3
  })");
  EXPECT_EQ(Kernels(graph), 2);
  EXPECT_GE(MustCompile(graph)->stats().arena_bytes, 300 * 700 * 4);
}

// The rows' normalised values, for a result of the same order and for sums of columns: what is kept
// of them is two numbers a row.
TEST(Duplicate, NormalisedRows) {
  const Graph graph = MustParse(R"(graph (f32[300,700], scalar f32) {
    %2 = sum %0 {2, 1} : f32[300,1]
    %3 = divide %2, %1 : f32[300,1]
    %4 = subtract %0, %3 : f32[300,700]
    %5 = multiply %4, %4 : f32[300,700]
    %6 = sum %5 {1, 0} : f32[700]
    %7 = sum %5 {2, 1} : f32[300,1]
    %8 = subtract %4, %7 : f32[300,700]
    return %6, %8
  })");
  EXPECT_EQ(Kernels(graph), 2);
  EXPECT_LT(MustCompile(graph)->stats().arena_bytes, 4 * 300 * 4);
}

// What the caller gets is stored anyway, and a library reads memory.
TEST(Duplicate, NotWhatIsStoredAnyway) {
  const Graph returned = MustParse(R"(graph (f16[64,64]) {
    %1 = astype %0 {11} : f32[64,64]
    %2 = sum %1 {1, 0} : f32[64]
    return %1, %2
  })");
  const Graph product = MustParse(R"(graph (f16[64,64]) {
    %1 = astype %0 {11} : f32[64,64]
    %2 = matmul %1, %1 : f32[64,64]
    %3 = sum %1 {1, 0} : f32[64]
    return %2, %3
  })");
  for (const Graph& graph : {returned, product}) {
    EXPECT_FALSE(Duplicate(graph, Fuse(graph))) << Print(graph);
    Kernels(graph);
  }
}

// Whatever is copied, the graph stays one, its groups stay kernels and memory does not grow.
TEST(Duplicate, RandomGraphsStayWhole) {
  int copied = 0;
  for (uint64_t seed = 0; seed < 300; ++seed) {
    Rng rng(seed);
    const Graph graph = RandomGraph(rng, 10 + static_cast<int>(Below(rng, 40)), false);
    const Grouping grouping = Fuse(graph);
    const std::optional<Duplicated> other = Duplicate(graph, grouping);
    if (!other) continue;
    ++copied;
    ASSERT_TRUE(Verify(other->graph).ok()) << Verify(other->graph) << Print(other->graph);
    EXPECT_LE(PeakBytes(other->graph, other->grouping), PeakBytes(graph, grouping));
    std::vector<int> times(other->graph.nodes.size(), 0);
    for (const Group& group : other->grouping.groups) {
      for (const int32_t id : group.nodes) ++times[id];
    }
    for (size_t id = 0; id < times.size(); ++id) {
      const Node& node = other->graph.nodes[id];
      if (!node.input && !node.view) {
        EXPECT_EQ(times[id], 1) << id;
      }
    }
  }
  EXPECT_GT(copied, 10);
}

// A cheap value of a row is computed again for each row; a dear one is worth a kernel.
TEST(Gain, BroadcastValues) {
  const auto text = [](const char* op) {
    return std::string("graph (f32[300,700], f32[700]) {\n %2 = ") + op +
           " %1 : f32[700]\n %3 = add %0, %2 : f32[300,700]\n return %3\n}";
  };
  EXPECT_EQ(Kernels(MustParse(text("negative"))), 1);
  EXPECT_EQ(Kernels(MustParse(text("sin"))), 2);
  // Of a number a row, each is computed once either way.
  EXPECT_EQ(Kernels(MustParse(R"(graph (f32[300,700], f32[300,1]) {
    %2 = sin %1 : f32[300,1]
    %3 = add %0, %2 : f32[300,700]
    return %3
  })")),
            1);
}

// Positions in 64 bits would halve the lanes of a kernel over many points: they are a kernel of
// their own, which does not part the product from what follows its rows.
TEST(Gain, PositionsComeFirst) {
  const Graph graph = MustParse(R"(graph (f32[8000,16], f32[16,8], f32[8], scalar i64, scalar f32) {
    %5 = matmul %0, %1 : f32[8000,8]
    %6 = multiply %5, %4 : f32[8000,8]
    %7 = subtract %2, %6 : f32[8000,8]
    %8 = argmin %7 {2, 0} : i64[8000]
    %9 = reshape %8 {8000, 1} : view i64[8000,1] strides [1,0] offset 0
    %10 = iota {4, 8} : i64[8]
    %11 = multiply %10, %3 : i64[8]
    %12 = equal %9, %11 : bool[8000,8]
    %13 = astype %12 {11} : f32[8000,8]
    return %13
  })");
  EXPECT_EQ(Kernels(graph), 2);
  const std::string dump = MustCompile(graph, {}, "-branches")->Dump();
  EXPECT_NE(dump.find("is followed by 1"), std::string::npos) << dump;
}

TEST(Gain, AreTheSameEveryTime) {
  Rng rng(3);
  const Graph graph = RandomGraph(rng, 60, false);
  const std::string first = MustCompile(graph)->Dump();
  for (int i = 0; i < 3; ++i) EXPECT_EQ(MustCompile(graph)->Dump(), first);
}

// Gathers and views at the edges of a kernel.
TEST(Edges, TakeWithWorkBehindItAndBeforeAPut) {
  const Graph graph = MustParse(R"(graph (f32[16,70], i64[300], f32[16,70]) {
    %3 = take %0, %1 {0} : f32[300,70]
    %4 = exp %3 : f32[300,70]
    %5 = multiply %4, %3 : f32[300,70]
    %6 = put %2, %1, %5 {0, 1, 1} : f32[16,70]
    return %6
  })");
  EXPECT_EQ(Kernels(graph), 1);  // and the put
  EXPECT_EQ(MustCompile(graph)->stats().library_calls, 1);
}

TEST(Edges, TransposesAndBroadcastsAreIndices) {
  const Graph graph = MustParse(R"(graph (f32[300,200], f32[200,300], f32[200,1], f32[300]) {
    %4 = permute_dims %0 {1, 0} : view f32[200,300] strides [1,200] offset 0
    %5 = exp %4 : f32[200,300]
    %6 = add %5, %1 : f32[200,300]
    %7 = multiply %6, %2 : f32[200,300]
    %8 = add %7, %3 : f32[200,300]
    return %8
  })");
  EXPECT_EQ(Kernels(graph), 1);
}

// A result that is read across behind the kernel that makes it.
TEST(Edges, ATransposedResultStaysInside) {
  const Graph graph = MustParse(R"(graph (f32[300,200], f32[200,300]) {
    %2 = exp %0 : f32[300,200]
    %3 = permute_dims %2 {1, 0} : view f32[200,300] strides [1,200] offset 0
    %4 = add %3, %1 : f32[200,300]
    return %4
  })");
  EXPECT_EQ(Kernels(graph), 1);
}

// A list of products, then what is left of each: it runs behind its product.
TEST(Order, SumsBehindTheirProducts) {
  std::string text = "graph (f32[256,256]";
  for (int i = 0; i < 6; ++i) StrAppend(&text, ", f32[256,256]");
  StrAppend(&text, ") {\n");
  for (int i = 0; i < 6; ++i)
    StrAppend(&text, " %", 7 + i, " = matmul %0, %", 1 + i, " : f32[256,256]\n");
  for (int i = 0; i < 6; ++i)
    StrAppend(&text, " %", 13 + i, " = max %", 7 + i, " {2, 0} : f32[256]\n");
  const Graph graph = MustParse(text + " return %13, %14, %15, %16, %17, %18\n}");
  Grouping grouping;  // as it was written
  for (int32_t id = 7; id < 19; ++id)
    grouping.groups.push_back({id < 13 ? Group::Kind::kLibrary : Group::Kind::kKernel, {id}, {id}});
  const std::optional<Grouping> other = OrderByMemory(graph, grouping, int64_t{1} << 20);
  ASSERT_TRUE(other);
  EXPECT_EQ(PeakBytes(graph, *other), 256 * 256 * 4 + 6 * 256 * 4);
  EXPECT_GE(PeakBytes(graph, grouping), 6 * 256 * 256 * 4);
  for (size_t g = 0; g < 12; g += 2)
    EXPECT_EQ(other->groups[g + 1].nodes[0], other->groups[g].nodes[0] + 6);
  EXPECT_FALSE(OrderByMemory(graph, grouping, int64_t{2} << 20));  // less lives at once
  EXPECT_FALSE(OrderByMemory(graph, *other, 0));                   // nothing to gain
  CompileSettings written = Settings("-order"), settings = Settings("");
  written.always_branch = settings.always_branch = false;
  settings.worth_ordering = CompileSettings().worth_ordering;
  EXPECT_LE(4 * (*CompileWith(graph, {}, settings))->stats().arena_bytes,
            (*CompileWith(graph, {}, written))->stats().arena_bytes);
  Kernels(graph);
}

// Whatever the order, groups run behind those they read from, and less memory is needed.
TEST(Order, RandomGraphsStayWhole) {
  int ordered = 0;
  for (uint64_t seed = 0; seed < 300; ++seed) {
    Rng rng(seed);
    const Graph graph = RandomGraph(rng, 10 + static_cast<int>(Below(rng, 40)), false);
    const Grouping grouping = Fuse(graph);
    const std::optional<Grouping> other = OrderByMemory(graph, grouping, 0);
    if (!other) continue;
    ++ordered;
    EXPECT_LT(PeakBytes(graph, *other), PeakBytes(graph, grouping));
    ASSERT_EQ(other->groups.size(), grouping.groups.size());
    std::vector<bool> made(graph.nodes.size());
    for (const Group& group : other->groups) {
      for (const int32_t id : group.nodes) made[id] = true;
      for (const int32_t id : group.nodes) {
        for (const int32_t x : graph.nodes[id].operands) {
          const int32_t base = BaseOf(graph, x);
          EXPECT_TRUE(graph.nodes[base].input || made[base]) << "seed " << seed;
        }
      }
    }
  }
  EXPECT_GT(ordered, 5);
}

}  // namespace
}  // namespace frazil::jit
