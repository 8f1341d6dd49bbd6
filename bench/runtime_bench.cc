// The runtime's own costs: one eager op on 16 floats, a chain of ten eager and compiled, compiling
// by stages.
#include <benchmark/benchmark.h>

#include <cstring>

#include "core/apply.h"
#include "core/check.h"
#include "jit/cache/kernel_cache.h"
#include "jit/graph/passes/passes.h"
#include "jit/plan/compile.h"
#include "jit/register.h"

namespace frazil::jit {
namespace {

Tensor Ones(int64_t n) {
  ValueRef v = *Value::Allocate(DType::kF32, Device(), Dense({n}));
  for (int64_t i = 0; i < n; ++i) reinterpret_cast<float*>(v->data)[i] = 1;
  return Tensor(std::move(v));
}

void EagerAdd(benchmark::State& state) {
  RegisterJit();
  const Tensor x = Ones(state.range(0)), y = Ones(state.range(0));
  for (auto _ : state) benchmark::DoNotOptimize(Apply(OpId::k_add, {&x, &y}));
}
BENCHMARK(EagerAdd)->Arg(16)->Arg(1024)->Arg(1 << 20);

void EagerReshape(benchmark::State& state) {
  RegisterJit();
  const Tensor x = Ones(16);
  for (auto _ : state) benchmark::DoNotOptimize(Apply(OpId::k_reshape, {&x}, {4, 4}));
}
BENCHMARK(EagerReshape);

// ((x * s + x) * s + x) ...
Graph Chain(int64_t n, int ops) {
  Graph graph;
  const int32_t x = graph.AddInput(DType::kF32, Device(), Dense({n}), false);
  const int32_t s = graph.AddInput(DType::kF32, Device(), Scalar0d(), true);
  int32_t y = x;
  for (int i = 0; i < ops; ++i)
    y = *graph.AddOp(i % 2 ? OpId::k_add : OpId::k_multiply, {y, i % 2 ? x : s}, {});
  graph.outputs = {y};
  return graph;
}

void EagerChain10(benchmark::State& state) {
  RegisterJit();
  const Tensor x = Ones(state.range(0)), s(Value::Immediate(DType::kF32, 0x3F000000));
  for (auto _ : state) {
    Tensor y = x;
    for (int i = 0; i < 10; ++i)
      y = Apply(i % 2 ? OpId::k_add : OpId::k_multiply, {&y, i % 2 ? &x : &s});
    benchmark::DoNotOptimize(y);
  }
}
BENCHMARK(EagerChain10)->Arg(16)->Arg(1 << 20);

void PlanChain10(benchmark::State& state) {
  const auto plan = *Compile(Chain(state.range(0), 10), {});
  const Tensor x = Ones(state.range(0)), s(Value::Immediate(DType::kF32, 0x3F000000));
  Value* const inputs[] = {x.value(), s.value()};
  for (auto _ : state) {
    ValueRef out;
    FZ_CHECK(plan->Run(inputs, absl::MakeSpan(&out, 1)).ok());
    benchmark::DoNotOptimize(out);
  }
}
BENCHMARK(PlanChain10)->Arg(16)->Arg(1 << 20);

// The stages of compiling, and all of them, with the kernel known or new.
void GraphPasses(benchmark::State& state) {
  const Graph graph = Chain(1000, static_cast<int>(state.range(0)));
  for (auto _ : state) {
    Graph copy = graph;
    for (const Pass& pass : Passes()) {
      if (pass.run) pass.run(&copy);
    }
    benchmark::DoNotOptimize(copy);
  }
}
BENCHMARK(GraphPasses)->Arg(1)->Arg(10)->Arg(50);

void FusePass(benchmark::State& state) {
  const Graph graph = Chain(1000, static_cast<int>(state.range(0)));
  for (auto _ : state) benchmark::DoNotOptimize(Fuse(graph));
}
BENCHMARK(FusePass)->Arg(1)->Arg(10)->Arg(50);

void LowerGroups(benchmark::State& state) {
  const Graph graph = Chain(1000, static_cast<int>(state.range(0)));
  const Grouping grouping = Fuse(graph);
  for (auto _ : state) {
    for (const Group& group : grouping.groups) benchmark::DoNotOptimize(Lower(graph, group));
  }
}
BENCHMARK(LowerGroups)->Arg(1)->Arg(10)->Arg(50);

void EmitKernel(benchmark::State& state) {
  const Graph graph = Chain(1000, static_cast<int>(state.range(0)));
  const auto lowered = Lower(graph, Fuse(graph).groups[0]);
  FZ_CHECK(lowered.ok() && lowered->launches.size() == 1);
  for (auto _ : state) {
    ClearKernelCache();
    benchmark::DoNotOptimize(GetKernel(lowered->launches[0].kernel));
  }
}
BENCHMARK(EmitKernel)->Arg(1)->Arg(10)->Arg(50);

void CompileKnownKernels(benchmark::State& state) {
  const Graph graph = Chain(1000, static_cast<int>(state.range(0)));
  for (auto _ : state) benchmark::DoNotOptimize(Compile(graph, {}));
}
BENCHMARK(CompileKnownKernels)->Arg(1)->Arg(10)->Arg(50);

void CompileNewKernels(benchmark::State& state) {
  const Graph graph = Chain(1000, static_cast<int>(state.range(0)));
  for (auto _ : state) {
    ClearKernelCache();
    benchmark::DoNotOptimize(Compile(graph, {}));
  }
}
BENCHMARK(CompileNewKernels)->Arg(1)->Arg(10)->Arg(50);

}  // namespace
}  // namespace frazil::jit
