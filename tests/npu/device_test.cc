// The simulated NPU as a device of the process: faults reach the caller through plans, the account
// tells what ran where, and another preset makes other programs.
#include "jit/run/npu/device.h"

#include <gtest/gtest.h>

#include "core/memory/transfers.h"
#include "core/str.h"
#include "jit/run/npu/account.h"
#include "jit/run/plan.h"
#include "npu/asm.h"
#include "tests/jit/graph_gen.h"

namespace frazil::jit {
namespace {

class NpuDeviceTest : public ::testing::Test {
 protected:
  void SetUp() override { Reset(); }
  void TearDown() override { Reset(); }
  static void Reset() {
    NpuDevice& device = NpuDevice::Get();
    device.Configure(*npu::FindPreset("dc16"), npu::Mode::kCheck);
    device.SetBudget(npu::LaunchOptions().budget);
    device.ResetAccount();
  }

  static Graph OnNpu(std::string_view text) {
    StatusOr<Graph> graph = Parse(text);
    EXPECT_TRUE(graph.ok()) << graph.status();
    return *std::move(graph);
  }
  static std::shared_ptr<const Plan> PlanOf(const Graph& graph) {
    auto plan = Compile(graph, {});
    EXPECT_TRUE(plan.ok()) << plan.status();
    return *std::move(plan);
  }
  // The same elements on the device of each input.
  static std::vector<ValueRef> Inputs(const Graph& graph, Device device) {
    Rng rng(3);
    std::vector<ValueRef> values = RandomInputs(rng, graph);
    for (ValueRef& v : values) {
      if (!v->immediate)
        v = Value::Make(v->dtype, device, v->layout, StorageRef::Share(v->storage), v->data);
    }
    return values;
  }
  static StatusOr<std::vector<ValueRef>> Run(const Plan& plan, const Graph& graph,
                                             absl::Span<const ValueRef> inputs) {
    std::vector<ValueRef> out(graph.outputs.size());
    const Status status = plan.Run(Pointers(inputs), absl::MakeSpan(out));
    if (!status.ok()) return status;
    return out;
  }
  static std::string Message(const Status& status) {
    return std::string(status.message().data(), status.message().size());
  }
};

constexpr char kNpu[] = R"(graph (f32[40,30] @npu, f32[30] @npu) {
  %2 = multiply %0, %1 : f32[40,30] @npu  # train.py:12
  %3 = exp %2 : f32[40,30] @npu  # train.py:13
  return %3 })";
constexpr char kCpu[] = R"(graph (f32[40,30], f32[30]) {
  %2 = multiply %0, %1 : f32[40,30]
  %3 = exp %2 : f32[40,30]
  return %3 })";

// Stores without waiting for the vector unit.
constexpr char kRacy[] = R"(.snpu 1.0
.kernel racy params x:gm.r y:gm.w
.op "relu" train.py:12
        SLDP  s1, #0
        SLDP  s2, #1
        LA    s3, ub:0
        SLI   s4, 128
        SLI   s5, 32
        LD    s3, s1, #1, s4, #0, #0, #0
        SET   LD>VE, #0
        WAIT  LD>VE, #0
        VUN.relu.f32 s3, s3, #1, s5, #0, #0
        ST    s2, s3, #1, s4, #0, #0
        HALT
)";

