// Plans on the generic kernel while their own kernels are compiled, on the fake libraries.
#include <chrono>
#include <cstdlib>
#include <thread>

#include "core/functions/composites.h"
#include "jit/plan/compile.h"
#include "jit/run/cuda/generic.h"
#include "tests/cuda/on_gpu.h"

namespace frazil {
namespace {

using Clock = std::chrono::steady_clock;
using ops::operator+, ops::operator-, ops::operator*, ops::operator/;

class GenericRun : public OnGpu {
 protected:
  void TearDown() override {
    unsetenv("FAKE_NVRTC_DELAY_MS");
    jit::SetGenericUse(jit::GenericUse::kNever);
    OnGpu::TearDown();
  }

  // Of some kernels that nothing else here makes.
  static Tensor Many(absl::Span<const Tensor> a) {
    const Tensor x = ops::exp(a[0]) * 0.625, picked = ops::where(ops::greater(x, 1.125), x, a[1]);
    return ops::sum(picked, Axes{{0}}) - ops::sum(x * a[1], Axes{{1}});
  }
};

TEST_F(GenericRun, AlwaysGivesTheBitsOfTheCpu) {
  jit::SetGenericUse(jit::GenericUse::kAlways);
  const int64_t before = jit::GenericLaunches();
  const Axes last{{1}};
  for (const DType dtype : {DType::kF32, DType::kF64, DType::kF16, DType::kI32, DType::kU8}) {
    const std::vector<Tensor> arrays = {Random(dtype, {37, 65}), Random(dtype, {37, 65})};
    const std::string what(Name(dtype));
    Compare(
        arrays, [](auto a) { return a[0] * a[1] + a[0]; }, what);
    Compare(
        arrays, [](auto a) { return ops::max(a[0], Axes{{0}}); }, what);
    Compare(
        arrays, [&](auto a) { return ops::sum(a[0] * a[1], last); }, what);
    Compare(
        arrays, [](auto a) { return ops::astype(a[0], DType::kF32) / 3.0; }, what);
  }
  const std::vector<Tensor> floats = {Random(DType::kF32, {40, 40}), Random(DType::kF32, {40, 40})};
  Compare(floats, Many, "many");
  Compare(
      floats, [](auto a) { return ops::softmax(a[0]); }, "softmax");
  // Chunks: 64 lanes along the row, 8 along the column.
  Compare(
      {Random(DType::kF32, {2, 9000})}, [](auto a) { return ops::sum(a[0], Axes{{1}}); }, "row");
  Compare(
      {Random(DType::kF32, {9000, 3})}, [](auto a) { return ops::sum(a[0], Axes{{0}}); }, "column");
  EXPECT_GT(jit::GenericLaunches(), before + 20);
}

TEST_F(GenericRun, ASlowCompilerDelaysNothing) {
  jit::SetGenericUse(jit::GenericUse::kAuto);
  const std::vector<Tensor> arrays = {Random(DType::kF32, {40, 40}), Random(DType::kF32, {40, 40})};
  // The generic kernel itself was waited for, or is on disk, before anything is slow.
  ASSERT_TRUE(jit::GenericModule::Of(*cuda::Device::Get(0))->Function().ok());
  setenv("FAKE_NVRTC_DELAY_MS", "60000", 1);  // or until it is unset
  const Axes rows{{1}};                       // made here: inside f GCC takes its memory for unset
  const auto f = [&](absl::Span<const Tensor> a) {
    return ops::max(ops::sin(a[0]) + ops::floor(a[1]), rows);
  };
  const int64_t before = jit::GenericLaunches();
  const auto start = Clock::now();
  for (int i = 0; i < 4; ++i) Compare(arrays, f, "while the compiler works");
  EXPECT_LT(Clock::now() - start, std::chrono::seconds(55));
  const int64_t during = jit::GenericLaunches() - before;
  EXPECT_GE(during, 4);
  EXPECT_EQ(during % 4, 0);
  // Once they are there, the kernels themselves run.
  unsetenv("FAKE_NVRTC_DELAY_MS");
  bool compiled = false;
  while (!compiled && Clock::now() - start < std::chrono::seconds(300)) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    const int64_t launches = jit::GenericLaunches();
    Compare(arrays, f, "after");
    compiled = jit::GenericLaunches() == launches;
  }
  EXPECT_TRUE(compiled);
}

// Also where they would be one graph.
TEST_F(GenericRun, GraphsWaitForTheCompilerAndCallersDoNot) {
  jit::SetGenericUse(jit::GenericUse::kAuto);
  ASSERT_TRUE(jit::GenericModule::Of(*cuda::Device::Get(0))->Function().ok());
  setenv("FAKE_NVRTC_DELAY_MS", "60000", 1);
  const auto graph = jit::Parse(
      "graph (f32[40,30]@cuda, scalar f32) {\n"
      "  %2 = exp %0 : f32[40,30]@cuda\n"
      "  %3 = sum %2 {1, 0} : f32[30]@cuda\n"
      "  %4 = multiply %3, %1 : f32[30]@cuda\n"
      "  %5 = sqrt %4 : f32[30]@cuda\n"
      "  return %5\n"
      "}\n");
  ASSERT_TRUE(graph.ok()) << graph.status();
  jit::CompileSettings settings;
  settings.passes = *jit::PassSwitches::FromText("-fuse");
  const auto start = Clock::now();
  const auto plan = jit::CompileWith(*graph, {}, settings);
  ASSERT_TRUE(plan.ok()) << plan.status();
  const Tensor x = Random(DType::kF32, {40, 30});
  const ValueRef s = Value::Immediate(DType::kF32, 0x3f200000);
  const ValueRef input = *Value::Allocate(DType::kF32, kGpu, x.value()->layout);
  ASSERT_TRUE(CopyBytes(kGpu, input->data, Device(), x.value()->data, 40 * 30 * 4).ok());
  const auto run = [&] {
    Value* inputs[] = {input.get(), s.get()};
    ValueRef out;
    const Status status = (*plan)->Run(inputs, {&out, 1});
    EXPECT_TRUE(status.ok()) << status;
    return out;
  };
  const unsigned long long graphs = Count("cuGraphLaunch");
  const ValueRef first = run();
  for (int i = 0; i < 4; ++i) run();
  EXPECT_LT(Clock::now() - start, std::chrono::seconds(55));
  EXPECT_EQ(Count("cuGraphLaunch"), graphs);
  unsetenv("FAKE_NVRTC_DELAY_MS");
  while (Count("cuGraphLaunch") == graphs && Clock::now() - start < std::chrono::seconds(300)) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    run();
  }
  EXPECT_GT(Count("cuGraphLaunch"), graphs);
  EXPECT_EQ(Differences(Tensor(*OnHost(*first)), Tensor(run())), 0);
}

}  // namespace
}  // namespace frazil
