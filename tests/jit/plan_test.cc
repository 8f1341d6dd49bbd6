// Plans: memory planning, random graphs against running op by op, reuse of memory, what is shared
// with inputs.
#include "jit/run/plan.h"

#include <cmath>
#include <cstring>

#include "core/cost.h"
#include "core/str.h"
#include "gtest/gtest.h"
#include "jit/eager/eager.h"
#include "jit/graph/space.h"
#include "jit/plan/memory_plan.h"
#include "tests/jit/graph_gen.h"
#include "tests/jit/plan_testing.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace frazil::jit {
namespace {

TEST(MemoryPlan, LiveBlocksNeverOverlap) {
  for (uint64_t seed = 0; seed < 300; ++seed) {
    Rng rng(seed);
    std::vector<Block> blocks;
    int64_t sum = 0;
    const int steps = 1 + static_cast<int>(Below(rng, 30));
    for (int64_t i = 1 + Below(rng, 40); i > 0; --i) {
      const int32_t first = static_cast<int32_t>(Below(rng, steps));
      blocks.push_back(
          {Below(rng, 5000), first, first + static_cast<int32_t>(Below(rng, steps - first))});
      sum += (blocks.back().bytes + 255) / 256 * 256;
    }
    const MemoryPlan plan = PlanMemory(blocks);
    EXPECT_LE(plan.bytes, sum);
    for (size_t i = 0; i < blocks.size(); ++i) {
      EXPECT_EQ(plan.offsets[i] % kArenaAlignment, 0);
      EXPECT_LE(plan.offsets[i] + blocks[i].bytes, plan.bytes);
      for (size_t j = 0; j < i; ++j) {
        const bool meet = blocks[i].first <= blocks[j].last && blocks[j].first <= blocks[i].last;
        const bool overlap = plan.offsets[i] < plan.offsets[j] + blocks[j].bytes &&
                             plan.offsets[j] < plan.offsets[i] + blocks[i].bytes;
        EXPECT_FALSE(meet && overlap) << "seed " << seed << " blocks " << i << " " << j;
      }
    }
  }
}

// Blocks as plans have them: most live for a step or two, some wait for a late reader in the
// reverse order of their making.
TEST(MemoryPlan, ReachesTheLowerBound) {
  int above = 0;
  for (uint64_t seed = 0; seed < 200; ++seed) {
    Rng rng(seed);
    std::vector<Block> blocks;
    const int32_t half = 4 + static_cast<int32_t>(Below(rng, 40));
    const int64_t sizes[] = {1 + Below(rng, 4), 1 + Below(rng, 16), 1 + Below(rng, 16)};
    for (int32_t step = 0; step < half; ++step) {
      for (int64_t i = Below(rng, 3); i > 0; --i)
        blocks.push_back(
            {sizes[Below(rng, 3)] << 16, step, 2 * half - step - int32_t(Below(rng, 2))});
      for (int32_t at : {step, 2 * half - step})
        blocks.push_back({sizes[Below(rng, 3)] << 16, at, at + 1 + int32_t(Below(rng, 3))});
    }
    const double ratio = double(PlanMemory(blocks).bytes) / double(LiveBytes(blocks));
    EXPECT_GE(ratio, 1);
    EXPECT_LE(ratio, 1.25) << "seed " << seed;
    above += ratio > 1.01;
  }
  EXPECT_EQ(above, 0);
}

TEST(MemoryPlan, AChainNeedsTwoBlocks) {
  std::vector<Block> blocks;
  for (int i = 0; i < 10; ++i) blocks.push_back({1000, i, i + 1});
  EXPECT_EQ(PlanMemory(blocks).bytes, 2 * 1024);
}

// The heart of it: whatever is fused, folded, reused or overwritten, the bits are those of running
// op by op.
TEST(Plan, MemoryIsPlannedAtTheBound) {
  for (uint64_t seed = 0; seed < 100; ++seed) {
    Rng rng(seed);
    const Graph graph = RandomGraph(rng, 20 + static_cast<int>(Below(rng, 60)), true);
    for (const char* passes : {"", "-fuse", "-inplace"}) {
      const auto plan = MustCompile(graph, {.reusable = ~uint64_t{0}}, passes);
      const tracer::MemoryReport report = plan->Report().memory;
      EXPECT_EQ(report.arena_bytes, plan->stats().arena_bytes);
      EXPECT_GE(report.arena_bytes, report.arena_bound);
      EXPECT_LE(double(report.arena_bytes), 1.01 * double(report.arena_bound))
          << "seed " << seed << " " << passes;
    }
  }
}

TEST(Plan, RandomGraphsEqualRunningOpByOp) {
  const char* switches[] = {"",           "none",       "-fuse",      "-inplace", "-fold,-dce",
                            "-cse,-fuse", "-recompute", "-duplicate", "-order",   "-branches"};
  int compared = 0;
  for (uint64_t seed = 0; seed < 150; ++seed) {
    Rng rng(seed);
    const Graph graph = RandomGraph(rng, 3 + static_cast<int>(Below(rng, 25)), seed % 10 == 0);
    ASSERT_TRUE(Verify(graph).ok()) << Verify(graph) << Print(graph);
    for (const char* passes : switches) {
      const auto plan = MustCompile(graph, {.reusable = ~uint64_t{0}}, passes);
      ASSERT_TRUE(plan);
      const std::vector<ValueRef> inputs = RandomInputs(rng, graph);
      const auto want = RunOpByOp(graph, inputs);
      ASSERT_TRUE(want.ok()) << want.status() << "\n" << Print(graph);
      // The first run may overwrite nothing, the second whatever only `inputs` holds.
      for (const bool held : {true, false}) {
        const std::vector<ValueRef> holders = held ? inputs : std::vector<ValueRef>();
        const auto got = MustRun(*plan, graph.outputs.size(), inputs);
        for (size_t i = 0; i < got.size(); ++i, ++compared) {
          EXPECT_EQ(got[i]->layout, graph.nodes[graph.outputs[i]].layout);
          ASSERT_EQ(Differences(*got[i], *(*want)[i]), "")
              << "seed " << seed << " '" << passes << "' output " << i << "\n"
              << Print(graph) << plan->Dump();
        }
      }
    }
  }
  EXPECT_GT(compared, 500);
}

// take, put and random words have operands of their own kind, which random graphs do not make.
TEST(Plan, IndexedOpsEqualRunningOpByOp) {
  const Graph graph =
      MustParse(R"(graph (f32[7,5] strides [1,7], i64[4,3], f32[4,3,5], u64[2], f16[3,9], i32[2]) {
    %6 = exp %0 : f32[7,5]
    %7 = take %6, %1 {0} : f32[4,3,5]
    %8 = add %7, %2 : f32[4,3,5]
    %9 = put %6, %1, %8 {0, 1, 1} : f32[7,5]
    %10 = put %0, %1, %2 {0, 0, 1} : f32[7,5]
    %11 = random_bits %3 {3, 7} : u32[3,7]
    %12 = take %4, %5 {1} : f16[3,2]
    %13 = permute_dims %12 {1, 0} : view f16[2,3] strides [1,2] offset 0
    %14 = permute_dims %13 {1, 0} : view f16[3,2] strides [2,1] offset 0
    %15 = negative %14 : f16[3,2]
    %16 = put %4, %5, %15 {1, 1, 1} : f16[3,9]
    %17 = put %16, %5, %12 {1, 0, 1} : f16[3,9]
    return %9, %10, %11, %17
  })");
  Rng rng(3);
  std::vector<ValueRef> inputs = RandomInputs(rng, graph);
  for (int64_t i = 0; i < 12; ++i) reinterpret_cast<int64_t*>(inputs[1]->data)[i] = Below(rng, 7);
  for (int64_t i = 0; i < 2; ++i)
    reinterpret_cast<int32_t*>(inputs[5]->data)[i] = static_cast<int32_t>(Below(rng, 9));
  const auto want = RunOpByOp(graph, inputs);
  ASSERT_TRUE(want.ok()) << want.status();
  for (const char* passes : {"", "none"}) {
    const auto plan = MustCompile(graph, {}, passes);
    const auto got = MustRun(*plan, 4, inputs);
    for (size_t i = 0; i < got.size(); ++i)
      EXPECT_EQ(Differences(*got[i], *(*want)[i]), "") << i << plan->Dump();
    EXPECT_EQ(plan->stats().library_calls, 4);
  }
}