TEST_F(NpuDeviceTest, WrongProgramIsAFault) {
  auto program = npu::Assemble(kRacy);
  ASSERT_TRUE(program.ok()) << program.status();
  std::vector<float> x(32, 1.0f), y(32);
  const NpuBuffer buffers[] = {{reinterpret_cast<char*>(x.data()), 0, 128, false},
                               {reinterpret_cast<char*>(y.data()), 0, 128, true}};
  const auto shared =
      std::make_shared<const NpuProgram>(*std::move(program), NpuDevice::Get().preset());
  const Status status = NpuDevice::Get().Launch(shared, buffers, {}, "train.py:12");
  EXPECT_EQ(KindOf(status), ErrorKind::kNpuFault);
  EXPECT_EQ(Message(status),
            "[npu] RACE_RAW: a read that no flag orders after the write it needs: no flags lead "
            "from VE to ST\n"
            "  at pc 10, queue ST, block 0: ST s2, s3, #1, s4, #0, #0\n"
            "  operand 1 (src), bytes ub:0x0 to ub:0x20\n"
            "  from relu, train.py:12\n"
            "  other access: pc 9: VUN.relu.f32 s3, s3, #1, s5, #0, #0\n"
            "This is a bug of frazil's.");
}

TEST_F(NpuDeviceTest, WindowsEndWithTheBuffers) {
  const auto program =
      std::make_shared<const NpuProgram>(*npu::Assemble(kRacy), NpuDevice::Get().preset());
  std::vector<float> x(32), y(32);
  const NpuBuffer buffers[] = {{reinterpret_cast<char*>(x.data()), 0, 124, false},
                               {reinterpret_cast<char*>(y.data()), 0, 128, true}};
  const Status status = NpuDevice::Get().Launch(program, buffers, {}, "");
  EXPECT_EQ(KindOf(status), ErrorKind::kNpuFault);
  EXPECT_NE(Message(status).find("GM_OOB"), std::string::npos) << status;
}

TEST_F(NpuDeviceTest, PlanNeverHidesAFault) {
  NpuDevice& device = NpuDevice::Get();
  const Graph graph = OnNpu(kNpu);
  const auto plan = PlanOf(graph);
  const std::vector<ValueRef> inputs = Inputs(graph, Device(DeviceKind::kNpu, 0));
  device.SetBudget(5);
  for (int i = 0; i < 2; ++i) {
    const auto result = Run(*plan, graph, inputs);
    ASSERT_FALSE(result.ok());
    EXPECT_EQ(KindOf(result.status()), ErrorKind::kNpuFault);
    const std::string text = Message(result.status());
    for (const char* part : {"WATCHDOG", "at pc ", "train.py:1"})
      EXPECT_NE(text.find(part), std::string::npos) << text;
  }
  for (const NpuWork& work : device.account()) EXPECT_TRUE(work.program) << work.reason;
  device.SetBudget(npu::LaunchOptions().budget);
  const auto result = Run(*plan, graph, inputs);
  ASSERT_TRUE(result.ok()) << result.status();
  const Graph cpu = OnNpu(kCpu);
  const auto want = Run(*PlanOf(cpu), cpu, Inputs(cpu, Device()));
  ASSERT_TRUE(want.ok()) << want.status();
  EXPECT_EQ(Differences(*(*want)[0], *(*result)[0]), "");
}

TEST_F(NpuDeviceTest, FaultOfAProductReachesTheCaller) {
  const Graph graph = OnNpu(R"(graph (f32[20,30] @npu, f32[30,10] @npu) {
    %2 = matmul %0, %1 : f32[20,10] @npu  # train.py:7
    return %2 })");
  const auto plan = PlanOf(graph);
  NpuDevice::Get().SetBudget(5);
  const auto result = Run(*plan, graph, Inputs(graph, Device(DeviceKind::kNpu, 0)));
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(KindOf(result.status()), ErrorKind::kNpuFault);
  EXPECT_NE(Message(result.status()).find("from matmul, train.py:7"), std::string::npos)
      << result.status();
}

