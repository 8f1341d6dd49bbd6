// Speed of the simulated NPU on the host: matrix products, vector instructions, moves, scalar
// instructions, flags and launches, in all modes.
#include <benchmark/benchmark.h>

#include <vector>

#include "core/str.h"
#include "npu/asm.h"
#include "npu/simulator.h"

namespace frazil::npu {
namespace {

constexpr int kRepeats = 64;  // of the body in one launch

// `setup`, then the body kRepeats times.
Program Looped(std::string_view setup, std::string_view body) {
  StatusOr<Program> program = Assemble(StrCat(
      ".snpu 1.0\n.kernel bench params p:gm.r\n", "SLDP s1, #0\n", setup, "\nBAR all\nSLI s30, ",
      kRepeats, "\nloop:\n", body, "\nSALU.sub s30, s30, #1\nSBR.ne s30, #0, loop\nHALT\n"));
  if (!program.ok()) {
    fprintf(stderr, "%s\n", std::string(program.status().message()).c_str());
    std::abort();
  }
  return *std::move(program);
}

void Run(benchmark::State& state, const Program& program, Mode mode, double work) {
  const Preset preset = *FindPreset("dc16");
  std::vector<char> data(1 << 18, 0x3C);
  const Window window{kGmBase, int64_t(data.size()), data.data(), true};
  const uint64_t params[] = {kGmBase};
  LaunchOptions options;
  options.mode = mode;
  for (auto _ : state) {
    StatusOr<LaunchResult> result = Launch(program, preset, params, {&window, 1}, options);
    if (!result.ok() || result->fault) {
      state.SkipWithError(result.ok() ? result->fault->Text().c_str()
                                      : std::string(result.status().message()).c_str());
      return;
    }
  }
  state.counters["work"] =
      benchmark::Counter(work * kRepeats * double(state.iterations()), benchmark::Counter::kIsRate);
}

// One step of a product as the emitter makes it: 128 x 64 by 64 x 256. Work: floating-point
// operations.
void Matrix(benchmark::State& state, std::string_view type, Mode mode) {
  const Program program = Looped(
      R"(SLI s2, 1024
LA s4, l1:0x0
LA s5, l1:0x40000
SLI s3, 128
LD s4, s1, s3, s2, #0, #0, #0
LD s5, s1, s3, s2, #0, #0, #0
LA s6, l0a:0x0
LA s7, l0b:0x0
LA s8, l0c:0x0
SLI s10, 128
SLI s11, 64
SLI s12, 256
SLI s13, 512
)",
      StrCat("XA.", type, " s6, s4, s10, s11, s13\nXB.", type,
             " s7, s5, s11, s12, s13\nBAR all\nMMUL.", type,
             " s8, s6, s7, s10, s11, s12\nBAR all"));
  Run(state, program, mode, 2.0 * 128 * 64 * 256);
}

// Vector instructions on 8192 elements of x (s4), y (s5) to z (s6). Work: elements.
void Vector(benchmark::State& state, std::string_view instruction, Mode mode) {
  const Program program = Looped(
      R"(SLI s2, 32768
LA s4, ub:0x0
LA s5, ub:0x10000
LA s6, ub:0x20000
LD s4, s1, #1, s2, #0, #0, #0
LD s5, s1, #1, s2, #0, #0, #0
SLI s9, 8192
SLI s10, 1024
SLI s11, 0x3F800000
)",
      instruction);
  Run(state, program, mode, 8192);
}

// Loads and stores of 32 KiB. Work: bytes.
void Moves(benchmark::State& state, Mode mode) {
  const Program program =
      Looped("SLI s2, 32768\nSLI s3, 0x20000\nSALU.add s3, s3, s1\nLA s4, ub:0x0",
             "LD s4, s1, #1, s2, #0, #0, #0\nBAR all\n"
             "ST s3, s4, #1, s2, #0, #0\nBAR all");
  Run(state, program, mode, 65536);
}

// Work: instructions.
void Scalars(benchmark::State& state, Mode mode) {
  std::string body;
  for (int i = 0; i < 1000; ++i) StrAppend(&body, "SALU.add s3, s3, s4\n");
  Run(state, Looped("", body), mode, 1002);
}