// put against plain loops: the last write wins, additions in ascending order of positions.
TEST(Plan, PutFollowsItsOrder) {
  const Graph graph = MustParse(R"(graph (f32[3,4,5], i64[6], f32[3,6,5]) {
    %3 = put %0, %1, %2 {1, 1, 1} : f32[3,4,5]
    %4 = put %0, %1, %2 {1, 0, 1} : f32[3,4,5]
    return %3, %4
  })");
  Rng rng(4);
  std::vector<ValueRef> inputs = RandomInputs(rng, graph);
  const int64_t at[] = {2, 0, 2, 2, 3, 0};
  std::memcpy(inputs[1]->data, at, sizeof(at));
  const auto got = MustRun(*MustCompile(graph), 2, inputs);
  const auto* x = reinterpret_cast<const float*>(inputs[0]->data);
  const auto* u = reinterpret_cast<const float*>(inputs[2]->data);
  ValueRef sum = *Value::Allocate(DType::kF32, Device(), Dense({3, 4, 5}));
  ValueRef set = *Value::Allocate(DType::kF32, Device(), Dense({3, 4, 5}));
  auto* s = reinterpret_cast<float*>(sum->data);
  auto* t = reinterpret_cast<float*>(set->data);
  std::memcpy(s, x, 60 * 4);
  std::memcpy(t, x, 60 * 4);
  for (int p = 0; p < 6; ++p) {
    for (int o = 0; o < 3; ++o) {
      for (int i = 0; i < 5; ++i) {
        s[(o * 4 + at[p]) * 5 + i] += u[(o * 6 + p) * 5 + i];
        t[(o * 4 + at[p]) * 5 + i] = u[(o * 6 + p) * 5 + i];
      }
    }
  }
  EXPECT_EQ(Differences(*got[0], *sum), "");
  EXPECT_EQ(Differences(*got[1], *set), "");
}

