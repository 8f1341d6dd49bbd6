#include "jit/plan/plan_builder.h"

#include <algorithm>
#include <atomic>

#include "absl/strings/str_join.h"
#include "core/backend.h"
#include "core/check.h"
#include "core/config.h"
#include "core/cost.h"
#include "core/profile.h"
#include "core/progress.h"
#include "core/threads/parallel.h"
#include "jit/cache/kernel_cache.h"
#include "jit/emit/x86/code_names.h"
#include "jit/graph/space.h"
#include "jit/run/device_backend.h"

namespace frazil::jit {
StatusOr<Schedule> PlanBuilder::Run() {
  schedule_.num_inputs = graph_.num_inputs;
  schedule_.arenas = {{Device()}};
  MakeNodeMemories();
  for (const Group& group : grouping_.groups) {
    FZ_RETURN_IF_ERROR(group.kind == Group::Kind::kSteps     ? AddLoop(group)
                       : group.kind == Group::Kind::kLibrary ? AddLibrary(group)
                                                             : AddKernels(group));
  }
  if (options_.compile.fuse) MergeWithReaders(graph_, options_.compile.precision, &pending_);
  // OpenBLAS has threads of its own, which do one product at a time.
  if (options_.branches && options_.compile.precision != Precision::kBlas) ChooseBranches();
  if (options_.compile.fuse) ChooseEpilogues();
  FindLastLibrary();
  FindLives();
  AddOutputs();
  if (options_.in_place) {
    for (size_t step = 0; step < pending_.size(); ++step) ShareMemory(static_cast<int32_t>(step));
  }
  PlaceMemories();
  CompileAhead();
  for (PendingStep& step : pending_) {
    const auto emit = [&](auto& what) { return Emit(step, &what); };
    FZ_RETURN_IF_ERROR(std::visit(emit, step.what));
  }
  if (report_ && !options_.body) ReportMemory();
  if (report_) ReportSteps();
  for (const Arena& arena : schedule_.arenas) schedule_.stats.arena_bytes += arena.bytes;
  SumWork();
  if (schedule_.arenas.size() > 1) {
    JoinSteps();
  } else {
    ListSteps();
  }
  return std::move(schedule_);
}

// Every node has the memory of the value it is, or is a view of.
void PlanBuilder::MakeNodeMemories() {
  for (int32_t id = 0; id < static_cast<int32_t>(graph_.nodes.size()); ++id) {
    const Node& node = graph_.nodes[id];
    if (node.view) {
      memory_of_.push_back(memory_of_[node.operands[0]]);
      continue;
    }
    memory_of_.push_back(NewMemory(BytesOf(node), node.device));
    if (node.input) memories_.back().input = id;
  }
}

// What the CPU addresses is one memory.
int32_t PlanBuilder::ArenaOf(Device device) {
  if (CpuAddresses(device)) return 0;
  size_t a = 1;
  while (a < schedule_.arenas.size() && !(schedule_.arenas[a].device == device)) ++a;
  if (a == schedule_.arenas.size()) schedule_.arenas.push_back({device});
  return int32_t(a);
}

int32_t PlanBuilder::NewMemory(int64_t bytes, Device device) {
  memories_.emplace_back();
  memories_.back().bytes = bytes;
  memories_.back().arena = ArenaOf(device);
  memories_.back().home = static_cast<int32_t>(memories_.size()) - 1;
  return memories_.back().home;
}

void PlanBuilder::SayGroup(const Group& group) {
  if (!report_) return;
  std::string text = group.kind == Group::Kind::kKernel ? "group kernel" : "group library";
  for (const int32_t id : group.nodes) StrAppend(&text, " %", id);
  StrAppend(&text, " ->");
  for (const int32_t id : group.outputs) StrAppend(&text, " %", id);
  Say(text);
}

Status PlanBuilder::AddKernels(const Group& group) {
  if (group.nodes.size() == 1 && TakesRows(graph_, graph_.nodes[group.nodes[0]]))
    return AddLibrary(group);
  SayGroup(group);
  FZ_ASSIGN_OR_RETURN(LoweredGroup lowered, Lower(graph_, group));
  std::vector<int32_t> temporaries;
  const Device device = graph_.nodes[group.outputs[0]].device;
  if (group.nodes.size() > 1 && !Launchable(device, lowered)) return AddApart(group);
  for (const int64_t bytes : lowered.temporary_bytes)
    temporaries.push_back(NewMemory(bytes, device));
  for (Launch& launch : lowered.launches) {
    Say(kir::Print(launch.kernel));
    if (launch.rows == 0 || launch.cols == 0) continue;
    PendingStep step;
    for (size_t i = 0; i < launch.buffers.size(); ++i) {
      const int32_t node = launch.buffers[i].node;
      const int32_t memory = node >= 0 ? memory_of_[node] : temporaries[-1 - node];
      step.touches.push_back({memory, launch.kernel.buffers[i].out});
    }
    step.node = group.outputs[0];
    step.device = device;
    if (report_ || WantsCodeLines()) step.nodes = group.nodes;
    step.again = &launch != &lowered.launches[0];
    step.what = std::move(launch);
    pending_.push_back(std::move(step));
  }
  return absl::OkStatus();
}

bool PlanBuilder::Launchable(Device device, const LoweredGroup& lowered) {
  if (device == Device()) return true;
  return std::all_of(lowered.launches.begin(), lowered.launches.end(), [&](const Launch& launch) {
    return DeviceBackendOf(device).CheckLaunch(launch).ok();
  });
}

// Each node as a group of its own.
Status PlanBuilder::AddApart(const Group& group) {
  for (const int32_t id : group.nodes) {
    if (graph_.nodes[id].view) continue;
    FZ_RETURN_IF_ERROR(AddKernels({Group::Kind::kKernel, {id}, {id}}));
  }
  return absl::OkStatus();
}

Status PlanBuilder::AddLibrary(const Group& group) {
  SayGroup(group);
  FZ_CHECK(group.nodes.size() == 1);
  PendingStep step;
  step.node = group.nodes[0];
  FZ_ASSIGN_OR_RETURN(auto call, MakeLibraryCall(graph_, step.node, options_.compile.precision));
  const Node& node = graph_.nodes[step.node];
  step.device = node.device;
  if (!(step.device == Device())) {
    FZ_ASSIGN_OR_RETURN(call, DeviceBackendOf(step.device)
                                  .MakeCall(graph_, step.node, OriginOf(graph_, step.node),
                                            options_.compile.precision, std::move(call)));
    CountRefusal(call->refusal());
  }
  step.what = std::move(call);
  if (report_) step.nodes = group.nodes;
  for (const int32_t operand : graph_.nodes[step.node].operands)
    step.touches.push_back({memory_of_[operand], false});
  step.touches.push_back({memory_of_[step.node], true});
  pending_.push_back(std::move(step));
  return absl::OkStatus();
}

void PlanBuilder::CountRefusal(std::string why) {
  if (!why.empty()) schedule_.stats.elsewhere.push_back(std::move(why));
}

void PlanBuilder::AddOutputs() {
  for (const int32_t id : graph_.outputs) {
    const Node& node = graph_.nodes[id];
    const int32_t base = BaseOf(graph_, id);
    Memory& m = memories_[memory_of_[base]];
    m.last = m.last_use = kForever;
    if (m.input < 0 && m.result < 0) {
      const Node& value = graph_.nodes[base];
      m.result = static_cast<int32_t>(schedule_.results.size());
      schedule_.results.push_back({value.dtype, value.device, value.layout});
    }
    const int32_t slot = m.input >= 0 ? m.input : schedule_.result_slot(m.result);
    schedule_.outputs.push_back(
        {slot, id == base, OffsetInBase(graph_, id), node.dtype, node.device, node.layout});
  }
}

Pointer PlanBuilder::PointerTo(int32_t memory, int64_t offset) const {
  const int32_t home = Home(memory);
  const Memory& m = memories_[home];
  if (m.input >= 0) return {m.input, offset};
  if (m.result >= 0) return {schedule_.result_slot(m.result), offset};
  return {schedule_.arena_slot(m.arena), arena_offset_[home] + offset};
}

Status PlanBuilder::Emit(const PendingStep& s, std::unique_ptr<const LibraryCall>* call) {
  auto step = std::make_unique<LibraryStep>();
  for (const int32_t id : graph_.nodes[s.node].operands)
    step->operands.push_back(PointerTo(memory_of_[id], OffsetInBase(graph_, id)));
  step->result = PointerTo(memory_of_[s.node], 0);
  step->call = std::move(*call);
  Say("step ", step->text(), SayPointers(step->operands), " -> ", SayPointers({step->result}));
  schedule_.steps.push_back(std::move(step));
  ++schedule_.stats.library_calls;
  return absl::OkStatus();
}

// The user's lines of a kernel, if anybody wants to know: "train.py:12 train.py:13".
std::string PlanBuilder::LinesOf(const PendingStep& s) const {
  if (!WantsCodeLines()) return {};
  std::vector<std::string> lines;
  for (const int32_t id : s.nodes) {
    std::string line = OriginOf(graph_, id);
    if (!line.empty() && std::find(lines.begin(), lines.end(), line) == lines.end())
      lines.push_back(std::move(line));
  }
  return lines.empty() ? ProfileLine() : absl::StrJoin(lines, " ");
}

// Kernels of the CPU on all threads: the cache knows them when steps ask for them.
void PlanBuilder::CompileAhead() {
  std::vector<const kir::Kernel*> kernels;
  std::vector<std::string> lines;
  for (const PendingStep& s : pending_) {
    if (!s.kernel() || !(s.device == Device())) continue;
    kernels.push_back(&s.kernel()->kernel);
    lines.push_back(LinesOf(s));
  }
  if (kernels.size() < tuned::kWorthCompileThreads) return;
  std::atomic<int> compiled{0};
  ProgressLine progress("compiling kernels", int64_t(kernels.size()));
  ParallelFor(static_cast<int64_t>(kernels.size()), 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      bool made = false;
      // An error comes again, and is reported, when the step is emitted.
      GetKernel(*kernels[i], &made, lines[i]).IgnoreError();
      compiled += made;
      progress.Advance();
    }
  });
  schedule_.stats.compiled += compiled;
}

