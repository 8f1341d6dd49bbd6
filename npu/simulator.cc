#include "npu/simulator.h"

#include <algorithm>
#include <cstring>
#include <deque>

#include "core/str.h"
#include "core/threads/fp_mode.h"
#include "npu/checker.h"
#include "npu/queues.h"
#include "npu/schedule.h"

namespace frazil::npu {
namespace {

bool KeepsTime(Mode mode) { return mode == Mode::kTime || mode == Mode::kTimeOnly; }

Status CheckArguments(const Program& program, const Preset& preset,
                      absl::Span<const uint64_t> params, absl::Span<const Window> windows,
                      const LaunchOptions& options) {
  if (params.size() != program.params.size())
    return ValueError("[npu launch] kernel ", program.name, " takes ", program.params.size(),
                      " parameters: ", params.size(), " are given.");
  if (options.blocks < 1)
    return ValueError("[npu launch] a launch has at least one block: ", options.blocks, ".");
  if (!program.preset.empty() && program.preset != preset.name)
    return ValueError("[npu launch] kernel ", program.name, " is made for preset ", program.preset,
                      ": this machine is ", preset.name, ".");
  if (KeepsTime(options.mode) && (options.schedule != Schedule::kProgram || !options.flag_order))
    return ValueError("[npu launch] time is kept in program order only.");
  if (options.mode == Mode::kCheck && !options.flag_order)
    return ValueError("[npu launch] check needs the order of flags.");
  for (const Window& w : windows) {
    if (w.bytes > 0 && !w.data && options.mode != Mode::kTimeOnly)
      return ValueError("[npu launch] a window of ", w.bytes, " bytes has no memory.");
  }
  return absl::OkStatus();
}

// Windows with bytes of their own.
class Copies {
 public:
  explicit Copies(const Windows& windows) {
    for (Window w : windows.all()) {
      bytes_.emplace_back(w.data, w.data + w.bytes);
      w.data = bytes_.back().data();
      windows_.push_back(w);
    }
  }
  Windows Make() const { return *Windows::Make(windows_); }
  absl::Span<const Window> windows() const { return windows_; }

 private:
  std::deque<std::vector<char>> bytes_;
  std::vector<Window> windows_;
};

class Launcher {
 public:
  Launcher(const Program& program, const Preset& preset, absl::Span<const uint64_t> params,
           const LaunchOptions& options)
      : program_(program), preset_(preset), params_(params), options_(options) {}

  LaunchResult Run(const Windows& windows) {
    if (KeepsTime(options_.mode)) return Time(windows);
    if (!options_.flag_order) return RunQueues(windows);
    if (options_.schedule == Schedule::kProgram)
      return RunInOrder(windows, options_.mode == Mode::kCheck, nullptr);
    return options_.mode == Mode::kCheck ? CheckSchedule(windows) : RunSchedule(windows);
  }

 private:
  using Blocks = std::vector<Recorder>;

  // Block by block; `sinks(block)` sees the issues of each.
  template <typename Sinks>
  LaunchResult RunBlocks(Machine* machine, const Sinks& sinks) {
    BlockContext context;
    context.program = &program_;
    context.preset = &preset_;
    context.params = params_;
    context.blocks = options_.blocks;
    context.flag_order = options_.flag_order;
    context.load_ub = machine ? Machine::LoadUb : nullptr;
    context.load_context = machine;
    LaunchResult result;
    for (int block = 0; block < options_.blocks; ++block) {
      if (machine) machine->StartBlock();
      context.block = block;
      context.budget = options_.budget - result.instructions;
      BlockResult one = RunBlock(context, sinks(block));
      result.instructions += one.instructions;
      if (!one.fault) continue;
      result.fault = std::move(one.fault);
      break;
    }
    return result;
  }

  LaunchResult RunInOrder(const Windows& windows, bool check, Blocks* record) {
    std::optional<Checker> checker;
    if (check) checker.emplace();
    Machine machine(preset_, windows, checker ? &*checker : nullptr);
    std::vector<Sink*> sinks;
    LaunchResult result = RunBlocks(&machine, [&](int block) {
      if (checker) checker->StartBlock(block);
      sinks.assign({&machine});
      if (record) sinks.push_back(&record->emplace_back());
      return absl::MakeConstSpan(sinks);
    });
    if (check && result.fault && result.fault->code == FaultCode::kFlagOrder)
      AddDeadlock(&*result.fault);
    return result;
  }

  // What the broken order of flags would lead to, as far as that can be told without data.
  void AddDeadlock(Fault* fault) {
    LaunchOptions options = options_;
    options.flag_order = false;
    options.blocks = fault->block + 1;
    Launcher launcher(program_, preset_, params_, options);
    const LaunchResult result = launcher.QueuesOn(nullptr);
    if (!result.fault || result.fault->code != FaultCode::kDeadlock) return;
    StrAppend(&fault->detail, "; the queues stand still in the end: ", result.fault->detail);
    fault->graph = result.fault->graph;
  }