// Batched, broadcast and strided operands against dense copies of them, one matrix at a time.
TEST(Plan, MatmulOfAnyLayout) {
  const Graph graph =
      MustParse(R"(graph (f32[2,1,4,6] strides [48,0,1,8], f32[3,6,5] strides [7,90,17]) {
    %2 = reshape %1 {1, 3, 6, 5} : view f32[1,3,6,5] strides [0,7,90,17] offset 0
    %3 = matmul %0, %2 : f32[2,3,4,5]
    %4 = slice %2 {0, 1, 1, 2, -1, 3, 5, -1, 6, 0, 2, 3} : view f32[1,3,6,3] strides [0,-7,-90,34] offset 464
    %5 = matmul %0, %4 : f32[2,3,4,3]
    %6 = copy %4 : f32[1,3,6,3]
    %7 = copy %0 : f32[2,1,4,6]
    %8 = matmul %7, %6 : f32[2,3,4,3]
    return %3, %5, %8
  })");
  Rng rng(5);
  const std::vector<ValueRef> inputs = RandomInputs(rng, graph);
  const auto got = MustRun(*MustCompile(graph, {}, "none"), 3, inputs);
  EXPECT_EQ(Differences(*got[1], *got[2]), "");
  // The rule: one fma accumulator, k ascending.
  const auto* a = reinterpret_cast<const float*>(inputs[0]->data);
  const auto* b = reinterpret_cast<const float*>(inputs[1]->data);
  ValueRef want = *Value::Allocate(DType::kF32, Device(), Dense({2, 3, 4, 5}));
  auto* c = reinterpret_cast<float*>(want->data);
  for (int i = 0; i < 2; ++i) {
    for (int j = 0; j < 3; ++j) {
      for (int m = 0; m < 4; ++m) {
        for (int n = 0; n < 5; ++n) {
          float acc = 0;
          for (int k = 0; k < 6; ++k)
            acc = std::fma(a[i * 48 + m + k * 8], b[j * 7 + k * 90 + n * 17], acc);
          *c++ = acc;
        }
      }
    }
  }
  EXPECT_EQ(Differences(*got[0], *want), "");
}

// A large matrix that many products with some rows read is copied once, so that it lies by columns.
TEST(Plan, RowsByALargeMatrix) {
  const auto run = [](std::string_view rows, std::string_view passes) {
    std::string text = "graph (f32[520,512]", results;
    for (int i = 0; i < 16; ++i) text += StrCat(", f32[", rows, ",520]");
    text += ") {\n";
    for (int i = 0; i < 16; ++i) {
      text += StrCat("%", 17 + i, " = matmul %", 1 + i, ", %0 : f32[", rows, ",512]\n");
      results += StrCat(i ? ", %" : "%", 17 + i);
    }
    Graph graph = MustParse(text + "return " + results + "\n}\n");
    Rng rng(6);
    const std::vector<ValueRef> inputs = RandomInputs(rng, graph);
    const auto plan = MustCompile(std::move(graph), {}, passes);
    return std::make_pair(plan->Dump(), MustRun(*plan, 16, inputs));
  };
  const auto [copied, got] = run("12", "");
  EXPECT_NE(copied.find("step k_copy_transposed"), std::string::npos) << copied;
  const auto want = run("12", "-lay_out").second;
  for (size_t i = 0; i < 16; ++i) EXPECT_EQ(Differences(*got[i], *want[i]), "") << i;
  const std::string few = run("4", "").first;
  EXPECT_EQ(few.find("step k_copy_transposed"), std::string::npos) << few;
}

