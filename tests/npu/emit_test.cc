// The NPU emitter against the interpreter: random kernels and one-instruction kernels, run under
// the checker. A kernel that the emitter takes gives the interpreter's bits without a fault.
#include "jit/emit/npu/emit.h"

#include <gtest/gtest.h>

#include <cstdlib>

#include "jit/emit/interp/interp.h"
#include "jit/emit/npu/body_info.h"
#include "jit/run/npu/backend.h"
#include "npu/asm.h"
#include "npu/simulator.h"
#include "tests/jit/kernel_gen.h"
#include "tests/jit/op_cases.h"

namespace frazil::npu {
namespace {

using jit::Case;
using jit::GenOptions;
using jit::Rng;

// What runs a kernel on the NPU, whole; what is refused, on the interpreter.
class Runner : public jit::Compiled {
 public:
  struct Counts {
    int ran = 0, refused = 0;
    std::string refusal;
  };

  Runner(const kir::Kernel& kernel, const Preset& preset, const EmitOptions& options,
         std::unique_ptr<jit::Compiled> other, Counts* counts)
      : kernel_(kernel),
        preset_(preset),
        options_(options),
        other_(std::move(other)),
        counts_(*counts) {}

  void Run(const kir::KernelArgs& args, int64_t row_begin, int64_t row_end, int64_t col_begin,
           int64_t col_end) const override {
    const size_t axes = size_t(kernel_.axes());
    const LaunchShape shape{{args.extents, axes}, {args.strides, axes * kernel_.buffers.size()}};
    auto program = EmitKernel(kernel_, shape, preset_, options_);
    if (!program.ok()) {
      ++counts_.refused;
      counts_.refusal = std::string(program.status().message());
      return other_->Run(args, row_begin, row_end, col_begin, col_end);
    }
    ++counts_.ran;
    ASSERT_TRUE(Validate(*program).ok()) << Validate(*program) << "\n" << Disassemble(*program);
    std::vector<uint64_t> params;
    std::vector<Window> windows;
    for (size_t b = 0; b < kernel_.buffers.size(); ++b) {
      int64_t low = 0, high = SizeOf(kernel_.buffers[b].dtype);
      for (size_t axis = 0; axis < axes; ++axis) {
        const int64_t reach = (args.extents[axis] - 1) * args.strides[b * axes + axis];
        (reach < 0 ? low : high) += reach;
      }
      const uint64_t gm = kGmBase + uint64_t(b) * 0x1000'0000;
      char* data = static_cast<char*>(args.buffers[b]) + low;
      windows.push_back({gm, high - low, data, kernel_.buffers[b].out});
      params.push_back(gm - uint64_t(low));
    }
    for (size_t s = 0; s < kernel_.scalars.size(); ++s) params.push_back(args.scalars[s]);
    LaunchOptions options;
    options.mode = Mode::kCheck;
    const auto result = Launch(*program, preset_, params, windows, options);
    ASSERT_TRUE(result.ok()) << result.status();
    ASSERT_FALSE(result->fault) << result->fault->Text() << "\n"
                                << kir::Print(kernel_) << Disassemble(*program);
  }
  size_t code_bytes() const override { return 0; }

 private:
  const kir::Kernel kernel_;
  const Preset preset_;
  const EmitOptions options_;
  const std::unique_ptr<jit::Compiled> other_;
  Counts& counts_;
};

class Emitter : public jit::Emitter {
 public:
  explicit Emitter(std::string_view preset)
      : preset_(*FindPreset(preset)), other_(jit::NewInterpreter()) {}
  const jit::Caps& caps() const override { return caps_; }
  StatusOr<std::unique_ptr<jit::Compiled>> Emit(const kir::Kernel& kernel) override {
    FZ_ASSIGN_OR_RETURN(std::unique_ptr<jit::Compiled> other, other_->Emit(kernel));
    return std::make_unique<Runner>(kernel, preset_, options, std::move(other), &counts);
  }
  Runner::Counts counts;
  EmitOptions options;

