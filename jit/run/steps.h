// What a plan is made of: steps over pointers that are found at run time. Filled by the planner
// (jit/plan/plan_builder.cc), run by jit/run/plan.cc.
// Invariant: after building nothing changes; steps run in order, and a step reads only slots that
// are inputs or were written by an earlier step.
#pragma once

#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "jit/emit/emitter.h"
#include "jit/run/device_kernel.h"
#include "jit/run/plan.h"

namespace frazil::jit {

// Slots of a run: the data of each input, then the arenas, then the memory of each result.
struct Pointer {
  int32_t slot;
  int64_t offset;  // bytes
};

struct KernelStep {
  std::shared_ptr<const Compiled> code;
  kir::KernelFn fn = nullptr;                  // code's plain entry, null for the interpreter
  std::unique_ptr<const DeviceKernel> device;  // not on the CPU: runs instead of `code`
  std::vector<Pointer> buffers;
  std::vector<int32_t> scalars;  // input numbers, or -1: the word in `words`
  std::vector<uint64_t> words;   // as scalars
  std::vector<int64_t> extents, strides;
  int64_t rows, cols, work;
};

struct LibraryStep {
  std::unique_ptr<const LibraryCall> call;
  std::vector<Pointer> operands;
  Pointer result;
};

class StepGroup;  // jit/run/step_group.h

// Several of one device, or branches on the CPU (jit/plan/branches.h).
struct GroupStep {
  std::shared_ptr<const StepGroup> step_group;
};

// Small kernels on the CPU that do not wait for each other (jit/run/list_step.h).
struct KernelList {
  std::vector<KernelStep> entries;
  int64_t work = 0;
};
struct ListStep {
  std::unique_ptr<const KernelList> list;
};

// A product and kernels that take its rows while the cache holds them (jit/plan/epilogue.h).
struct EpilogueStep {
  LibraryStep product;
  std::vector<KernelStep> kernels;
};

// Steps that run several times (jit/run/loop_step.h).
struct StepLoop;
struct LoopStep {
  std::shared_ptr<const StepLoop> loop;
};

using Step = std::variant<KernelStep, LibraryStep, GroupStep, ListStep, EpilogueStep, LoopStep>;

// New memory that outlives the run, for a value that an output is or is a view of.
struct Result {
  DType dtype;
  Device device;
  LayoutRef layout;
  int32_t donor = -1;           // input whose memory may be taken instead
  int32_t first_step = 0;       // that writes it
  int64_t work_from_there = 0;  // to the end of the plan
};

// How an output is made. `slot` is an input or a result.
struct Output {
  int32_t slot;
  bool same;       // the very value in the slot, otherwise a view of it
  int64_t offset;  // bytes
  DType dtype;
  Device device;
  LayoutRef layout;
  bool last = false;  // no later output is or is a view of the same result
};

// Memory of one device that lives as long as a run.
struct Arena {
  Device device;
  int64_t bytes = 0;
};

struct Schedule {
  int32_t num_inputs = 0;
  std::vector<Arena> arenas;
  std::vector<Step> steps;
  std::vector<Result> results;
  std::vector<Output> outputs;
  PlanStats stats;

  int32_t arena_slot(int a) const { return num_inputs + a; }
  int32_t result_slot(int r) const { return num_inputs + int32_t(arenas.size()) + r; }
};

struct BuildOptions {
  CompileOptions compile;
  bool in_place = true;
  bool branches = true;        // side by side where that is faster
  bool always_branch = false;  // wherever there are some, for tests
  bool body = false;           // of a loop: what its iterations overwrite is theirs
};

// Groups become steps; memory is assigned. `dump` (may be null) receives groups, kernels and steps
// as text, `memory` (may be null) how long each block lives and where it lies.
StatusOr<Schedule> BuildSchedule(const Graph& graph, const Grouping& grouping,
                                 const BuildOptions& options, std::string* dump,
                                 tracer::MemoryReport* memory = nullptr);

}  // namespace frazil::jit