// What many products of a row read across is copied once, as panels; a few rows need no panels, and
// other columns do not make any.
TEST(Plan, RowsByAMatrixThatIsReadAcross) {
  const auto run = [](const std::string& row, const std::string& width, std::string_view passes) {
    std::string text = "graph (f32[64," + width + "] strides [1,64]";
    for (int i = 0; i < 16; ++i) text += ", f32[" + row + ",64]";
    text += ") {\n";
    std::string results;
    for (int i = 0; i < 16; ++i) {
      const std::string id = StrCat("%", 17 + i);
      text +=
          id + " = matmul %" + std::to_string(1 + i) + ", %0 : f32[" + row + "," + width + "]\n";
      results += (i ? ", " : "") + id;
    }
    Graph graph = MustParse(text + "return " + results + "\n}\n");
    Rng rng(5);
    const std::vector<ValueRef> inputs = RandomInputs(rng, graph);
    const auto plan = MustCompile(std::move(graph), {}, passes);
    return std::make_pair(plan->Dump(), MustRun(*plan, 16, inputs));
  };
  const auto same = [](const std::vector<ValueRef>& x, const std::vector<ValueRef>& y) {
    for (size_t i = 0; i < 16; ++i) EXPECT_EQ(Differences(*x[i], *y[i]), "") << i;
  };
  const auto count = [](const std::string& text, const std::string& what) {
    int n = 0;
    for (size_t at = 0; (at = text.find(what, at)) != std::string::npos; ++at) ++n;
    return n;
  };
  const auto [panels, of_panels] = run("1", "256", "-recompute");
  EXPECT_EQ(count(panels, "step matmul f32 batches 4 m 1 n 64 k 64"), 16) << panels;
  EXPECT_EQ(count(panels, "step k_copy_transposed"), 1) << panels;
  same(of_panels, run("1", "256", "-lay_out").second);
  const auto [rows, of_rows] = run("3", "256", "");
  EXPECT_EQ(count(rows, "step matmul f32 batches 1 m 3 n 256 k 64"), 16) << rows;
  same(of_rows, run("3", "256", "-lay_out").second);
  const auto [odd, of_odd] = run("1", "255", "");
  EXPECT_EQ(count(odd, "step matmul f32 batches 1 m 1 n 255 k 64"), 16) << odd;
  same(of_odd, run("1", "255", "-lay_out").second);
}

TEST(Plan, OutputsThatAreInputsOrViews) {
  const Graph graph = MustParse(R"(graph (f32[2,3], scalar f32) {
    %2 = permute_dims %0 {1, 0} : view f32[3,2] strides [1,3] offset 0
    %3 = exp %0 : f32[2,3]
    %4 = slice %3 {1, 1, 1, 0, 1, 3} : view f32[1,3] strides [0,1] offset 3
    %5 = reshape %1 {1, 1} : view f32[1,1] offset 0
    return %0, %2, %3, %4, %3, %5, %1
  })");
  Rng rng(6);
  const std::vector<ValueRef> inputs = RandomInputs(rng, graph);
  const auto got = MustRun(*MustCompile(graph), 7, inputs);
  EXPECT_EQ(got[0], inputs[0]);
  EXPECT_EQ(got[1]->storage, inputs[0]->storage);
  EXPECT_EQ(got[3]->storage, got[2]->storage);
  EXPECT_EQ(got[3]->data, got[2]->data + 12);
  EXPECT_EQ(got[4], got[2]);
  EXPECT_NE(got[2]->storage, inputs[0]->storage);
  EXPECT_NE(got[5]->storage, nullptr);
  EXPECT_EQ(std::memcmp(got[5]->data, &inputs[1]->imm, 4), 0);
  EXPECT_EQ(got[6], inputs[1]);
}

