// Runs programs on the simulated NPU. Called by the device (jit/run), the command line, the
// tile search and tests. Invariant: no global state and no threads; the result of a launch depends
// on its arguments alone.
#pragma once

#include "npu/memory.h"
#include "npu/timing.h"

namespace frazil::npu {

enum class Mode : uint8_t { kRun, kCheck, kTime, kTimeOnly };  // "run" "check" "time" "time-only"

// Order in which effects take place (npu/schedule.h). In check program order runs first,
// then the schedule on a copy of memory, and the two must leave the same bytes.
enum class Schedule : uint8_t { kProgram, kTiming, kEager, kLazy, kRandom };

struct LaunchOptions {
  Mode mode = Mode::kRun;
  Schedule schedule = Schedule::kProgram;
  uint64_t seed = 0;  // of kRandom
  int blocks = 1;
  int64_t budget = int64_t{1} << 40;
  // False (run only): a WAIT may come before its SET in the order of the program. The instructions
  // then go through bounded queues, which may stand still.
  bool flag_order = true;
  bool record = false;  // keep a Timed for every instruction (timing modes)
  bool l2_warm = true;  // windows start in L2, as far as it holds them (timing modes)
};

struct LaunchResult {
  std::optional<Fault> fault;
  int64_t instructions = 0;
  std::optional<Timing> timing;  // of timing modes
};

// InvalidArgument-like errors of the caller (parameter count, overlapping windows) are a Status;
// what the program does wrong is a fault.
StatusOr<LaunchResult> Launch(const Program& program, const Preset& preset,
                              absl::Span<const uint64_t> params, absl::Span<const Window> windows,
                              const LaunchOptions& options);

}  // namespace frazil::npu
