// Plan: a compiled graph on concrete shapes: a schedule of steps and how to run it. Made by Compile
// (jit/plan/compile.cc), run by the eager door (one op), by the tracer (a segment) and by C++
// programs that load a graph. Invariant: running a plan gives the bits of running its ops one by
// one; it writes only its outputs and its own arena; it is immutable after Compile and may run in
// many threads at once.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "core/cost.h"
#include "core/tensor.h"
#include "jit/run/quick_call.h"
#include "jit/run/schedule.h"
#include "tracer/node.h"

namespace frazil::jit {

// Where a result lies.
struct Memory {
  StorageRef storage;
  char* data = nullptr;
};

class Plan : public std::enable_shared_from_this<Plan> {
 public:
  Plan(Schedule schedule, Graph graph, Grouping grouping, const BuildOptions& options);

  // inputs: as Graph inputs, ready. outputs[i] becomes a ready value for Graph::outputs[i]: a new
  // dense value, a view of one, an input itself or a view of an input. MemoryError leaves
  // everything as it was.
  Status Run(absl::Span<Value* const> inputs, absl::Span<ValueRef> outputs) const {
    return Run(inputs, outputs, [](int32_t) { return false; });
  }
  Status Run(absl::Span<Value* const> inputs, absl::Span<ValueRef> outputs,
             tracer::StillLent still_lent) const;
  // The same into values that are deferred; those that are not are left as they are.
  Status Fill(absl::Span<Value* const> inputs, absl::Span<Value* const> deferred) const;
  const PlanStats& stats() const { return schedule_.stats; }
  // Running it may let other threads of the host go on: it is long, or waits for a device.
  bool unlocks() const { return schedule_.stats.work >= cost::kLong || waits_; }
  int64_t bytes() const { return bytes_; }  // about what it holds, kernels apart
  tracer::PlanReport Report() const;        // worked out anew
  std::string Dump() const { return Report().text; }

  const Schedule& schedule() const { return schedule_; }
  const Graph& graph() const { return graph_; }  // behind all passes
  const Grouping& grouping() const { return grouping_; }
  const BuildOptions& options() const { return options_; }

  // Without a kernel (fn null) if it takes more than that. Its parts live as long as the plan.
  const QuickCall& quick() const { return quick_; }

  // For a profile that is being taken: where it is called, if its graph does not say.
  std::string LineOfProfile() const;

 private:
  static const KernelStep* Simple(const Schedule& schedule);
  static Schedule MarkLast(Schedule schedule);
  QuickCall Quick() const;
  Status RunSimple(absl::Span<Value* const> inputs, Memory* memory) const;
  bool lent_by_cell() const { return options_.compile.lent_by_cell; }
  // Enough work before the first step that may overwrite the content of a cell.
  static bool HasHead(const Schedule& schedule);
  bool TakesLong() const;
  int32_t FirstOverwrite(absl::Span<Value* const> inputs) const;
  // One, of which a profile is told. `line`: LineOfProfile().
  Status RunStep(size_t i, char* const* slots, absl::Span<Value* const> inputs,
                 const std::string& line) const;
  Status RunSteps(char* const* slots, absl::Span<Value* const> inputs, int32_t begin) const;
  Status RunLong(char* const* slots, absl::Span<Value* const> inputs, int32_t begin, int32_t end,
                 int32_t overwrites) const;
  StatusOr<ValueRef> MakeOutput(const Output& output, absl::Span<Value* const> inputs,
                                absl::Span<ValueRef> results) const;

  Schedule schedule_;
  const KernelStep* simple_;  // the one small kernel that makes one new value, as of most eager ops
  bool has_head_;
  QuickCall quick_;
  // For Dump and CompileAgain, which build the schedule again.
  Graph graph_;
  Grouping grouping_;
  BuildOptions options_;
  bool starts_;  // collectives that end beside other steps
  bool waits_;   // for a device whose memory the CPU cannot address
  int64_t bytes_;

  int64_t CountBytes() const;
};

// passes fold, cse, dce, fuse, plan; kernels from the cache. Named passes can be switched off by
// FRAZIL_PASSES.
StatusOr<std::shared_ptr<const Plan>> Compile(Graph graph, const CompileOptions& options);

// A value of `layout` whose first element lies `bytes` behind that of `base`, sharing its memory.
StatusOr<ValueRef> MakeView(const Value& base, DType dtype, const Layout* layout, int64_t bytes);

}  // namespace frazil::jit
