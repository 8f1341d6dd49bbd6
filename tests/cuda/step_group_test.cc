// Steps of plans on a GPU, launched one by one and as graphs: the same values, whatever fails.
#include <cstring>
#include <thread>

#include "core/backend.h"
#include "jit/cuda/device.h"
#include "jit/plan/compile.h"
#include "jit/register.h"
#include "jit/run/device_backend.h"
#include "tests/cuda/on_fakes.h"

namespace frazil::jit {
namespace {

class Graphs : public cuda::OnFakes {
 protected:
  void SetUp() override {
    RegisterJit();
    OnFakes::SetUp();
    const auto graph = Parse(
        "graph (f32[40,30]@cuda, f32[30]@cuda, scalar f32) {\n"
        "  %3 = exp %0 : f32[40,30]@cuda\n"
        "  %4 = sum %3 {1, 0} : f32[30]@cuda\n"
        "  %5 = sum %3 {2, 0} : f32[40]@cuda\n"
        "  %6 = multiply %1, %2 : f32[30]@cuda\n"
        "  %7 = add %4, %6 : f32[30]@cuda\n"
        "  %8 = sum %7 {1, 0} : f32[]@cuda\n"
        "  %9 = subtract %5, %8 : f32[40]@cuda\n"
        "  return %9, %7\n"
        "}\n");
    ASSERT_TRUE(graph.ok()) << graph.status();
    // Apart, so that there are many steps and an arena.
    CompileSettings settings;
    settings.passes = *PassSwitches::FromText("-fuse");
    const auto plan = CompileWith(*graph, {}, settings);
    ASSERT_TRUE(plan.ok()) << plan.status();
    plan_ = *plan;
    Graph on_cpu = *graph;
    for (Node& node : on_cpu.nodes) node.device = Device();
    reference_ = *CompileWith(std::move(on_cpu), {}, settings);
  }

  static ValueRef Host(std::vector<int64_t> dims, int seed) {
    ValueRef v = *Value::Allocate(DType::kF32, Device(), Dense(dims));
    auto* data = reinterpret_cast<float*>(v->data);
    for (int64_t i = 0; i < v->size(); ++i) data[i] = float((i * 37 + seed * 11) % 101) / 64 - 0.7f;
    return v;
  }
  static ValueRef OnGpu(const Value& v) {
    const Device gpu(DeviceKind::kCuda, 0);
    ValueRef out = *Value::Allocate(v.dtype, gpu, v.layout);
    EXPECT_TRUE(CopyBytes(gpu, out->data, v.device, v.data, size_t(v.size()) * 4).ok());
    return out;
  }

  // Runs the plan on new values; the memory of the results of earlier runs may still be held.
  Status RunOnce(int seed, std::vector<ValueRef>* held) {
    const ValueRef x = Host({40, 30}, seed), y = Host({30}, seed + 1),
                   s = Value::Immediate(DType::kF32, uint64_t(0x3f000000 + seed));
    const ValueRef gx = OnGpu(*x), gy = OnGpu(*y);
    Value* inputs[] = {gx.get(), gy.get(), s.get()};
    Value* host_inputs[] = {x.get(), y.get(), s.get()};
    ValueRef got[2], want[2];
    FZ_RETURN_IF_ERROR(plan_->Run(inputs, got));
    FZ_RETURN_IF_ERROR(reference_->Run(host_inputs, want));
    for (int i = 0; i < 2; ++i) {
      FZ_ASSIGN_OR_RETURN(const ValueRef host, OnHost(*got[i]));
      EXPECT_EQ(std::memcmp(host->data, want[i]->data, size_t(want[i]->size()) * 4), 0)
          << "output " << i << " of run " << seed;
      if (held) held->push_back(got[i]);
    }
    return absl::OkStatus();
  }