// Small instructions and flags, as kernels of small tensors have them. Work: instructions.
void Small(benchmark::State& state, Mode mode) {
  const Program program = Looped("LA s4, ub:0x0\nLA s5, ub:0x100\nVDUP.f32 s4, s0, #1, #16, #0",
                                 "VUN.relu.f32 s5, s4, #1, #16, #0, #0\nSET VE>ST, #0\n"
                                 "WAIT VE>ST, #0\nSALU.add s6, s1, #0\n"
                                 "ST s6, s5, #1, #31, #0, #0\nSET ST>VE, #0\nWAIT ST>VE, #0");
  Run(state, program, mode, 9);
}

// Work: launches of an empty program, times the repeats of the others.
void Empty(benchmark::State& state, Mode mode) {
  const Program program = *Assemble(".snpu 1.0\n.kernel empty params p:gm.r\nHALT");
  Run(state, program, mode, 1.0 / kRepeats);
}

void Register() {
  for (const auto& [name, mode] : {std::pair{"run", Mode::kRun},
                                   {"check", Mode::kCheck},
                                   {"time", Mode::kTime},
                                   {"time-only", Mode::kTimeOnly}}) {
    const Mode m = mode;
    for (const char* type : {"f32", "f16", "bf16", "i8"}) {
      benchmark::RegisterBenchmark(StrCat("mmul_", type, "/", name).c_str(),
                                   [=](benchmark::State& s) { Matrix(s, type, m); });
    }
    for (const char* text : {
             "VBIN.add.f32 s6, s4, s5, #1, s9, #0, #0, #0",
             "VBIN.max.f32 s6, s4, s5, #1, s9, #0, #0, #0",
             "VBIN.add.f16 s6, s4, s5, #1, s9, #0, #0, #0",
             "VBIN.add.bf16 s6, s4, s5, #1, s9, #0, #0, #0",
             "VBIN.add.i8 s6, s4, s5, #1, s9, #0, #0, #0",
             "VBIN.div.i32 s6, s4, s5, #1, s9, #0, #0, #0",
             "VBIN.shl.i32 s6, s4, s5, #1, s9, #0, #0, #0",
             "VBINS.mul.f32 s6, s4, s11, #1, s9, #0, #0",
             "VBINC.mul.f32 s6, s4, s5, #8, s10, #0, #0, #0",
             "VCMP.lt.f32 s6, s4, s5, #1, s9, #0, #0, #0",
             "VSEL.f32 s6, s4, s5, s5, #1, s9, #0, #0",
             "VFMA.f32 s5, s4, s4, #1, s9, #0, #0, #0",
             "VUN.relu.f32 s6, s4, #1, s9, #0, #0",
             "VUN.sqrt.f32 s6, s4, #1, s9, #0, #0",
             "VUN.sign.f32 s6, s4, #1, s9, #0, #0",
             "VUN.floor.f32 s6, s4, #1, s9, #0, #0",
             "VUN.exp.f32 s6, s4, #1, s9, #0, #0",
             "VUN.log.f32 s6, s4, #1, s9, #0, #0",
             "VUN.tanh.f32 s6, s4, #1, s9, #0, #0",
             "VUN.erf.f32 s6, s4, #1, s9, #0, #0",
             "VUN.exp.f16 s6, s4, #1, s9, #0, #0",
             "VCVT.f16.f32 s6, s4, #1, s9, #0, #0, #0",
             "VCVT.i32.f32 s6, s4, #1, s9, #0, #0, #0",
             "VRED.sum.f32 s6, s4, #8, s10, #0, #0, #0",
             "VRED.max.f32 s6, s4, #8, s10, #0, #0, #0",
             "VRED.sum.f16 s6, s4, #8, s10, #0, #0, #0",
             "VTR.f32 s6, s4, #8, s10, #0, #0",
             "VDUP.f32 s6, s1, #1, s9, #0",
         }) {
      const std::string_view line = text;
      benchmark::RegisterBenchmark(StrCat(line.substr(0, line.find(' ')), "/", name).c_str(),
                                   [=](benchmark::State& s) { Vector(s, line, m); });
    }
    benchmark::RegisterBenchmark(StrCat("LD+ST/", name).c_str(),
                                 [=](benchmark::State& s) { Moves(s, m); });
    benchmark::RegisterBenchmark(StrCat("small/", name).c_str(),
                                 [=](benchmark::State& s) { Small(s, m); });
    benchmark::RegisterBenchmark(StrCat("empty/", name).c_str(),
                                 [=](benchmark::State& s) { Empty(s, m); });
    benchmark::RegisterBenchmark(StrCat("SALU/", name).c_str(),
                                 [=](benchmark::State& s) { Scalars(s, m); });
  }
}

}  // namespace
}  // namespace frazil::npu

int main(int argc, char** argv) {
  frazil::npu::Register();
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