// A chain of kernels that nothing fuses: intermediates share memory instead of having one block
// each.
TEST(Plan, ArenaIsSmallerThanTheSum) {
  Graph graph;
  int32_t x = graph.AddInput(DType::kF32, Device(), Dense({64, 64}), false);
  for (int i = 0; i < 8; ++i) x = *graph.AddOp(OpId::k_matmul, {x, x}, {});
  graph.outputs = {x};
  EXPECT_EQ(MustCompile(graph)->stats().arena_bytes, 2 * 64 * 64 * 4);
  EXPECT_EQ(MustCompile(graph)->stats().library_calls, 8);

  graph = Graph();
  x = graph.AddInput(DType::kF32, Device(), Dense({64, 64}), false);
  for (int i = 0; i < 8; ++i) x = *graph.AddOp(OpId::k_exp, {x}, {});
  graph.outputs = {x};
  // Each result over its operand, the last block being the output's.
  EXPECT_EQ(MustCompile(graph, {}, "-fuse")->stats().arena_bytes, 0);
  EXPECT_EQ(MustCompile(graph, {}, "-fuse,-inplace")->stats().arena_bytes, 2 * 64 * 64 * 4);
}

// In place if and only if each element is read, for the last time, where it is overwritten.
TEST(Plan, InPlaceOnlyWhenLegal) {
  struct Case {
    const char* text;
    bool reuses;  // the first output lies in the memory of input 0
  };
  const Case cases[] = {
      {"graph (f32[8,8], f32[8,8]) {\n %2 = add %0, %1 : f32[8,8]\n return %2\n}", true},
      {"graph (f32[8,8], f32[8]) {\n %2 = add %0, %1 : f32[8,8]\n return %2\n}", true},
      {"graph (f32[8,8]) {\n %1 = add %0, %0 : f32[8,8]\n return %1\n}", true},
      {"graph (f32[8,8]) {\n %1 = permute_dims %0 {1, 0} : view f32[8,8] strides [1,8] offset 0\n"
       " %2 = add %0, %1 : f32[8,8]\n return %2\n}",
       false},
      {"graph (f32[8,8]) {\n %1 = slice %0 {7, -1, 8, 0, 1, 8} : view f32[8,8] strides [-8,1] "
       "offset 56\n"
       " %2 = exp %1 : f32[8,8]\n return %2\n}",
       false},
      {"graph (f32[8,8] strides [1,8], f32[8,8]) {\n %2 = add %0, %1 : f32[8,8]\n return %2\n}",
       false},
      {"graph (f32[8,8], f32[8,8]) {\n %2 = add %0, %1 : f32[8,8]\n return %2, %0\n}", false},
      {"graph (f32[8,8], f32[8,8]) {\n %2 = less %0, %1 : bool[8,8]\n return %2\n}", false},
      {"graph (f32[8,8]) {\n %1 = astype %0 {3} : i32[8,8]\n return %1\n}", true},
      {"graph (f32[8,8]) {\n %1 = matmul %0, %0 : f32[8,8]\n return %1\n}", false},
      {"graph (f32[8,8]) {\n %1 = sum %0 {2, 0} : f32[8]\n return %1\n}", false},
      {"graph (f32[8,8]) {\n %1 = sum %0 {2, 1} : f32[8,1]\n %2 = divide %0, %1 : f32[8,8]\n "
       "return %2\n}",
       true},
      {"graph (f32[8,8]) {\n %1 = sum %0 {1, 1} : f32[1,8]\n %2 = divide %0, %1 : f32[8,8]\n "
       "return %2\n}",
       true},
      {"graph (f32[8,8]) {\n %1 = sum %0 {3, 1} : f32[1,1]\n %2 = divide %0, %1 : f32[8,8]\n "
       "return %2\n}",
       true},
      {"graph (f32[8,8]) {\n %1 = exp %0 : f32[8,8]\n %2 = matmul %1, %0 : f32[8,8]\n return %1, "
       "%2\n}",
       false},
      {"graph (f32[8,8], i64[8], f32[8,8]) {\n %3 = put %0, %1, %2 {0, 0, 1} : f32[8,8]\n return "
       "%3\n}",
       true},
      {"graph (f32[8,8], i64[8], f32[8,8]) {\n %3 = put %0, %1, %0 {0, 0, 1} : f32[8,8]\n return "
       "%3\n}",
       false},
      {"graph (f32[8,8], i64[8]) {\n %2 = take %0, %1 {0} : f32[8,8]\n return %2\n}", false},
      {"graph (f32[8,8]) {\n %1 = concat %0, %0 {0} : f32[16,8]\n return %1\n}", false},
      // The exponentials lie in the result, and so over %0, between the loops.
      {"graph (f32[8,300]) {\n %1 = max %0 {2, 1} : f32[8,1]\n"
       " %2 = subtract %0, %1 : f32[8,300]\n %3 = exp %2 : f32[8,300]\n"
       " %4 = sum %3 {2, 1} : f32[8,1]\n %5 = divide %3, %4 : f32[8,300]\n return %5\n}",
       true},
      {"graph (f32[8,300]) {\n %1 = max %0 {2, 1} : f32[8,1]\n"
       " %2 = subtract %0, %1 : f32[8,300]\n %3 = exp %2 : f32[8,300]\n"
       " %4 = sum %3 {2, 1} : f32[8,1]\n %5 = divide %3, %4 : f32[8,300]\n"
       " %6 = add %5, %0 : f32[8,300]\n return %6\n}",
       true},
      // Each chunk of the sum's loop reads %0, which may not become %2 with the first.
      {"graph (f32[], f32[5000]) {\n %2 = abs %0 : f32[]\n %3 = tanh %1 : f32[5000]\n"
       " %4 = sum %3 {1, 0} : f32[]\n %5 = multiply %3, %2 : f32[5000]\n"
       " %6 = multiply %5, %0 : f32[5000]\n return %2, %4, %6\n}",
       false},
  };
  for (const Case& c : cases) {
    const Graph graph = MustParse(c.text);
    const auto make_inputs = [&] {
      Rng rng(7);
      std::vector<ValueRef> inputs = RandomInputs(rng, graph);
      if (graph.num_inputs > 1 && graph.nodes[1].dtype == DType::kI64) {
        for (int64_t i = 0; i < 8; ++i)
          reinterpret_cast<int64_t*>(inputs[1]->data)[i] = (i * 3) % 8;
      }
      return inputs;
    };
    const auto want = *RunOpByOp(graph, make_inputs());
    for (const bool lent : {false, true}) {
      const CompileOptions options{.reusable = lent ? 1u : 0u};
      const auto plan = MustCompile(graph, options);
      // Made of a plan that was lent what this is not, or the other way round.
      const auto again = CompileAgain(*MustCompile(graph, {.reusable = lent ? 0u : 1u}), options);
      ASSERT_TRUE(again.ok()) << again.status();
      for (const auto& p : {plan, *again}) {
        const std::vector<ValueRef> inputs = make_inputs();
        const char* memory = inputs[0]->data;
        const auto got = MustRun(*p, graph.outputs.size(), inputs);
        EXPECT_EQ(got[0]->data == memory, lent && c.reuses) << c.text << p->Dump();
        for (size_t i = 0; i < got.size(); ++i)
          EXPECT_EQ(Differences(*got[i], *want[i]), "") << c.text << p->Dump();
      }
    }
  }
}