  std::shared_ptr<const Plan> plan_, reference_;
};

TEST_F(Graphs, AreLaunchedFromTheThirdRunOn) {
  const auto graphs = Count("cuGraphLaunch"), apart = Count("cuLaunchKernel");
  std::vector<ValueRef> held;
  for (int run = 0; run < 2; ++run) ASSERT_TRUE(RunOnce(run, &held).ok());
  EXPECT_EQ(Count("cuGraphLaunch"), graphs);
  const auto launches = Count("cuLaunchKernel");
  EXPECT_GE(launches - apart, 2u * 7);
  for (int run = 2; run < 10; ++run) ASSERT_TRUE(RunOnce(run, run % 3 ? &held : nullptr).ok());
  EXPECT_EQ(Count("cuGraphLaunch"), graphs + 8);
  EXPECT_EQ(Count("cuLaunchKernel"), launches);
  EXPECT_EQ(Count("cuGraphInstantiateWithFlags"), 1u);
}

TEST_F(Graphs, WithoutChangeAreNotUpdated) {
  for (int run = 0; run < 4; ++run) ASSERT_TRUE(RunOnce(1, nullptr).ok());
  const auto updates = Count("cuGraphExecKernelNodeSetParams");
  for (int run = 0; run < 4; ++run) ASSERT_TRUE(RunOnce(1, nullptr).ok());
  EXPECT_EQ(Count("cuGraphExecKernelNodeSetParams"), updates);
}

TEST_F(Graphs, WhatTheDriverRefusesRunsApart) {
  for (const char* call : {"cuGraphCreate", "cuGraphAddKernelNode", "cuGraphInstantiateWithFlags",
                           "cuGraphExecKernelNodeSetParams"}) {
    SetUp();  // another plan
    std::vector<ValueRef> held;
    for (int run = 0; run < 3; ++run) {
      if (run == 2) Fail(call, 1, cuda::kInvalidValue);
      ASSERT_TRUE(RunOnce(run, &held).ok()) << call;
    }
    const auto graphs = Count("cuGraphLaunch");
    for (int run = 3; run < 7; ++run) ASSERT_TRUE(RunOnce(run, &held).ok()) << call;
    EXPECT_GE(Count("cuGraphLaunch"), graphs + 3) << call;  // of another graph
  }
  EXPECT_EQ(fake::Cuda().fake_cuda_live("graph"), fake::Cuda().fake_cuda_live("exec"));
}

TEST_F(Graphs, ThreeRefusalsAreEnough) {
  for (int run = 0; run < 5; ++run) {
    if (run >= 2) Fail("cuGraphInstantiateWithFlags", 1, cuda::kInvalidValue);
    ASSERT_TRUE(RunOnce(run, nullptr).ok());
  }
  const auto graphs = Count("cuGraphLaunch"), made = Count("cuGraphCreate");
  for (int run = 5; run < 8; ++run) ASSERT_TRUE(RunOnce(run, nullptr).ok());
  EXPECT_EQ(Count("cuGraphLaunch"), graphs);
  EXPECT_EQ(Count("cuGraphCreate"), made);
}

TEST_F(Graphs, AFailedLaunchIsAnError) {
  for (int run = 0; run < 3; ++run) ASSERT_TRUE(RunOnce(run, nullptr).ok());
  Fail("cuGraphLaunch", 1, cuda::kLaunchFailed);
  const Status status = RunOnce(3, nullptr);
  EXPECT_EQ(KindOf(status), ErrorKind::kRuntime);
  EXPECT_NE(std::string(status.message()).find("graph of cuda frazil_"), std::string::npos)
      << status;
  EXPECT_TRUE(RunOnce(4, nullptr).ok());
}

TEST_F(Graphs, ThreadsShareAPlan) {
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int run = 0; run < 10; ++run) EXPECT_TRUE(RunOnce(100 * t + run, nullptr).ok());
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST_F(Graphs, NoMemoryForResultsLeavesAllAsItWas) {
  ASSERT_TRUE(RunOnce(0, nullptr).ok());
  cuda::Allocator& allocator = (*cuda::Device::Get(0))->allocator();
  const int64_t live = allocator.stats().live_bytes;
  allocator.SetLimit(live + 9000);  // the inputs, no more
  const Status status = RunOnce(1, nullptr);
  allocator.SetLimit(0);
  EXPECT_EQ(KindOf(status), ErrorKind::kMemory) << status;
  EXPECT_EQ(allocator.stats().live_bytes, live);
  EXPECT_TRUE(RunOnce(2, nullptr).ok());
}

}  // namespace
}  // namespace frazil::jit