TEST_F(NpuDeviceTest, AccountTellsWhatRanWhere) {
  NpuDevice& device = NpuDevice::Get();
  const Graph graph = OnNpu(kNpu);
  const auto plan = PlanOf(graph);
  const std::vector<ValueRef> inputs = Inputs(graph, Device(DeviceKind::kNpu, 0));
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(Run(*plan, graph, inputs).ok());
  const Graph wide = OnNpu(R"(graph (f64[8] @npu) {
    %1 = exp %0 : f64[8] @npu  # train.py:20
    return %1 })");
  const auto other = PlanOf(wide);
  const std::vector<ValueRef> wide_inputs = Inputs(wide, Device(DeviceKind::kNpu, 0));
  const TransferStats before = GetTransfers(Device(DeviceKind::kNpu, 0));
  for (int i = 0; i < 2; ++i) ASSERT_TRUE(Run(*other, wide, wide_inputs).ok());

  const std::vector<NpuWork> account = device.account();
  ASSERT_EQ(account.size(), 2u);
  EXPECT_TRUE(account[0].program);
  EXPECT_EQ(account[0].launches, 3);
  EXPECT_EQ(account[0].origin.substr(0, 9), "train.py:");
  EXPECT_EQ(account[0].program->preset.name, "dc16");
  for (const npu::Window& w : account[0].windows) EXPECT_EQ(w.data, nullptr);
  EXPECT_FALSE(account[1].program);
  EXPECT_EQ(account[1].launches, 2);
  EXPECT_EQ(account[1].origin, "train.py:20");
  const TransferStats moved = GetTransfers(Device(DeviceKind::kNpu, 0));
  EXPECT_EQ(moved.in_bytes - before.in_bytes, 2 * 64);
  EXPECT_EQ(moved.out_bytes - before.out_bytes, 2 * 64);
  EXPECT_NE(account[1].reason.find("f64"), std::string::npos) << account[1].reason;

  for (int i = 0; i < 2; ++i) {  // asking changes nothing
    const auto report = MakeReport(device);
    ASSERT_TRUE(report.ok()) << report.status();
    ASSERT_EQ(report->kernels.size(), 1u);
    EXPECT_EQ(report->kernels[0].launches, 3);
    EXPECT_EQ(report->kernels[0].cache_hits, 2);
    ASSERT_EQ(report->cpu_ops.size(), 1u);
    EXPECT_EQ(report->cpu_ops[0].count, 2);
    EXPECT_EQ(report->cpu_ops[0].place, "train.py:20");
  }
  const auto cycles = [&] { return TimeKernel(device.account()[0], false)->timing.cycles; };
  EXPECT_GT(cycles(), 0);
  EXPECT_EQ(cycles(), cycles());
  device.ResetAccount();
  EXPECT_TRUE(device.account().empty());
}

// Programs have no loop of a kernel's body: the CPU runs it, and is named for it.
TEST_F(NpuDeviceTest, LoopsRunOnTheCpuAndAreCounted) {
  const auto loop = [](std::string_view type) {
    return StrCat("graph (", type, ", ", type,
                  ") {\n %2 = loop %0, %1 : bool[0] times 7 (state 0, same) graph (", type, ", ",
                  type, ") {\n %2 = multiply %0, %1 : ", type, "\n %3 = tanh %2 : ", type,
                  "\n return %3 }\n %3 = end %2 {0} : ", type, "  # train.py:31\n return %3 }");
  };
  NpuDevice& device = NpuDevice::Get();
  const Graph graph = OnNpu(loop("f32[40,30] @npu")), cpu = OnNpu(loop("f32[40,30]"));
  const auto plan = PlanOf(graph);
  EXPECT_EQ(plan->stats().kernels, 1);
  const auto want = Run(*PlanOf(cpu), cpu, Inputs(cpu, Device()));
  ASSERT_TRUE(want.ok()) << want.status();
  for (int i = 0; i < 2; ++i) {
    const auto got = Run(*plan, graph, Inputs(graph, Device(DeviceKind::kNpu, 0)));
    ASSERT_TRUE(got.ok()) << got.status();
    EXPECT_EQ(Differences(*(*want)[0], *(*got)[0]), "");
  }
  const std::vector<NpuWork> account = device.account();
  ASSERT_EQ(account.size(), 1u);
  EXPECT_FALSE(account[0].program);
  EXPECT_EQ(account[0].launches, 2);
  EXPECT_NE(account[0].reason.find("has a repeat"), std::string::npos) << account[0].reason;
}

