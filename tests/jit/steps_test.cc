// Loops of steps: random bodies with products and reductions, rolled and run as they were.
#include <array>

#include "core/str.h"
#include "gtest/gtest.h"
#include "jit/graph/loop_kernel.h"
#include "jit/graph/passes/passes.h"
#include "jit/plan/compile.h"
#include "jit/run/plan.h"
#include "tests/jit/graph_gen.h"

namespace frazil::jit {
namespace {

struct Options {
  int times = 30;
  bool keep = true;  // values of iterations are read behind the loop
};

// Iterations of a random body over two matrices of state, with values of their own: slices of one
// input, inputs, numbers.
class StepsMaker {
 public:
  StepsMaker(Rng& rng, Options options) : rng_(rng), times_(options.times), keep_(options.keep) {}

  Graph Run() {
    m_ = int64_t(1 + Below(rng_, 3));
    n_ = int64_t(2 + Below(rng_, 7));
    const DType dtype = Below(rng_, 4) ? DType::kF32 : DType::kI32;
    const bool turned = Below(rng_, 3) == 0;  // time is an inner axis, later iterations come first
    x_ = graph_.AddInput(dtype, Device(),
                         turned ? Dense({m_, times_, n_}) : Dense({times_, m_, n_}), false);
    w_ = graph_.AddInput(dtype, Device(), Dense({n_, n_}), false);
    std::vector<int32_t> state = {
        graph_.AddInput(dtype, Device(), Dense({m_, n_}), false),
        graph_.AddInput(dtype, Device(), Intern(Dims({m_, n_}), Dims({0, 1})), false)};
    const int32_t first_own = graph_.num_inputs;
    for (int t = 0; t < times_; ++t) graph_.AddInput(dtype, Device(), Dense({m_, n_}), false);
    const int32_t first_number = graph_.num_inputs;
    for (int t = 0; t < times_; ++t) graph_.AddInput(dtype, Device(), Dense({}), true);
    MakeBody();
    const size_t kept = 5 + Below(rng_, body_.size());
    std::vector<int32_t> every, values;
    for (int t = 0; t < times_; ++t) {
      const int32_t x = turned
                            ? Add(OpId::k_slice, {x_}, {0, 1, m_, times_ - 1 - t, 1, 1, 0, 1, n_})
                            : Add(OpId::k_slice, {x_}, {t, 1, 1, 0, 1, m_, 0, 1, n_});
      values = {state[0], state[1], Add(OpId::k_reshape, {x}, {m_, n_}), first_own + t,
                first_number + t};
      for (const Call& call : body_) values.push_back(AddCall(call, values));
      state = {values[values.size() - 1], values[values.size() - 2]};
      if (keep_) every.push_back(values[kept]);
    }
    graph_.outputs = {state[0]};
    if (Below(rng_, 2)) graph_.outputs.push_back(state[1]);
    if (keep_) Keep(every);
    return std::move(graph_);
  }

 private:
  enum class What { kProduct, kTransposedProduct, kElementwise, kRows, kView };
  struct Call {
    What what;
    OpId op;
    size_t a, b;
  };

  int32_t Add(OpId op, absl::Span<const int32_t> operands, const Attrs& attrs) {
    return *graph_.AddOp(op, operands, attrs);
  }

  void MakeBody() {
    constexpr std::array kOps = {OpId::k_add, OpId::k_subtract, OpId::k_maximum, OpId::k_multiply};
    const int length = 3 + int(Below(rng_, 5));
    for (int i = 0; i < length; ++i) {
      const size_t known = 5 + body_.size();
      const auto pick = [&] {
        const size_t value = Below(rng_, known);
        return value == 4 ? 0 : value;
      };
      Call call{What(Below(rng_, 5)), kOps[Below(rng_, kOps.size())], pick(),
                size_t(Below(rng_, known))};
      if (i == 0) call.what = What::kProduct, call.a = 0;
      if (i == 1) call = {What::kElementwise, OpId::k_add, 5, 1};
      body_.push_back(call);
    }
    body_.push_back({What::kElementwise, OpId::k_subtract, 4 + body_.size(), 5});
  }

  int32_t AddCall(const Call& call, const std::vector<int32_t>& values) {
    const int32_t a = values[call.a];
    switch (call.what) {
      case What::kProduct:
        return Add(OpId::k_matmul, {a, w_}, {});
      case What::kTransposedProduct:
        return Add(OpId::k_matmul, {a, Add(OpId::k_permute_dims, {w_}, {1, 0})}, {});
      case What::kElementwise:
        return Add(call.op, {a, values[call.b]}, {});
      case What::kRows: {
        const int32_t sum = Add(OpId::k_sum, {a}, {2, 0});
        return Add(OpId::k_subtract, {a, Add(OpId::k_reshape, {sum}, {m_, 1})}, {});
      }
      case What::kView: {
        const int32_t turned = Add(OpId::k_permute_dims, {a}, {1, 0});
        const int32_t product = Add(OpId::k_matmul, {turned, a}, {});
        return Add(OpId::k_matmul, {a, product}, {});
      }
    }
    return a;
  }