#if defined(__x86_64__)
// Flush-to-zero set by another library must change neither our bits nor be changed by us.
TEST(Plan, FloatingPointModeOfTheCallerIsKeptOut) {
  const Graph graph =
      MustParse("graph (f32[64]) {\n %1 = multiply %0, %0 : f32[64]\n return %1\n}");
  ValueRef x = *Value::Allocate(DType::kF32, Device(), Dense({64}));
  for (int i = 0; i < 64; ++i) reinterpret_cast<float*>(x->data)[i] = 1e-20f * float(i);
  const auto plan = MustCompile(graph);
  const std::vector<ValueRef> inputs = {x};
  const auto want = MustRun(*plan, 1, inputs);
  const uint32_t before = _mm_getcsr();
  _mm_setcsr(0x1F80 | 0x8040 | 0x6000);  // flush, subnormals are zero, toward zero
  const auto got = MustRun(*plan, 1, inputs);
  const uint32_t after = _mm_getcsr();
  _mm_setcsr(before);
  EXPECT_EQ(after & ~0x3Fu, 0x1F80u | 0x8040 | 0x6000);
  EXPECT_EQ(Differences(*got[0], *want[0]), "");
  EXPECT_NE(reinterpret_cast<float*>(want[0]->data)[1], 0.0f);
}
#endif