Status PlanBuilder::Emit(const PendingStep& s, Launch* launch) {
  auto step = std::make_unique<KernelStep>();
  if (s.device == Device()) {
    bool compiled = false;
    FZ_ASSIGN_OR_RETURN(step->code, GetKernel(launch->kernel, &compiled, LinesOf(s)));
    step->fn = step->code->fn();
    schedule_.stats.compiled += compiled;
    schedule_.stats.interpreted += !step->fn && GetConfig().jit != "interp";
  } else {
    FZ_ASSIGN_OR_RETURN(step->device, DeviceBackendOf(s.device).MakeKernel(
                                          s.device, *launch, OriginOf(graph_, s.node)));
    CountRefusal(step->device->refusal());
    schedule_.stats.compiled += step->device->compiles();
  }
  AddKernelStep(s, launch, std::move(step));
  return absl::OkStatus();
}

Status PlanBuilder::Emit(const PendingStep& s, ProductWithEpilogue* product) {
  auto step = std::make_unique<KernelStep>();
  step->device = std::move(product->kernel);
  AddKernelStep(s, &product->launch, std::move(step));
  return absl::OkStatus();
}

void PlanBuilder::AddKernelStep(const PendingStep& s, Launch* launch,
                                std::unique_ptr<KernelStep> step) {
  ++schedule_.stats.kernels;
  for (size_t i = 0; i < launch->buffers.size(); ++i)
    step->buffers.push_back(PointerTo(s.touches[i].block, launch->buffers[i].offset));
  for (const int32_t scalar : launch->scalars) {
    step->scalars.push_back(std::max(scalar, -1));
    step->words.push_back(scalar < 0 ? launch->literals[-1 - scalar] : 0);
  }
  step->extents = std::move(launch->extents);
  step->strides = std::move(launch->strides);
  step->rows = launch->rows;
  step->cols = launch->cols;
  step->own_work = launch->work;
  Say("step ", step->device ? step->text() : launch->kernel.name, SayPointers(step->buffers),
      " rows ", step->rows, " cols ", step->cols);
  schedule_.steps.push_back(std::move(step));
}