 private:
  jit::Caps caps_{.name = "npu", .executes = true};
  const Preset preset_;
  std::unique_ptr<jit::Emitter> other_;
};

class EmitTest : public ::testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Preset, EmitTest, ::testing::Values("dc16", "edge16"),
                         [](const auto& info) { return info.param; });

GenOptions WhatTheNpuHas() {
  GenOptions options;
  options.max_values = 10;
  options.predicates = options.offsets = options.index = false;
  options.calls = true;
  options.types = {DType::kF32,  DType::kF32, DType::kF16, DType::kBF16, DType::kI8,
                   DType::kBool, DType::kU8,  DType::kI32, DType::kU32};
  return options;
}

TEST_P(EmitTest, RandomKernels) {
  Emitter emitter(GetParam());
  const auto interpreter = jit::NewInterpreter();
  const uint64_t kernels = std::getenv("FRAZIL_NIGHTLY") ? 3000 : 1000;
  for (uint64_t seed = 0; seed < kernels; ++seed) {
    emitter.options.max_tile_bytes = seed % 2 ? 256 : 32 * 1024;  // many tiles, or one
    const jit::Comparison c = CompareEmitters(*interpreter, emitter, seed, WhatTheNpuHas());
    ASSERT_EQ(c.difference, "") << "seed " << seed;
    if (HasFatalFailure()) FAIL() << "seed " << seed;
  }
  EXPECT_GT(emitter.counts.ran, kernels / 3) << emitter.counts.refusal;
}

TEST(EmitTypes, TheDeviceComputesWhatTheEmitterHasTypesFor) {
  for (int t = 0; t < kNumRealDTypes; ++t) {
    EXPECT_EQ(TypeOf(DType(t)).has_value(), jit::NpuBackend()->Computes(DType(t)))
        << ShortName(DType(t));
  }
}

TEST_P(EmitTest, EveryInstruction) {
  Emitter emitter(GetParam());
  const auto interpreter = jit::NewInterpreter();
  for (const Case& c : jit::OpCases()) {
    const jit::Comparison result = CompareOn(c, *interpreter, emitter, 0);
    ASSERT_EQ(result.difference, "") << kir::Print(c.kernel);
    if (HasFatalFailure()) FAIL() << kir::Print(c.kernel);
  }
  EXPECT_GT(emitter.counts.ran, 100) << emitter.counts.refusal;
}

// What fields of instructions and the table of parameters do not take.
TEST_P(EmitTest, RefusesWhatCannotBeWritten) {
  const Preset preset = *FindPreset(GetParam());
  const auto refusal = [&](std::string_view text, absl::Span<const int64_t> extents,
                           absl::Span<const int64_t> strides) {
    const auto kernel = kir::Parse(text);
    EXPECT_TRUE(kernel.ok()) << kernel.status();
    return std::string(EmitKernel(*kernel, {extents, strides}, preset).status().message());
  };
  const char* row = R"(
kernel rows(x: buf f32 [s,1], o: out f32 [s,1]) space 2
  %0 = load x : f32
  store o, %0
)";
  EXPECT_EQ(refusal(row, {2, 4}, {int64_t{1} << 36, 4, 16, 4}), "");
  EXPECT_EQ(refusal(row, {2, 4}, {(int64_t{1} << 36) + 4, 4, 16, 4}),
            "[npu] kernel rows needs LD with src_ld beyond its limit: a row stride of 68719476740 "
            "bytes.");
  for (const int numbers : {kMaxParams - 2, kMaxParams - 1}) {
    std::string text = "kernel numbers(x: buf f32 [1]";
    for (int i = 0; i < numbers; ++i) text += StrCat(", n", i, ": scalar f32");
    text += ", o: out f32 [1]) space 1\n  %v0 = load x : f32\n";
    for (int i = 0; i < numbers; ++i)
      text += StrCat("  %p", i, " = param n", i, " : f32\n  %v", i + 1, " = add %v", i, ", %p", i,
                     " : f32\n");
    text += StrCat("  store o, %v", numbers, "\n");
    EXPECT_EQ(refusal(text, {8}, {4, 4}),
              numbers == kMaxParams - 2 ? "" : "[npu] kernel numbers has more than 32 parameters.");
  }
}

}  // namespace
}  // namespace frazil::npu
