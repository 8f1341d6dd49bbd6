// What the emitted kernels cost in the cycle model: the profiles of docs/npu.md that are about the
// emitter.
#include <gtest/gtest.h>

#include "core/str.h"
#include "jit/emit/npu/emit.h"
#include "npu/simulator.h"

namespace frazil::npu {
namespace {

constexpr int64_t kMi = 1 << 20;

// Cycles of an elementwise kernel over `n` f32, L2 empty at the start.
int64_t Cycles(const std::string& text, int64_t n, const EmitOptions& options = {}) {
  const Preset preset = *FindPreset("dc16");
  const auto kernel = kir::Parse(text);
  EXPECT_TRUE(kernel.ok()) << kernel.status();
  const std::vector<int64_t> strides(kernel->buffers.size(), 4);
  const auto program = EmitKernel(*kernel, {{&n, 1}, strides}, preset, options);
  EXPECT_TRUE(program.ok()) << program.status();
  std::vector<uint64_t> params;
  std::vector<Window> windows;
  for (const kir::Buffer& b : kernel->buffers) {
    params.push_back(kGmBase + params.size() * 0x1000'0000);
    windows.push_back({params.back(), 4 * n, nullptr, b.out});
  }
  params.resize(program->params.size(), 0);
  LaunchOptions launch;
  launch.mode = Mode::kTimeOnly;
  launch.l2_warm = false;
  const auto result = Launch(*program, preset, params, windows, launch);
  EXPECT_TRUE(result.ok() && !result->fault) << (result.ok() ? result->fault->Text() : "");
  return result->timing->cycles;
}

constexpr char kLinear[] =
    "kernel linear(x: buf f32 [1], w: scalar f32, b: scalar f32, o: out f32 [1]) space 1\n"
    "  %0 = load x : f32\n  %1 = param w : f32\n  %2 = param b : f32\n"
    "  %3 = mul %0, %1 : f32\n  %4 = add %3, %2 : f32\n  store o, %4\n";

TEST(NpuEmittedTime, StreamsAtTheRateOfMemory) {
  const double limit = double(kMi) * 4 / FindPreset("dc16")->gm_read;
  EXPECT_GE(limit / double(Cycles(kLinear, kMi)), 0.90);
}

TEST(NpuEmittedTime, TheSearchIsNoWorseThanTheLargestTile) {
  EmitOptions largest;
  largest.search = false;
  for (int64_t n : {100, 5000, 20000, 100000, 1000000})
    EXPECT_LE(Cycles(kLinear, n), Cycles(kLinear, n, largest)) << n;
  // Several tiles that overlap are faster than one.
  EXPECT_LT(Cycles(kLinear, 8192), Cycles(kLinear, 8192, largest));
}

TEST(NpuEmittedTime, FusedOpsCostLessThanOneByOne) {
  std::string fused = "kernel chain(x: buf f32 [1], o: out f32 [1]) space 1\n  %0 = load x : f32\n";
  for (int i = 1; i <= 8; ++i)
    fused += StrCat("  %", i, " = ", i % 2 ? "add" : "max", " %", i - 1, ", %0 : f32\n");
  fused += "  store o, %8\n";
  int64_t apart = 0;
  for (int i = 1; i <= 8; ++i) {
    apart += Cycles(StrCat("kernel one(x: buf f32 [1], y: buf f32 [1], o: out f32 [1]) space 1\n"
                           "  %0 = load x : f32\n  %1 = load y : f32\n  %2 = ",
                           i % 2 ? "add" : "max", " %0, %1 : f32\n  store o, %2\n"),
                    kMi);
  }
  EXPECT_GE(double(apart) / double(Cycles(fused, kMi)), 5.0);
}

}  // namespace
}  // namespace frazil::npu