// While the content of a cell is overwritten, the host's other threads wait (plan.cc): for a short
// while, or where most of what is left to do overwrites, as in an optimizer's step.
void PlanBuilder::SumWork() {
  int64_t overwriting = 0;
  for (size_t i = schedule_.steps.size(); i-- > 0;) {
    const int64_t work = schedule_.steps[i]->work();
    schedule_.stats.work += work;
    bool overwrites = false;
    for (Result& result : schedule_.results) {
      if (result.first_step != static_cast<int32_t>(i)) continue;
      result.work_from_there = schedule_.stats.work;
      const bool worth = result.work_from_there <= cost::kShortLock ||
                         2 * (overwriting + work) >= result.work_from_there;
      if (options_.compile.lent_by_cell && !worth) result.donor = -1;
      overwrites |= result.donor >= 0;
    }
    if (overwrites) overwriting += work;
  }
}

std::string PlanBuilder::SayPointers(absl::Span<const Pointer> pointers) const {
  std::string text;
  for (const Pointer& p : pointers) {
    const int32_t arena = p.slot - schedule_.arena_slot(0), out = p.slot - schedule_.result_slot(0);
    if (arena < 0) {
      StrAppend(&text, " in", p.slot);
    } else if (out >= 0) {
      StrAppend(&text, " out", out);
    } else {
      StrAppend(&text, " arena", arena ? StrCat(arena) : "");
    }
    StrAppend(&text, "+", p.offset);
  }
  return text;
}

StatusOr<Schedule> BuildSchedule(const Graph& graph, const Grouping& grouping,
                                 const BuildOptions& options, tracer::PlanReport* report) {
  return PlanBuilder(graph, grouping, options, report).Run();
}

}  // namespace frazil::jit
