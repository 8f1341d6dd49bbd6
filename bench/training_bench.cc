// Traced calls from C++: a call that matches, the check of its guards, a training step.
#include <benchmark/benchmark.h>

#include "bindings/cpp/frazil.h"
#include "core/check.h"

namespace {

namespace fz = frazil;

// A chain of `ops` additions; all but the last value are deferred and dropped.
fz::Tensor Adds(const fz::Tensor& x, int64_t ops) {
  fz::Tensor y = x;
  for (int64_t i = 0; i < ops; ++i) y = fz::ops::add(y, x);
  return y;
}

// Time per call and, as `per_op`, of one op. The difference between two lengths, over the
// difference of their ops, is a matched op; length 0 is entering and leaving a trace.
void MatchedCall(benchmark::State& state) {
  const fz::Tensor x = fz::ones({16}) + 0.0;
  const int64_t ops = state.range(0);
  auto traced = fz::jit::trace([&](const fz::Tensor& t) { return Adds(t, ops); });
  for (int i = 0; i < 2; ++i) traced(x);
  for (auto _ : state) benchmark::DoNotOptimize(traced(x));
  FZ_CHECK(traced.stats().recorded <= 1 && traced.stats().fallbacks == 0);
  if (ops > 0) {
    state.counters["per_op"] =
        benchmark::Counter(static_cast<double>(ops), benchmark::Counter::kIsIterationInvariantRate |
                                                         benchmark::Counter::kInvert);
  }
}
BENCHMARK(MatchedCall)->Arg(0)->Arg(1)->Arg(10)->Arg(100)->Arg(400);

// A call by promise of the chain that PlanChain10 runs: the difference is what skipping costs
// beside the kernel.
void SkippedCall(benchmark::State& state) {
  const fz::Tensor x = fz::ones({16}) + 0.0;
  auto traced = fz::jit::trace([](const fz::Tensor& t) { return Adds(t, 10); }, fz::jit::pure);
  for (int i = 0; i < 4; ++i) traced(x);
  for (auto _ : state) benchmark::DoNotOptimize(traced(x));
}
BENCHMARK(SkippedCall);

// Every op reads tensors that are first met there, whose dtype, layout and device are checked: the
// worst case of a guard check.
void GuardCheck(benchmark::State& state) {
  std::vector<fz::Tensor> x;
  for (int64_t i = 0; i < state.range(0) * 2; ++i) x.push_back(fz::ones({16}) + double(i));
  auto traced = fz::jit::trace([&](const fz::Tensor& first) {
    fz::Tensor y = first;
    // Results nobody wants: matched, never run.
    for (size_t i = 0; i + 1 < x.size(); i += 2) fz::ops::add(x[i], x[i + 1]);
    return y;
  });
  for (int i = 0; i < 2; ++i) traced(x[0]);
  for (auto _ : state) benchmark::DoNotOptimize(traced(x[0]));
  state.counters["per_op"] = benchmark::Counter(
      static_cast<double>(state.range(0)),
      benchmark::Counter::kIsIterationInvariantRate | benchmark::Counter::kInvert);
}
BENCHMARK(GuardCheck)->Arg(10)->Arg(100);

// A multilayer perceptron 64-128-10, batches of 64, gradient descent.
struct Network {
  fz::Tensor x, labels;
  std::vector<fz::Tensor> parameters;

  Network() {
    x = fz::reshape(fz::arange(64 * 64, fz::DType::kF32) * 1e-3, {64, 64});
    std::vector<int64_t> y(64);
    for (int i = 0; i < 64; ++i) y[i] = i % 10;
    labels = fz::tensor(y, {64});
    int64_t in = 64;
    for (const int64_t out : {128, 10}) {
      parameters.push_back(fz::reshape(fz::sin(fz::arange(in * out, fz::DType::kF32)), {in, out}) *
                           0.05);
      parameters.push_back(fz::zeros({out}) + 0.0);
      in = out;
    }
    for (fz::Tensor& p : parameters) fz::set_requires_grad(p);
  }

  fz::Tensor Step() {
    auto& p = parameters;
    const fz::Tensor h = fz::relu(fz::matmul(x, p[0]) + p[1]);
    const fz::Tensor loss = fz::cross_entropy(fz::matmul(h, p[2]) + p[3], labels);
    fz::backward(loss);
    const fz::NoGrad no_grad;
    for (fz::Tensor& t : p) {
      t.SetValue((t - fz::grad_of(t) * 0.01).value_ref());
      fz::ThrowIf(fz::autograd::SetGrad(&t, fz::Tensor()));
    }
    return loss;
  }
};

void EagerTrainingStep(benchmark::State& state) {
  Network network;
  for (auto _ : state) benchmark::DoNotOptimize(network.Step());
}
BENCHMARK(EagerTrainingStep);

void TracedTrainingStep(benchmark::State& state) {
  Network network;
  auto step = fz::jit::trace([&] { return network.Step(); });
  for (int i = 0; i < 3; ++i) step();
  for (auto _ : state) benchmark::DoNotOptimize(step());
}
BENCHMARK(TracedTrainingStep);

}  // namespace

BENCHMARK_MAIN();
