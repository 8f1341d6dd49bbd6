#include "jit/npu_sim/simulator.h"

#include "core/fp_mode.h"
#include "core/str.h"
#include "jit/npu_sim/checker.h"

namespace frazil::npu {
namespace {

Status CheckArguments(const Program& program, const Preset& preset,
                      absl::Span<const uint64_t> params, const LaunchOptions& options) {
  if (params.size() != program.params.size())
    return ValueError("[npu launch] kernel ", program.name, " takes ", program.params.size(),
                      " parameters: ", params.size(), " are given.");
  if (options.blocks < 1)
    return ValueError("[npu launch] a launch has at least one block: ", options.blocks, ".");
  if (!program.preset.empty() && program.preset != preset.name)
    return ValueError("[npu launch] kernel ", program.name, " is made for preset ", program.preset,
                      ": this machine is ", preset.name, ".");
  return absl::OkStatus();
}

}  // namespace

StatusOr<LaunchResult> Launch(const Program& program, const Preset& preset,
                              absl::Span<const uint64_t> params, absl::Span<const Window> windows,
                              const LaunchOptions& options) {
  if (Status s = CheckArguments(program, preset, params, options); !s.ok()) return s;
  if (options.mode != Mode::kRun && options.mode != Mode::kCheck)
    return NotImplementedError("[npu launch] this mode does not exist yet: use run or check.");
  StatusOr<Windows> memory = Windows::Make(windows);
  if (!memory.ok()) return memory.status();
  const DefaultFpMode mode;
  std::optional<Checker> checker;
  if (options.mode == Mode::kCheck) checker.emplace();
  Machine machine(preset, *memory, checker ? &*checker : nullptr);
  BlockContext context;
  context.program = &program;
  context.preset = &preset;
  context.params = params;
  context.blocks = options.blocks;
  context.load_ub = Machine::LoadUb;
  context.load_context = &machine;
  LaunchResult result;
  for (int block = 0; block < options.blocks; ++block) {
    machine.StartBlock();
    if (checker) checker->StartBlock(block);
    context.block = block;
    context.budget = options.budget - result.instructions;
    Sink* const sinks[] = {&machine};
    BlockResult one = RunBlock(context, sinks);
    result.instructions += one.instructions;
    if (one.fault) {
      result.fault = std::move(one.fault);
      break;
    }
  }
  return result;
}

}  // namespace frazil::npu