TEST(Plan, Dump) {
  const Graph graph = MustParse(R"(graph (f32[8,8], f32[8,8], scalar f32) {
    %3 = matmul %0, %1 : f32[8,8]
    %4 = multiply %3, %2 : f32[8,8]
    return %4
  })");
  const std::string dump = MustCompile(graph)->Dump();
  for (const char* part : {"%4 = multiply %3, %2", "group library %3", "group kernel %4",
                           "kernel k_multiply", "step matmul"}) {
    EXPECT_NE(dump.find(part), std::string::npos) << part << "\n" << dump;
  }
}

// %1 is overwritten by the last step, behind a product that takes long enough to let go of the
// host's lock.
constexpr std::string_view kHeadAndTail =
    "graph (f32[256,256], f32[256,256]) {\n %2 = matmul %0, %0 : f32[256,256]\n"
    " %3 = matmul %2, %0 : f32[256,256]\n %4 = multiply %1, %0 : f32[256,256]\n"
    " %5 = max %3 {3, 0} : f32[]\n %6 = subtract %4, %5 : f32[256,256]\n return %6\n}";

TEST(Plan, OverwritesWhatIsStillLentWhenTheLockIsBack) {
  const Graph graph = MustParse(kHeadAndTail);
  for (const bool still : {true, false}) {
    Rng rng(7);
    std::vector<ValueRef> inputs = RandomInputs(rng, graph);
    const auto want = *RunOpByOp(graph, inputs);
    const auto plan = MustCompile(graph, {.reusable = 2, .lent_by_cell = true});
    ASSERT_GE(plan->stats().work, cost::kLong);
    std::vector<float> before(256 * 256);
    std::memcpy(before.data(), inputs[1]->data, before.size() * sizeof(float));
    std::vector<Value*> pointers = Pointers(inputs);
    std::vector<int32_t> asked;
    std::vector<ValueRef> got(1);
    const auto lent = [&](int32_t slot) {
      asked.push_back(slot);
      return still;
    };
    ASSERT_TRUE(plan->Run(pointers, absl::MakeSpan(got), lent).ok());
    EXPECT_EQ(asked, std::vector<int32_t>{1});
    EXPECT_EQ(got[0]->data == inputs[1]->data, still) << plan->Dump();
    EXPECT_EQ(Differences(*got[0], *want[0]), "");
    if (!still) {
      EXPECT_EQ(std::memcmp(before.data(), inputs[1]->data, before.size() * sizeof(float)), 0);
    }
  }
}

// Functions of a number, which is known before the points of the kernel are: alone, and beside one
// of points that looks up the same tables.
TEST(Plan, FunctionsOfNumbers) {
  for (const char* op : {"erf", "tanh", "exp", "log"}) {
    const Graph graph =
        MustParse(StrCat("graph (scalar f32, f32[100]) {\n %2 = ceil %0 : f32[]\n", " %3 = ", op,
                         " %2 : f32[]\n %4 = add %3, %1 : f32[100]\n", " %5 = ", op,
                         " %1 : f32[100]\n %6 = add %4, %5 : f32[100]", "\n return %3, %4, %6\n}"));
    for (uint64_t seed = 0; seed < 20; ++seed) {
      Rng rng(seed);
      const std::vector<ValueRef> inputs = RandomInputs(rng, graph);
      const auto want = *RunOpByOp(graph, inputs);
      const auto got = MustRun(*MustCompile(graph), 3, inputs);
      for (size_t i = 0; i < 3; ++i)
        ASSERT_EQ(Differences(*got[i], *want[i]), "") << op << " seed " << seed << " output " << i;
    }
  }
}

// Steps of an optimizer behind two products: each would be a branch beside them, where it could
// not overwrite its parameter, since a product may fail for want of memory.
TEST(Plan, AnOptimizerOverwritesBehindBranches) {
  std::string text = "graph (f32[192,192], f32[192,192], f32[192,192]";
  for (int i = 0; i < 4; ++i) text += ", f32[512,256], f32[512,256]";
  text += ") {\n %11 = matmul %0, %1 : f32[192,192]\n %12 = matmul %0, %2 : f32[192,192]\n";
  for (int i = 0; i < 4; ++i)
    StrAppend(&text, " %", 13 + i, " = subtract %", 3 + 2 * i, ", %", 4 + 2 * i,
              " : f32[512,256]\n");
  const Graph graph = MustParse(text + " return %11, %12, %13, %14, %15, %16\n}");
  CompileSettings settings = Settings("");
  settings.always_branch = false;
  const auto plan = *CompileWith(graph, {.reusable = 0b0010'1010'1000}, settings);
  int donated = 0;
  for (const tracer::PlannedBlock& block : plan->Report().memory.blocks)
    donated += block.kind == tracer::PlannedBlock::Kind::kDonated;
  EXPECT_EQ(donated, 4) << plan->Dump();
  int branches = 0;
  for (const auto& step : plan->schedule().steps)
    branches += step->text().starts_with("side by side");
  EXPECT_EQ(branches, 1) << plan->Dump();
}