  void Keep(const std::vector<int32_t>& every) {
    const auto how = Below(rng_, 4);
    if (how == 0) {  // some, each by itself
      for (const int32_t id : every) {
        if (Below(rng_, 4) == 0) graph_.outputs.push_back(id);
      }
      graph_.outputs.push_back(Add(OpId::k_add, {every[1], every[every.size() - 2]}, {}));
      return;
    }
    const int64_t axis = how == 3 ? 1 : 0;
    const bool reversed = Below(rng_, 3) == 0;
    absl::InlinedVector<int32_t, 8> parts;
    for (const int32_t id : every) {
      parts.push_back(
          how == 1 ? id : Add(OpId::k_reshape, {id}, axis ? Attrs{m_, 1, n_} : Attrs{1, m_, n_}));
    }
    if (reversed) std::reverse(parts.begin(), parts.end());
    graph_.outputs.push_back(Add(OpId::k_concat, parts, {axis}));
  }

  Rng& rng_;
  const int times_;
  const bool keep_;
  int64_t m_ = 0, n_ = 0;
  int32_t x_ = 0, w_ = 0;
  Graph graph_;
  std::vector<Call> body_;
};

Graph RandomSteps(Rng& rng, Options options) { return StepsMaker(rng, options).Run(); }

Graph Rolled(Graph graph) {
  for (const Pass& pass : Passes()) {
    if (pass.run) pass.run(&graph);
  }
  return graph;
}

bool HasSteps(const Graph& graph) {
  for (int32_t id = 0; id < int32_t(graph.nodes.size()); ++id) {
    if (graph.nodes[id].loop && !IsOneKernel(graph, id)) return true;
  }
  return false;
}

std::vector<Value*> Pointers(const std::vector<ValueRef>& values) {
  std::vector<Value*> pointers;
  for (const ValueRef& v : values) pointers.push_back(v.get());
  return pointers;
}

// The graph as a plan against its ops one by one.
void ExpectSameRun(Rng& rng, const Graph& graph, const CompileSettings& settings) {
  const std::vector<ValueRef> inputs = RandomInputs(rng, graph);
  const auto want = RunOpByOp(graph, inputs);
  const auto plan = CompileWith(graph, {}, settings);
  ASSERT_TRUE(plan.ok() && want.ok()) << plan.status() << want.status() << Print(graph);
  for (int round = 0; round < 2; ++round) {
    std::vector<ValueRef> got(graph.outputs.size());
    ASSERT_TRUE((*plan)->Run(Pointers(inputs), absl::MakeSpan(got)).ok());
    for (size_t i = 0; i < got.size(); ++i)
      ASSERT_EQ(Differences(*got[i], *(*want)[i]), "") << i << Print(graph) << (*plan)->Dump();
  }
  const tracer::MemoryReport memory = (*plan)->Report().memory;
  EXPECT_GE(memory.arena_bytes, memory.arena_bound);
}

TEST(Steps, RandomBodiesBecomeLoopsAndKeepTheirBits) {
  int rolled = 0, kept = 0;
  for (uint64_t seed = 0; seed < 120; ++seed) {
    Rng rng(seed);
    const Options options{.times = 25 + int(Below(rng, 12)), .keep = Below(rng, 3) > 0};
    const Graph before = RandomSteps(rng, options);
    const Graph after = Rolled(before);
    ASSERT_TRUE(Verify(after).ok()) << Verify(after) << Print(before) << Print(after);
    const auto again = Parse(Print(after));
    ASSERT_TRUE(again.ok()) << again.status() << Print(after);
    EXPECT_EQ(Print(*again), Print(after));
    EXPECT_EQ(ContentKey(*again), ContentKey(after));
    EXPECT_NE(ContentKey(before), ContentKey(after));
    const std::vector<ValueRef> inputs = RandomInputs(rng, before);
    const auto want = RunOpByOp(before, inputs), got = RunOpByOp(after, inputs);
    ASSERT_TRUE(want.ok() && got.ok()) << want.status() << got.status() << Print(after);
    for (size_t i = 0; i < want->size(); ++i) {
      EXPECT_EQ((*want)[i]->layout, (*got)[i]->layout);
      ASSERT_EQ(Differences(*(*got)[i], *(*want)[i]), "") << Print(before) << Print(after);
    }
    CompileSettings settings{.verify = true, .always_branch = Below(rng, 2) == 0};
    ExpectSameRun(rng, before, settings);
    settings.passes = *PassSwitches::FromText("-inplace,-fuse");
    ExpectSameRun(rng, before, settings);
    if (!HasSteps(after)) continue;
    ++rolled;
    kept += options.keep;
  }
  EXPECT_GT(rolled, 95);
  EXPECT_GT(kept, 60);
}

// A plan does not grow with the iterations, and neither does its arena.
TEST(Steps, PlansOfLongLoopsAreAsSmall) {
  const auto graph_of = [](int times) {
    Graph graph;
    graph.AddInput(DType::kF32, Device(), Dense({times, 2, 8}), false);
    graph.AddInput(DType::kF32, Device(), Dense({8, 8}), false);
    graph.AddInput(DType::kF32, Device(), Dense({2, 8}), false);
    int32_t h = 2;
    for (int t = 0; t < times; ++t) {
      const int32_t x = *graph.AddOp(OpId::k_slice, {0}, {t, 1, 1, 0, 1, 2, 0, 1, 8});
      const int32_t part = *graph.AddOp(OpId::k_reshape, {x}, {2, 8});
      const int32_t product = *graph.AddOp(OpId::k_matmul, {h, 1}, {});
      h = *graph.AddOp(OpId::k_tanh, {*graph.AddOp(OpId::k_add, {product, part}, {})}, {});
    }
    graph.outputs = {h};
    return graph;
  };
  CompileSettings settings;
  settings.passes = *PassSwitches::FromText("-scalars");
  const auto small = CompileWith(graph_of(30), {}, settings);
  const auto large = CompileWith(graph_of(1000), {}, settings);
  ASSERT_TRUE(small.ok() && large.ok());
  EXPECT_EQ((*small)->bytes(), (*large)->bytes());
  EXPECT_EQ((*small)->stats().arena_bytes, (*large)->stats().arena_bytes);
  EXPECT_EQ((*large)->stats().library_calls, 1000);
  EXPECT_NE((*large)->Dump().find("loop of 1000 {"), std::string::npos);
}

// One block of state is enough where an iteration may overwrite what it read last.
TEST(Steps, StateIsOverwrittenWhereItMayBe) {
  Graph graph;
  const int64_t n = 1 << 14;
  graph.AddInput(DType::kF32, Device(), Dense({n}), false);
  int32_t x = 0;
  for (int t = 0; t < 40; ++t) {
    const int32_t sum = *graph.AddOp(OpId::k_sum, {x}, {1, 0});
    x = *graph.AddOp(OpId::k_subtract, {x, sum}, {});
  }
  graph.outputs = {*graph.AddOp(OpId::k_sum, {x}, {1, 0})};
  const auto plan = CompileWith(graph, {}, {});
  CompileSettings apart;
  apart.passes = *PassSwitches::FromText("-inplace");
  const auto other = CompileWith(graph, {}, apart);
  ASSERT_TRUE(plan.ok() && other.ok());
  EXPECT_LT((*plan)->stats().arena_bytes, 4 * n + 4096) << (*plan)->Dump();
  EXPECT_GE((*other)->stats().arena_bytes, 8 * n);
  Rng rng(1);
  ExpectSameRun(rng, graph, {});
}

TEST(Steps, TheVerifierRefusesLoopsThatAreNone) {
  constexpr std::string_view kGraph = R"(
    graph (f32[8,4], f32[4,4], f32[1,4]) {
      %3 = loop %0, %1, %2 : bool[0] times 8 (slide 0 by 4, same, state 0) graph (
           f32[1,4], f32[4,4], f32[1,4]) {
        %3 = matmul %2, %1 : f32[1,4]
        %4 = add %3, %0 : f32[1,4]
        return %4
      }
      %4 = every %3 {0} : f32[8,1,4]
      return %4
    })";
  EXPECT_TRUE(Parse(kGraph).ok()) << Parse(kGraph).status();
  const auto refused = [&](std::string_view from, std::string_view to) {
    std::string text(kGraph);
    const size_t at = text.find(from);
    ASSERT_NE(at, std::string::npos);
    text.replace(at, from.size(), to);
    EXPECT_FALSE(Parse(text).ok()) << text;
  };
  refused("slide 0 by 4", "slide 4 by 4");
  refused("slide 0 by 4", "slide -4 by 4");
  refused("slide 0 by 4", "slide 0 by 9223372036854775807");
  refused("times 8", "times 9");
  refused("times 8", "times 9223372036854775807");
  refused("slide 0 by 4", "each");
  refused("slide 0 by 4, same", "slide 0 by 4");
  refused("state 0", "state 1");
  refused("state 0", "state -1");
  refused("return %4\n      }", "return %3, %3\n      }");
  refused("return %4\n      }", "return %0\n      }");
  refused("{0} : f32[8,1,4]", "{1} : f32[8,1,4]");
  refused("{0} : f32[8,1,4]", "{0} : f32[7,1,4]");
  refused("every %3", "end %3");
  refused("every %3 {0}", "every %2 {0}");
}

}  // namespace
}  // namespace frazil::jit
