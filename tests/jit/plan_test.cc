// Plans: memory planning, random graphs against running op by op, reuse of memory, what is shared with inputs.
#include "jit/runtime/plan.h"

#include <cstring>

#include "core/str.h"
#include "gtest/gtest.h"
#include "jit/runtime/compile.h"
#include "jit/runtime/eager.h"
#include "jit/runtime/memory_plan.h"
#include "tests/jit/graph_gen.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace frazil::jit {
namespace {

Graph MustParse(std::string_view text) {
  auto graph = Parse(text);
  EXPECT_TRUE(graph.ok()) << graph.status();
  return *std::move(graph);
}

CompileSettings Settings(std::string_view passes) {
  CompileSettings settings;
  settings.passes = *PassSwitches::FromText(passes);
  settings.verify = true;
  return settings;
}

std::shared_ptr<const Plan> MustCompile(Graph graph, const CompileOptions& options = {}, std::string_view passes = "") {
  const std::string text = Print(graph);
  auto plan = CompileWith(std::move(graph), options, Settings(passes));
  EXPECT_TRUE(plan.ok()) << plan.status() << "\n" << text;
  return plan.ok() ? *std::move(plan) : nullptr;
}

std::vector<ValueRef> MustRun(const Plan& plan, size_t outputs, absl::Span<const ValueRef> inputs) {
  std::vector<ValueRef> out(outputs);
  const Status status = plan.Run(Pointers(inputs), absl::MakeSpan(out));
  EXPECT_TRUE(status.ok()) << status;
  return out;
}

TEST(MemoryPlan, LiveBlocksNeverOverlap) {
  for (uint64_t seed = 0; seed < 300; ++seed) {
    Rng rng(seed);
    std::vector<Block> blocks;
    int64_t sum = 0;
    const int steps = 1 + static_cast<int>(Below(rng, 30));
    for (int64_t i = 1 + Below(rng, 40); i > 0; --i) {
      const int32_t first = static_cast<int32_t>(Below(rng, steps));
      blocks.push_back({Below(rng, 5000), first, first + static_cast<int32_t>(Below(rng, steps - first))});
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

TEST(MemoryPlan, AChainNeedsTwoBlocks) {
  std::vector<Block> blocks;
  for (int i = 0; i < 10; ++i) blocks.push_back({1000, i, i + 1});
  EXPECT_EQ(PlanMemory(blocks).bytes, 2 * 1024);
}

// The heart of it: whatever is fused, folded, reused or overwritten, the bits are those of running op by op.
TEST(Plan, RandomGraphsEqualRunningOpByOp) {
  const char* switches[] = {"", "none", "-fuse", "-inplace", "-fold,-dce", "-cse,-fuse"};
  int compared = 0;
  for (uint64_t seed = 0; seed < 150; ++seed) {
    Rng rng(seed);
    const Graph graph = RandomGraph(rng, 3 + static_cast<int>(Below(rng, 25)));
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
          ASSERT_EQ(Differences(*got[i], *(*want)[i]), "") << "seed " << seed << " '" << passes << "' output " << i << "\n"
                                                           << Print(graph) << plan->Dump();
        }
      }
    }
  }
  EXPECT_GT(compared, 500);
}

}  // namespace
}  // namespace frazil::jit
