// What a plan runs and the memory that it needs. Filled by the planner (jit/plan/plan_builder.cc),
// run by Plan (plan.h) and, as the body of a loop, by LoopStep.
// Invariant: after building nothing changes; steps run in order, and a step reads only slots that
// are inputs or were written by an earlier step.
#pragma once

#include <string>
#include <vector>

#include "core/precision.h"
#include "jit/graph/graph.h"
#include "jit/run/step.h"
#include "tracer/plan_report.h"

namespace frazil::jit {

struct CompileOptions {
  Precision precision = Precision::kDefault;
  bool fuse = true;
  // Inputs whose memory may be overwritten when nothing else holds it at run time (bit i: input i).
  uint64_t reusable = 0;
  std::vector<uint64_t> more_reusable = {};  // inputs from number 64
  // Those inputs are still the content of a cell: while their memory is overwritten, no other
  // thread of the host may run.
  bool lent_by_cell = false;

  bool Reusable(int32_t input) const {
    if (input < 64) return reusable >> input & 1;
    const auto word = static_cast<size_t>(input / 64 - 1);
    return word < more_reusable.size() && more_reusable[word] >> input % 64 & 1;
  }
  void Reuse(int32_t input) {
    const auto words = static_cast<size_t>(input / 64);
    if (words > more_reusable.size()) more_reusable.resize(words);
    (words == 0 ? reusable : more_reusable[words - 1]) |= uint64_t{1} << input % 64;
  }
};

struct PlanStats {
  int kernels = 0;  // kernel launches per run
  int library_calls = 0;
  int compiled = 0;     // kernels compiled anew for this plan
  int interpreted = 0;  // kernels that no compiler took
  // Of each kernel and product that its device cannot run and the CPU does: why.
  std::vector<std::string> elsewhere;
  int64_t arena_bytes = 0;
  int64_t work = 0;  // of all steps, as Launch::work
};

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
  Steps steps;
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

// Groups become steps; memory is assigned. `report` (may be null) is told of it: groups, kernels and
// steps as text, what each step is made of, how long each block of memory lives and where it lies.
StatusOr<Schedule> BuildSchedule(const Graph& graph, const Grouping& grouping,
                                 const BuildOptions& options, tracer::PlanReport* report = nullptr);

}  // namespace frazil::jit
