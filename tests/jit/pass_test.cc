// The graph passes: golden texts before and after, and evaluation on random data before and after
// every rule. FRAZIL_UPDATE_GOLDENS=1 rewrites the second half of tests/jit/goldens/<pass>/*.gir.
#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "core/str.h"
#include "gtest/gtest.h"
#include "jit/graph/groups.h"
#include "jit/graph/passes/passes.h"
#include "jit/graph/recompute.h"
#include "jit/run/plan.h"
#include "tests/jit/graph_gen.h"

namespace frazil::jit {
namespace {

constexpr std::string_view kDivider = "---\n";

std::string ReadFile(const std::filesystem::path& path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

class Goldens : public testing::TestWithParam<Pass> {};

TEST_P(Goldens, BeforeAndAfter) {
  const Pass pass = GetParam();
  int files = 0;
  for (const auto& entry :
       std::filesystem::directory_iterator(StrCat(FRAZIL_JIT_GOLDENS, "/", pass.name))) {
    ++files;
    const std::string text = ReadFile(entry.path());
    const size_t divider = text.find(kDivider);
    const std::string before = text.substr(0, divider);
    auto graph = Parse(before);
    ASSERT_TRUE(graph.ok()) << entry.path() << graph.status();
    pass.run(&*graph);
    EXPECT_TRUE(Verify(*graph).ok()) << entry.path() << Verify(*graph);
    const std::string after = Print(*graph);
    if (std::getenv("FRAZIL_UPDATE_GOLDENS")) {
      std::ofstream(entry.path()) << before << kDivider << after;
    } else {
      ASSERT_NE(divider, std::string::npos) << entry.path() << " has no second half";
      EXPECT_EQ(after, text.substr(divider + kDivider.size())) << entry.path();
    }
  }
  EXPECT_GT(files, 0);
}

std::vector<Pass> Rewrites() {
  std::vector<Pass> rewrites;
  for (const Pass& pass : Passes()) {
    if (pass.run) rewrites.push_back(pass);
  }
  return rewrites;
}
INSTANTIATE_TEST_SUITE_P(, Goldens, testing::ValuesIn(Rewrites()),
                         [](const auto& info) { return std::string(info.param.name); });

// Both graphs on the same random data, op by op; the number of values compared.
int ExpectSameBits(Rng& rng, const Graph& before, const Graph& after) {
  const std::vector<ValueRef> inputs = RandomInputs(rng, before);
  const auto want = RunOpByOp(before, inputs), got = RunOpByOp(after, inputs);
  EXPECT_TRUE(want.ok() && got.ok()) << want.status() << got.status();
  if (!want.ok() || !got.ok()) return 0;
  EXPECT_EQ(want->size(), got->size());
  for (size_t i = 0; i < want->size(); ++i) {
    EXPECT_EQ((*want)[i]->layout, (*got)[i]->layout);
    EXPECT_EQ(Differences(*(*got)[i], *(*want)[i]), "") << Print(before) << Print(after);
  }
  return static_cast<int>(want->size());
}

TEST(Passes, RandomGraphsKeepTheirBits) {
  int compared = 0, smaller = 0;
  for (uint64_t seed = 5000; seed < 5150; ++seed) {
    Rng rng(seed);
    const Graph before = RandomGraph(rng, 20);
    Graph after = before;
    for (const Pass& pass : Rewrites()) {
      pass.run(&after);
      ASSERT_TRUE(Verify(after).ok())
          << pass.name << Verify(after) << Print(before) << Print(after);
      compared += ExpectSameBits(rng, before, after);
      const std::string once = Print(after);
      pass.run(&after);
      // Fold and split leave nodes behind that are used no more; they would be taken up again.
      if (pass.name != "fold" && pass.name != "split") {
        EXPECT_EQ(Print(after), once) << pass.name << " is not done after one run";
      }
    }
    smaller += after.nodes.size() < before.nodes.size();
  }
  EXPECT_GT(compared, 500);
  EXPECT_GT(smaller, 100);
}

// `times` iterations of a random body over two values of state, with numbers of their own and
// values from outside; more before and behind them, which may read what iterations made.
Graph RandomLoop(Rng& rng, int times) {
  constexpr std::array kOps = {OpId::k_add, OpId::k_subtract, OpId::k_multiply, OpId::k_maximum};
  Graph graph;
  const DType dtype = Below(rng, 2) ? DType::kF32 : DType::kI32;
  const auto n = int64_t(1 + Below(rng, 40));
  const Layout* layout = Below(rng, 6) ? Dense({n}) : Dense({});
  const Layout* other = Below(rng, 4) || layout->rank == 0 ? layout : Intern(Dims({n}), Dims({0}));
  const bool number = layout->rank == 0 && Below(rng, 2);  // the state begins with one
  graph.AddInput(dtype, Device(), layout, number);
  graph.AddInput(dtype, Device(), other, number);
  graph.AddInput(dtype, Device(), Below(rng, 3) ? other : Dense({1}), false);
  const bool numbers = Below(rng, 2);
  for (int t = 0; t < times && numbers; ++t) graph.AddInput(dtype, Device(), Dense({}), true);
  const auto add = [&](OpId op, int32_t a, int32_t b) { return *graph.AddOp(op, {a, b}, {}); };
  struct Call {
    OpId op;
    int a, b;  // 0, 1: state; 2: the value from outside; 3: the number; further ones: the body
  };
  std::vector<Call> body;
  const int length = 3 + int(Below(rng, 6));
  for (int i = 0; i < length; ++i) {
    const auto pick = [&] { return int(Below(rng, 4 + i)); };
    body.push_back({kOps[Below(rng, kOps.size())], i == 0 ? 0 : pick(), i == 1 ? 1 : pick()});
  }
  int32_t state[2] = {0, 1};
  if (Below(rng, 3) == 0) state[0] = add(OpId::k_subtract, 0, 1);
  const bool cast = Below(rng, 4) == 0;
  std::vector<int32_t> every;
  for (int t = 0; t < times; ++t) {
    std::vector<int32_t> values = {state[0], state[1], 2, numbers ? 3 + t : 2};
    for (const Call& call : body) {
      // An op of two numbers would be no tensor of the state's shape.
      const int32_t a = call.a == 3 && call.b == 3 ? 2 : values[call.a];
      values.push_back(add(call.op, a, values[call.b]));
    }
    if (cast) {
      values.back() = *graph.AddOp(OpId::k_astype, {values.back()}, {int64_t(DType::kF16)});
      values.back() = *graph.AddOp(OpId::k_astype, {values.back()}, {int64_t(dtype)});
    }
    state[0] = values[values.size() - 1];
    state[1] = values[values.size() - 2];
    every.insert(every.end(), values.begin() + 4, values.end());
  }
  graph.outputs = {state[0], state[1]};
  const auto how = Below(rng, 5);
  if (how == 0) graph.outputs = {state[1]};
  if (how == 1) graph.outputs.push_back(every[Below(rng, every.size())]);
  if (how == 2) graph.outputs = {add(OpId::k_multiply, state[0], 1), add(OpId::k_add, state[1], 0)};
  return graph;
}

TEST(Roll, RandomLoopsBecomeOneAndKeepTheirBits) {
  int rolled = 0;
  for (uint64_t seed = 0; seed < 300; ++seed) {
    Rng rng(seed);
    const Graph before = RandomLoop(rng, 25 + int(Below(rng, 20)));
    Graph after = before;
    for (const Pass& pass : Rewrites()) pass.run(&after);
    ASSERT_TRUE(Verify(after).ok()) << Verify(after) << Print(before) << Print(after);
    const auto again = Parse(Print(after));
    ASSERT_TRUE(again.ok()) << again.status() << Print(after);
    EXPECT_EQ(Print(*again), Print(after));
    EXPECT_EQ(ContentKey(*again), ContentKey(after));
    ExpectSameBits(rng, before, after);
    if (!HasLoops(after)) continue;
    ++rolled;
    EXPECT_LT(after.nodes.size(), before.nodes.size());
    const Grouping groups = Fuse(after);
    EXPECT_LE(groups.groups.size(), 12u) << Print(after);
    // The whole plan, as it is compiled and run.
    const std::vector<ValueRef> inputs = RandomInputs(rng, before);
    const auto want = RunOpByOp(before, inputs);
    const auto plan = Compile(before, {});
    ASSERT_TRUE(plan.ok() && want.ok());
    std::vector<ValueRef> got(before.outputs.size());
    ASSERT_TRUE((*plan)->Run(Pointers(inputs), absl::MakeSpan(got)).ok());
    for (size_t i = 0; i < got.size(); ++i)
      EXPECT_EQ(Differences(*got[i], *(*want)[i]), "") << Print(before) << Print(after);
  }
  EXPECT_GT(rolled, 100);
}

TEST(Join, RowsOfTimeStepsKeepTheirBits) {
  for (const int rows : {1, 2, 3}) {
    for (const DType dtype : {DType::kF32, DType::kF64, DType::kF16, DType::kI32}) {
      Graph before;
      before.AddInput(dtype, Device(), Dense({9 * rows, 17}), false);
      before.AddInput(dtype, Device(), Dense({17, 5}), false);
      before.AddInput(dtype, Device(), Dense({rows, 5}), false);
      int32_t sum = 2;
      for (const int64_t t : {1, 2, 3, 4, 5, 7, 8}) {  // six is missing
        const Attrs part = {t * rows, 1, rows, 0, 1, 17};
        const int32_t x = *before.AddOp(OpId::k_slice, {0}, part);
        sum = *before.AddOp(OpId::k_subtract, {*before.AddOp(OpId::k_matmul, {x, 1}, {}), sum}, {});
      }
      before.outputs = {sum};
      Graph after = before;
      JoinProducts(&after);
      ASSERT_TRUE(Verify(after).ok()) << Verify(after) << Print(after);
      const auto products = [](const Graph& g) {
        return std::count_if(g.nodes.begin(), g.nodes.end(),
                             [](const Node& n) { return !n.input && n.op == OpId::k_matmul; });
      };
      EXPECT_EQ(products(before), 7);
      EXPECT_EQ(products(after), 3) << Print(after);
      Rng rng(rows);
      ExpectSameBits(rng, before, after);
    }
  }
}

// Parts of an array, perhaps with some missing or one on top of another, padded and added up.
TEST(Pads, PartsKeepTheirBits) {
  int joined = 0;
  for (uint64_t seed = 0; seed < 200; ++seed) {
    Rng rng(seed);
    constexpr DType kTypes[] = {DType::kF32, DType::kF64, DType::kF16, DType::kBF16};
    const DType dtype = kTypes[Below(rng, 4)];
    const auto axis = static_cast<int>(Below(rng, 2));
    const int64_t each = 1 + int64_t(Below(rng, 2)), parts = 10, other = 3;
    Attrs dims = {other, other}, part = dims;
    dims[axis] = parts * each;
    part[axis] = each;
    Graph before;
    before.AddInput(dtype, Device(), Dense({}), true);
    before.nodes.back().zero = Below(rng, 8) != 0;
    before.AddInput(dtype, Device(), Dense(dims), false);
    for (int i = 0; i < parts; ++i) before.AddInput(dtype, Device(), Dense(part), false);
    int32_t sum = Below(rng, 2) ? 1 : -1;
    const bool forwards = Below(rng, 2);
    for (int64_t t = 0; t < parts; ++t) {
      const int64_t at = forwards ? t : parts - 1 - t;
      if (Below(rng, 16) == 0) continue;
      Attrs widths(4, 0);
      widths[2 * axis] = (Below(rng, 32) == 0 ? 0 : at) * each;
      widths[2 * axis + 1] = (parts - 1) * each - widths[2 * axis];
      const int32_t pad = *before.AddOp(OpId::k_pad, {int32_t(2 + at), 0}, widths);
      sum = sum < 0 ? pad : *before.AddOp(OpId::k_add, {sum, pad}, {});
    }
    before.outputs = {sum};
    Graph after = before;
    Pads(&after);
    ASSERT_TRUE(Verify(after).ok()) << Verify(after) << Print(after);
    const auto has = [&](OpId op) {
      return std::any_of(after.nodes.begin(), after.nodes.end(),
                         [&](const Node& n) { return !n.input && n.op == op; });
    };
    EXPECT_NE(has(OpId::k_pad), has(OpId::k_concat)) << Print(after);
    EXPECT_TRUE(before.nodes[0].zero || has(OpId::k_pad));
    joined += has(OpId::k_concat);
    ExpectSameBits(rng, before, after);
  }
  EXPECT_GT(joined, 80);
}

// The halves of an array, each a sum of what is padded, as the gradients of slices of slices are.
TEST(Pads, PartsOfPartsAreOneArray) {
  constexpr int64_t kParts = 5;
  Graph before;
  before.AddInput(DType::kF32, Device(), Dense({}), true);
  before.nodes.back().zero = true;
  for (int64_t i = 0; i < 2 * kParts; ++i)
    before.AddInput(DType::kF32, Device(), Dense({1, 3}), false);
  const auto padded = [&](int32_t x, int64_t at, int64_t rows, int64_t of) {
    return *before.AddOp(OpId::k_pad, {x, 0}, {at, of - at - rows, 0, 0});
  };
  int32_t halves[2];
  for (int64_t h = 0; h < 2; ++h) {
    int32_t sum = -1;
    for (int64_t i = kParts - 1; i >= 0; --i) {
      const int32_t pad = padded(int32_t(1 + h * kParts + i), i, 1, kParts);
      sum = sum < 0 ? pad : *before.AddOp(OpId::k_add, {sum, pad}, {});
    }
    halves[h] = padded(sum, h * kParts, kParts, 2 * kParts);
  }
  before.outputs = {*before.AddOp(OpId::k_add, {halves[1], halves[0]}, {})};
  Graph after = before;
  Pads(&after);
  Dce(&after);
  ASSERT_TRUE(Verify(after).ok()) << Verify(after) << Print(after);
  const auto count = [&](OpId op) {
    return std::count_if(after.nodes.begin(), after.nodes.end(),
                         [&](const Node& n) { return !n.input && n.op == op; });
  };
  EXPECT_EQ(count(OpId::k_pad), 0) << Print(after);
  EXPECT_EQ(count(OpId::k_concat), 1) << Print(after);
  Rng rng(1);
  ExpectSameBits(rng, before, after);
}

TEST(Split, SlicesOfSumsKeepTheirBitsAndLayouts) {
  int split = 0;
  for (uint64_t seed = 0; seed < 200; ++seed) {
    Rng rng(seed);
    Graph before;
    const int64_t rows = 1 + Below(rng, 3), part = 1 + Below(rng, 5);
    before.AddInput(DType::kF32, Device(), Dense({rows, 4 * part}), false);
    before.AddInput(DType::kF32, Device(), Dense({4 * part}), false);
    before.AddInput(DType::kF32, Device(), Dense({rows, 1}), false);
    before.AddInput(DType::kF32, Device(), Dense({}), true);
    int32_t x = 0;
    for (int i = 0; i < 3; ++i) {
      const auto other = int32_t(1 + Below(rng, 3));
      x = *before.AddOp(i == 1 ? OpId::k_multiply : OpId::k_add, {x, other}, {});
    }
    for (int i = 0; i < 4; ++i) {
      const int64_t from = Below(rng, 4) * part, step = Below(rng, 2) ? 1 : -1;
      const Attrs attrs = {0, 1, rows, step > 0 ? from : from + part - 1, step, part};
      int32_t y = *before.AddOp(OpId::k_slice, {x}, attrs);
      if (Below(rng, 2)) y = *before.AddOp(OpId::k_reshape, {y}, {part, rows});
      if (Below(rng, 4)) y = *before.AddOp(OpId::k_negative, {y}, {});
      before.outputs.push_back(y);
    }
    Graph after = before;
    Split(&after);
    ASSERT_TRUE(Verify(after).ok()) << Verify(after) << Print(before) << Print(after);
    ExpectSameBits(rng, before, after);
    split += Print(after) != Print(before);
  }
  EXPECT_GT(split, 20);
}

// A value of the middle that is wanted keeps the loop as it is written.
TEST(Roll, WhatIsReadFromTheMiddleStays) {
  Rng rng(3);
  Graph graph = RandomLoop(rng, 40);
  graph.outputs.push_back(int32_t(graph.nodes.size()) / 2);
  const Graph before = graph;
  Roll(&graph);
  ASSERT_TRUE(Verify(graph).ok()) << Verify(graph);
  ExpectSameBits(rng, before, graph);
}

// Whatever is computed again, bits and outputs stay; and where much waits, less does afterwards.
TEST(Passes, RecomputingKeepsTheBits) {
  int changed = 0;
  for (uint64_t seed = 7000; seed < 9000; ++seed) {
    Rng rng(seed);
    Graph before = RandomGraph(rng, 80);
    Dce(&before);
    Copies copies;
    const std::optional<Graph> after = Recompute(before, Fuse(before), 0, &copies);
    if (!after) continue;
    ASSERT_TRUE(Verify(*after).ok()) << Verify(*after) << Print(before) << Print(*after);
    ASSERT_EQ(copies.behind.size(), after->nodes.size());
    ExpectSameBits(rng, before, *after);
    ++changed;
    for (const Group& group : Fuse(*after, true, copies).groups) {
      int32_t behind = 0;
      for (const int32_t id : group.nodes) behind = std::max(behind, copies.behind[id]);
      for (const int32_t id : group.nodes) {
        if (!after->nodes[id].view) {
          EXPECT_TRUE(behind == 0 || id > behind) << Print(*after);
        }
      }
    }
  }
  EXPECT_GT(changed, 5);
}

TEST(Passes, RecomputingLowersThePeakOfATrainingStep) {
  // Two layers of tanh(x w) * 0.5, squared, forward and backward.
  const auto before = Parse(R"(graph (f32[64,64], f32[64,64], f32[64,64], scalar f32) {
    %4 = matmul %0, %1 : f32[64,64]
    %5 = tanh %4 : f32[64,64]
    %6 = multiply %5, %3 : f32[64,64]
    %7 = multiply %6, %6 : f32[64,64]
    %8 = matmul %7, %2 : f32[64,64]
    %9 = tanh %8 : f32[64,64]
    %10 = multiply %9, %3 : f32[64,64]
    %11 = multiply %10, %10 : f32[64,64]
    %12 = matmul %11, %2 : f32[64,64]
    %13 = multiply %12, %10 : f32[64,64]
    %14 = multiply %13, %9 : f32[64,64]
    %15 = matmul %14, %2 : f32[64,64]
    %16 = matmul %7, %14 : f32[64,64]
    %17 = multiply %15, %6 : f32[64,64]
    %18 = multiply %17, %5 : f32[64,64]
    %19 = matmul %18, %1 : f32[64,64]
    return %16, %19
  })");
  ASSERT_TRUE(before.ok()) << before.status();
  Copies copies;
  const Grouping grouping = Fuse(*before);
  const std::optional<Graph> after = Recompute(*before, grouping, 1, &copies);
  ASSERT_TRUE(after);
  EXPECT_LT(PeakBytes(*after, Fuse(*after, true, copies)), PeakBytes(*before, grouping));
  Rng rng(1);
  ExpectSameBits(rng, *before, *after);
  EXPECT_FALSE(Recompute(*before, grouping, int64_t{1} << 30, &copies));
}

// An output in memory of its own stays so: the caller may hold the input in foreign memory.
TEST(Passes, FoldMakesNoOutputAnAliasOfAnInput) {
  for (uint64_t seed = 0; seed < 200; ++seed) {
    Rng rng(seed);
    const Graph before = RandomGraph(rng, 12);
    Graph after = before;
    Fold(&after);
    for (size_t i = 0; i < before.outputs.size(); ++i) {
      const bool input_before = before.nodes[BaseOf(before, before.outputs[i])].input;
      const bool input_after = after.nodes[BaseOf(after, after.outputs[i])].input;
      EXPECT_EQ(input_before, input_after) << Print(before) << Print(after);
    }
  }
}

TEST(Passes, Switches) {
  const auto some = PassSwitches::FromText("-fuse,-cse");
  ASSERT_TRUE(some.ok());
  EXPECT_TRUE(some->enabled("fold") && some->enabled("dce"));
  EXPECT_FALSE(some->enabled("fuse") || some->enabled("cse"));
  EXPECT_FALSE(PassSwitches::FromText("none")->enabled("inplace"));
  EXPECT_EQ(PassSwitches::FromText("fuse").status().message().substr(0, 8), "[passes]");
  EXPECT_FALSE(PassSwitches::FromText("-fuze").ok());
}

}  // namespace
}  // namespace frazil::jit