  LaunchResult RunQueues(const Windows& windows) {
    Machine machine(preset_, windows);
    return QueuesOn(&machine);
  }

  LaunchResult QueuesOn(Machine* machine) {
    Queues queues(preset_, program_, machine);
    Sink* const sinks[] = {&queues};
    return RunBlocks(machine, [&](int) {
      queues.StartBlock();
      return absl::MakeConstSpan(sinks);
    });
  }

  // Effects of recorded blocks in the order of the schedule.
  std::optional<Fault> Replay(const Windows& windows, const Blocks& blocks) {
    Machine machine(preset_, windows);
    std::vector<size_t> turns(blocks.size());
    for (size_t i = 0; i < turns.size(); ++i) turns[i] = i;
    // Blocks have no order either.
    if (options_.schedule == Schedule::kLazy) std::reverse(turns.begin(), turns.end());
    Fault fault;
    for (const size_t block : turns) {
      machine.StartBlock();
      const std::vector<Issue>& issues = blocks[block].issues();
      const std::optional<std::vector<uint32_t>> order =
          OrderOf(issues, options_.schedule, options_.seed + block, preset_);
      fault.block = int(block);
      if (!order) {
        fault.detail = "a schedule stands still though the rule of flags is kept";
        return fault;
      }
      for (const uint32_t i : *order) {
        if (machine.On(issues[i], false, &fault)) continue;
        fault.pc = issues[i].pc;
        fault.queue = issues[i].queue;
        return fault;
      }
    }
    return std::nullopt;
  }

  // On the caller's memory; what the scalar unit reads comes from program order on a copy.
  LaunchResult RunSchedule(const Windows& windows) {
    const Copies copies(windows);
    Blocks blocks;
    LaunchResult result = RunInOrder(copies.Make(), false, &blocks);
    if (!result.fault) result.fault = Replay(windows, blocks);
    return result;
  }

  // Program order with all checks on the caller's memory, then the schedule on a copy.
  LaunchResult CheckSchedule(const Windows& windows) {
    const Copies copies(windows);
    Blocks blocks;
    LaunchResult result = RunInOrder(windows, true, &blocks);
    if (result.fault) return result;
    result.fault = Replay(copies.Make(), blocks);
    if (result.fault) return result;
    for (size_t i = 0; i < copies.windows().size(); ++i) {
      const Window &want = windows.all()[i], &got = copies.windows()[i];
      const char* differs = std::mismatch(want.data, want.data + want.bytes, got.data).first;
      if (differs == want.data + want.bytes) continue;
      Fault fault;  // kSimInternal: the checker should have found a race
      fault.address = want.gm + uint64_t(differs - want.data);
      fault.detail = "a schedule leaves other bytes than program order, and no race was found";
      result.fault = fault;
      break;
    }
    return result;
  }

  // Blocks are dealt to the cores in turn.
  LaunchResult Time(const Windows& windows) {
    const int cores = std::min(std::max(preset_.cores, 1), options_.blocks);
    CycleOptions cycles;
    cycles.record = options_.record;
    cycles.core_share = 1.0 / cores;
    if (options_.l2_warm) {
      for (const Window& w : windows.all()) cycles.warm.emplace_back(w.gm, w.bytes);
    }
    std::vector<std::unique_ptr<CycleModel>> models;
    for (int i = 0; i < cores; ++i) models.push_back(MakeCycleModel(preset_, cycles));
    std::optional<Machine> machine;
    if (options_.mode == Mode::kTime) machine.emplace(preset_, windows);
    std::vector<Sink*> sinks;
    LaunchResult result = RunBlocks(machine ? &*machine : nullptr, [&](int block) {
      sinks.clear();
      if (machine) sinks.push_back(&*machine);
      sinks.push_back(models[size_t(block % cores)].get());
      return absl::MakeConstSpan(sinks);
    });
    std::vector<Timing> timings;
    for (const auto& model : models) timings.push_back(model->Finish());
    result.timing = CombineCores(std::move(timings));
    return result;
  }

  const Program& program_;
  const Preset& preset_;
  const absl::Span<const uint64_t> params_;
  const LaunchOptions options_;
};

}  // namespace

StatusOr<LaunchResult> Launch(const Program& program, const Preset& preset,
                              absl::Span<const uint64_t> params, absl::Span<const Window> windows,
                              const LaunchOptions& options) {
  if (Status s = CheckArguments(program, preset, params, windows, options); !s.ok()) return s;
  const StatusOr<Windows> memory = Windows::Make(windows);
  if (!memory.ok()) return memory.status();
  const DefaultFpMode mode;
  return Launcher(program, preset, params, options).Run(*memory);
}

}  // namespace frazil::npu