// Side by side, and as a list, whose entries run in any order.
TEST(Plan, OverwritesNothingThatAStepBesideReads) {
  const Graph graph = MustParse(
      "graph (f32[64], f32[64]) {\n %2 = add %0, %1 : f32[64]\n"
      " %3 = multiply %0, %1 : f32[64]\n return %2, %3\n}");
  for (const bool branches : {true, false}) {
    Rng rng(7);
    const std::vector<ValueRef> inputs = RandomInputs(rng, graph);
    const auto want = *RunOpByOp(graph, inputs);
    const auto plan = MustCompile(graph, {.reusable = 1}, branches ? "-fuse" : "-fuse,-branches");
    const auto got = MustRun(*plan, 2, inputs);
    EXPECT_EQ(got[1]->data == inputs[0]->data, !branches) << plan->Dump();
    for (size_t i = 0; i < 2; ++i) EXPECT_EQ(Differences(*got[i], *want[i]), "") << plan->Dump();
  }
}

// On a device the two are one launch.
TEST(Plan, AProductJoinsTheOnlyReaderAndNoOther) {
  const auto stats = [](const std::string& more) {
    return MustCompile(MustParse("graph (f32[8,8]@npu, f32[8,8]@npu) {\n"
                                 " %2 = matmul %0, %1 : f32[8,8]@npu\n"
                                 " %3 = negative %2 : f32[8,8]@npu\n" +
                                 more))
        ->stats();
  };
  const PlanStats one = stats(" return %3\n}");
  EXPECT_EQ(one.library_calls, 0);
  EXPECT_EQ(one.kernels, 1);
  for (const int first : {3, 4}) {
    const PlanStats two = stats(StrCat(
        first == 4 ? " %4 = matmul %2, %1" : " %4 = exp %2", " : f32[8,8]@npu\n",
        first == 4 ? " %5 = exp %2" : " %5 = matmul %2, %1", " : f32[8,8]@npu\n return %4, %5\n}"));
    EXPECT_EQ(two.library_calls, 2) << first;
    EXPECT_EQ(two.kernels, 1) << first;
  }
}

// A maximum over a short axis is written out, so what is stored for either of its points goes
// through a pointer of its own; %0, which is read for both, is repeated and has half of the bytes.
TEST(Plan, OverwritesNothingThatIsRepeated) {
  const Graph graph = MustParse(
      "graph (f32[2,2000] strides [0,1]) {\n %1 = max %0 {1, 1} : f32[1,2000]\n"
      " %2 = equal %0, %1 : bool[2,2000]\n %3 = astype %2 {11} : f32[2,2000]\n return %3\n}");
  Rng rng(7);
  const std::vector<ValueRef> inputs = RandomInputs(rng, graph);
  const auto want = *RunOpByOp(graph, inputs);
  const auto plan = MustCompile(graph, {.reusable = 1});
  const auto got = MustRun(*plan, 1, inputs);
  EXPECT_NE(got[0]->data, inputs[0]->data) << plan->Dump();
  EXPECT_EQ(Differences(*got[0], *want[0]), "");
}

// Rows of two elements would leave most lanes empty; where all lies densely they are one long row.
TEST(Plan, LanesRunAlongAnotherAxisThanANarrowOne) {
  const auto graph_of = [](const char* strides) {
    return MustParse(StrCat("graph (f32[500,2], f32[500,2] strides ", strides,
                            ") {\n %2 = multiply %0, %1 : f32[500,2]\n return %2\n}"));
  };
  const int32_t node[] = {2};
  const Graph graph = graph_of("[1,0]");
  EXPECT_EQ(Analyse(graph, node, node)->unrolled.size(), 1u);
  EXPECT_TRUE(Analyse(graph_of("[2,1]"), node, node)->unrolled.empty());
  Rng rng(8);
  const std::vector<ValueRef> inputs = RandomInputs(rng, graph);
  const auto got = MustRun(*MustCompile(graph, {}), 1, inputs);
  EXPECT_EQ(Differences(*got[0], *(*RunOpByOp(graph, inputs))[0]), "");
}

}  // namespace
}  // namespace frazil::jit
