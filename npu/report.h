// What a user is told about kernels on the NPU: per kernel, per program, as text, JSON, CSV,
// timeline and roofline. Called by the device (jit/run), the command line and tests, which fill
// KernelReport and ProgramReport. Invariant: every form says what model it comes from (kHonesty)
// and depends on its arguments alone, so equal runs give equal bytes.
#pragma once

#include <string>
#include <vector>

#include "npu/program.h"
#include "npu/timing.h"

namespace frazil::npu {

inline constexpr int kReportSchema = 1;  // of report.json
inline constexpr int kModelVersion = 1;  // of the cycle model: another one gives other cycles
inline constexpr std::string_view kHonesty =
    "Cycle-approximate model of a hypothetical NPU; compare only with other runs of the same "
    "preset "
    "and model version.";

// One kernel in one launch, or in several that took the same time.
struct KernelReport {
  std::string kernel;
  uint64_t hash = 0;  // of the program's words and parameters
  ProgramMeta meta;
  std::string op, place;  // in the user's program: name, "file:line"
  Preset preset;
  Timing timing;
  int blocks = 1, cores = 1;
  bool l2_warm = true;
  int guards = 0;  // checked before the launch
  int64_t launches = 1;
  int64_t cache_hits = 0;  // launches that found the kernel compiled
};
// From a program and what its launch measured; op and place come from its source entries.
KernelReport MakeKernelReport(const Program& program, const Preset& preset, Timing timing);

// An op of the program that ran elsewhere.
struct CpuOp {
  std::string op, place, reason;
  int64_t count = 1;
};
struct ProgramReport {
  std::string name;
  std::vector<KernelReport> kernels;  // in the order of their first launch
  std::vector<CpuOp> cpu_ops;
  int64_t guard_failures = 0;
  int64_t bytes_to_device = 0, bytes_to_host = 0;
};

// Several lines of fixed layout.
std::string KernelText(const KernelReport& report);
// The table of kernels and what ran on the CPU, with totals.
std::string ProgramText(const ProgramReport& report);
// Fields: docs/npu.md.
std::string ReportJson(const ProgramReport& report);

// pc, text, queue, calls, cycles, stall, bytes, op, place: one line for each instruction that ran.
// Needs recorded events.
std::string InstructionCsv(const KernelReport& report, const Program& program);

struct TimelineOptions {
  int64_t max_events = 2'000'000;  // of the file; beyond, stretches of the run are left out
};
// Trace Event Format, for Perfetto and chrome://tracing: a row for each queue and one for why it
// stood still, arrows from SET to WAIT, counters. Needs recorded events.
std::string TimelineJson(const KernelReport& report, const Program& program,
                         const TimelineOptions& options = {});

// Work against device memory traffic, under the roofs of the preset; kernels of one preset.
std::string RooflineText(absl::Span<const KernelReport> kernels);
std::string RooflineSvg(absl::Span<const KernelReport> kernels);

}  // namespace frazil::npu
