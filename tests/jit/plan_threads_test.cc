// What a plan's steps share out among threads, at sizes where they do: lists of small kernels,
// branches side by side, library calls, large kernels, and plans that several callers run at once.
// The thread sanitizer sees what compiled C++ does, so it says most with FRAZIL_JIT=interp.
#include <thread>

#include "core/str.h"
#include "core/threads/parallel.h"
#include "jit/cache/kernel_cache.h"
#include "jit/run/launch.h"
#include "tests/jit/plan_testing.h"

namespace frazil::jit {
namespace {

class PlanThreads : public testing::Test {
 protected:
  void TearDown() override { SetNumThreads(2); }

  // For several numbers of threads, with and without the right to overwrite inputs, by one caller
  // and by several at once.
  static void Check(const Graph& graph, std::string_view passes = "") {
    Rng rng(9);
    const std::vector<ValueRef> inputs = RandomInputs(rng, graph);
    const auto want = RunOpByOp(graph, inputs);
    ASSERT_TRUE(want.ok()) << want.status();
    const auto compare = [&](const Plan& plan, const std::string& what) {
      const auto got = MustRun(plan, graph.outputs.size(), inputs);
      for (size_t i = 0; i < got.size(); ++i)
        ASSERT_EQ(Differences(*got[i], *(*want)[i]), "") << what << " output " << i << plan.Dump();
    };
    for (const int threads : {1, 2, 3, 5}) {
      SetNumThreads(threads);
      const auto plan = MustCompile(graph, {}, passes);
      ASSERT_TRUE(plan);
      compare(*plan, StrCat(threads, " threads"));
      std::vector<std::thread> callers;
      for (int c = 0; c < 3; ++c)
        callers.emplace_back([&] { compare(*plan, StrCat(threads, " threads, callers")); });
      for (std::thread& caller : callers) caller.join();
    }
    const auto plan = MustCompile(graph, {.reusable = ~uint64_t{0}}, passes);
    std::vector<ValueRef> own = RandomInputs(rng, graph);
    const auto other = RunOpByOp(graph, own);
    ASSERT_TRUE(other.ok()) << other.status();
    const auto got = MustRun(*plan, graph.outputs.size(), own);
    for (size_t i = 0; i < got.size(); ++i)
      ASSERT_EQ(Differences(*got[i], *(*other)[i]), "") << "overwriting, output " << i;
  }
};

// The step of an optimizer over many parameters; each kernel has less than a thread's share of
// work, all together have more. Names are those of inputs first.
Graph ManySteps(int count, int64_t n) {
  std::string inputs, nodes, outputs;
  int id = 3 * count;
  for (int i = 0; i < count; ++i) {
    const int64_t size = n + 7 * i;  // no two kernels alike in their extents
    const std::string type = StrCat("f32[", size, "]");
    for (int k = 0; k < 3; ++k) StrAppend(&inputs, inputs.empty() ? "" : ", ", type);
    const int p = 3 * i, g = p + 1, m = p + 2;
    StrAppend(&nodes, "%", id, " = multiply %", m, ", %", g, " : ", type, "\n");
    StrAppend(&nodes, "%", id + 1, " = sqrt %", id, " : ", type, "\n");
    StrAppend(&nodes, "%", id + 2, " = subtract %", p, ", %", id + 1, " : ", type, "\n");
    StrAppend(&outputs, outputs.empty() ? "" : ", ", "%", id, ", %", id + 2);
    id += 3;
  }
  return MustParse(StrCat("graph (", inputs, ") {\n", nodes, "return ", outputs, "\n}"));
}

TEST_F(PlanThreads, Lists) {
  const Graph graph = ManySteps(40, 2000);
  Check(graph);
  Check(graph, "-branches");
}

// What one entry of a list writes and the next reads must not be in one list.
TEST_F(PlanThreads, ListsEndWhereStepsWait) {
  std::string nodes, outputs;
  for (int i = 0; i < 60; ++i) {
    // Sums along rows cannot be fused with what reads them transposed.
    const int id = 2 + 3 * i, from = i < 2 ? i : id - 6;
    StrAppend(&nodes, "%", id, " = sum %", from, " {2, 1} : f32[40,1]\n");
    StrAppend(&nodes, "%", id + 1, " = permute_dims %", id,
              " {1, 0} : view f32[1,40] strides [1,1] offset 0\n");
    StrAppend(&nodes, "%", id + 2, " = subtract %", from, ", %", id + 1, " : f32[40,40]\n");
    if (i > 56) StrAppend(&outputs, outputs.empty() ? "" : ", ", "%", id + 2);
  }
  Check(MustParse(StrCat("graph (f32[40,40], f32[40,40]) {\n", nodes, "return ", outputs, "\n}")),
        "-branches");
}

// Chains of products and kernels that meet only at the end.
TEST_F(PlanThreads, Branches) {
  std::string nodes, sum = "%4";
  int id = 5;
  for (int branch = 0; branch < 4; ++branch) {
    int x = branch;
    for (int i = 0; i < 3; ++i) {
      StrAppend(&nodes, "%", id, " = matmul %", x, ", %4 : f32[70,70]\n");
      StrAppend(&nodes, "%", id + 1, " = tanh %", id, " : f32[70,70]\n");
      x = id + 1;
      id += 2;
    }
    StrAppend(&nodes, "%", id, " = add ", sum, ", %", x, " : f32[70,70]\n");
    sum = StrCat("%", id++);
  }
  const std::string m = "f32[70,70]";
  Check(MustParse(StrCat("graph (", m, ", ", m, ", ", m, ", ", m, ", ", m, ") {\n", nodes,
                         "return ", sum, ", %10\n}")));
}

// One branch must not write over what another still reads.
TEST_F(PlanThreads, BranchesOverOneOperand) {
  Check(MustParse(R"(graph (f32[260,260], f32[260,260]) {
    %2 = matmul %0, %1 : f32[260,260]
    %3 = matmul %2, %0 : f32[260,260]
    %4 = tanh %2 : f32[260,260]
    %5 = matmul %1, %4 : f32[260,260]
    return %3, %5
  })"));
}

// Kernels and products that several threads share.
TEST_F(PlanThreads, LargeSteps) {
  Check(MustParse(R"(graph (f32[300,700], f32[700,90]) {
    %2 = exp %0 : f32[300,700]
    %3 = sum %2 {2, 1} : f32[300,1]
    %4 = divide %2, %3 : f32[300,700]
    %5 = matmul %4, %1 : f32[300,90]
    %6 = sum %5 {3, 0} : f32[]
    %7 = sum %4 {1, 0} : f32[700]
    return %5, %6, %7
  })"));
}

// Many kernels that no cache knows, compiled on all threads and by several callers.
TEST_F(PlanThreads, Compilation) {
  const char* unary[] = {"exp", "tanh", "sqrt", "negative", "abs", "sin", "floor", "log"};
  std::string nodes, outputs;
  int id = 1;
  for (int i = 0; i < 24; ++i) {
    const int64_t n = 3 + i;
    StrAppend(&nodes, "%", id, " = slice %0 {0, 1, ", n, "} : view f32[", n,
              "] strides [1] offset 0\n");
    int x = id++;
    for (const char* name : {unary[i % 8], unary[i / 3 % 8], unary[(i / 5 + 3) % 8]}) {
      StrAppend(&nodes, "%", id, " = ", name, " %", x, " : f32[", n, "]\n");
      x = id++;
    }
    StrAppend(&outputs, outputs.empty() ? "" : ", ", "%", x);
  }
  const Graph graph = MustParse(StrCat("graph (f32[64]) {\n", nodes, "return ", outputs, "\n}"));
  SetNumThreads(3);
  Rng rng(2);
  const std::vector<ValueRef> inputs = RandomInputs(rng, graph);
  const auto want = RunOpByOp(graph, inputs);
  ASSERT_TRUE(want.ok()) << want.status();
  for (int round = 0; round < 3; ++round) {
    ClearKernelCache();
    std::vector<std::thread> callers;
    for (int c = 0; c < 3; ++c) {
      callers.emplace_back([&] {
        const auto plan = MustCompile(graph, {}, "-branches");
        const auto got = MustRun(*plan, graph.outputs.size(), inputs);
        for (size_t i = 0; i < got.size(); ++i)
          EXPECT_EQ(Differences(*got[i], *(*want)[i]), "") << i;
      });
    }
    for (std::thread& caller : callers) caller.join();
  }
}

}  // namespace
}  // namespace frazil::jit