// A body that repeats is made a loop where kernels can be loops: on the CPU only.
TEST_F(NpuDeviceTest, RepeatedBodiesStayUnrolled) {
  std::string text = "graph (f32[40,30] @npu, f32[40,30] @npu) {\n";
  for (int i = 0; i < 40; ++i) {
    StrAppend(&text, "%", 2 + 2 * i, " = multiply %", i == 0 ? 0 : 1 + 2 * i,
              ", %1 : f32[40,30] @npu\n");
    StrAppend(&text, "%", 3 + 2 * i, " = tanh %", 2 + 2 * i, " : f32[40,30] @npu\n");
  }
  const Graph graph = OnNpu(StrCat(text, "return %81 }"));
  std::string host = text;
  for (size_t at; (at = host.find(" @npu")) != std::string::npos;) host.erase(at, 5);
  const Graph cpu = OnNpu(StrCat(host, "return %81 }"));
  const auto on_cpu = PlanOf(cpu);
  EXPECT_NE(on_cpu->Dump().find("repeat"), std::string::npos) << on_cpu->Dump();
  const auto want = Run(*on_cpu, cpu, Inputs(cpu, Device()));
  ASSERT_TRUE(want.ok()) << want.status();
  const auto got = Run(*PlanOf(graph), graph, Inputs(graph, Device(DeviceKind::kNpu, 0)));
  ASSERT_TRUE(got.ok()) << got.status();
  EXPECT_EQ(Differences(*(*want)[0], *(*got)[0]), "");
  for (const NpuWork& work : NpuDevice::Get().account()) EXPECT_TRUE(work.program) << work.reason;
}

TEST_F(NpuDeviceTest, AnotherPresetMakesOtherPrograms) {
  NpuDevice& device = NpuDevice::Get();
  const Graph graph = OnNpu(kNpu);
  const auto plan = PlanOf(graph);
  const std::vector<ValueRef> inputs = Inputs(graph, Device(DeviceKind::kNpu, 0));
  const auto first = Run(*plan, graph, inputs);
  ASSERT_TRUE(first.ok()) << first.status();

  const int64_t generation = device.current().second;
  device.Configure(device.preset(), npu::Mode::kRun);
  EXPECT_EQ(device.mode(), npu::Mode::kRun);
  EXPECT_EQ(device.current().second, generation);
  ASSERT_TRUE(Run(*plan, graph, inputs).ok());
  EXPECT_EQ(device.account().size(), 1u);  // the program stays

  device.Configure(*npu::FindPreset("edge16"), npu::Mode::kCheck);
  EXPECT_EQ(device.current().second, generation + 1);
  const auto second = Run(*plan, graph, inputs);
  ASSERT_TRUE(second.ok()) << second.status();
  EXPECT_EQ(Differences(*(*first)[0], *(*second)[0]), "");
  const std::vector<NpuWork> account = device.account();
  ASSERT_EQ(account.size(), 1u);  // another machine, another account
  EXPECT_EQ(account[0].program->preset.name, "edge16");
}

TEST(NpuDevice, TheAccountIsBounded) {
  NpuDevice& device = NpuDevice::Get();
  device.ResetAccount();
  for (int i = 0; i < 5000; ++i) device.CountCpu(StrCat("k", i), "", "why", {});
  EXPECT_EQ(device.account().size(), 4096u);
  EXPECT_EQ(device.unlisted(), 5000 - 4096);
  device.CountCpu("k7", "", "why", {});
  EXPECT_EQ(device.account()[7].launches, 2);
  const auto report = MakeReport(device);
  ASSERT_TRUE(report.ok());
  EXPECT_EQ(report->name, "npu (904 launches of further kernels are not listed)");
  device.ResetAccount();
  EXPECT_EQ(device.unlisted(), 0);
}

}  // namespace
}  // namespace frazil::jit
