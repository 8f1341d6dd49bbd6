// The one implementation of Plan: runs a Schedule. Made by Compile (jit/plan/compile.cc);
// MakeView is also called by the eager door. Invariant: nothing of it changes after construction.
#pragma once

#include <cstring>
#include <memory>
#include <utility>

#include "jit/run/quick_call.h"
#include "jit/run/steps.h"

namespace frazil::jit {

// Where a result lies.
struct Memory {
  StorageRef storage;
  char* data = nullptr;
};

class PlanImpl : public Plan, public std::enable_shared_from_this<PlanImpl> {
 public:
  PlanImpl(Schedule schedule, Graph graph, Grouping grouping, const BuildOptions& options)
      : schedule_(MarkLast(std::move(schedule))),
        simple_(IsSimple(schedule_)),
        has_head_(options.compile.lent_by_cell && HasHead(schedule_)),
        quick_(Quick()),
        graph_(std::move(graph)),
        grouping_(std::move(grouping)),
        options_(options),
        bytes_(CountBytes()) {}

  using Plan::Run;
  Status Run(absl::Span<Value* const> inputs, absl::Span<ValueRef> outputs,
             tracer::StillLent still_lent) const override;
  Status Fill(absl::Span<Value* const> inputs, absl::Span<Value* const> deferred) const override;
  const PlanStats& stats() const override { return schedule_.stats; }
  int64_t bytes() const override { return bytes_; }
  tracer::MemoryReport ReportMemory() const override;
  std::string Dump() const override;

  const Schedule& schedule() const { return schedule_; }
  const Graph& graph() const { return graph_; }  // behind all passes
  const Grouping& grouping() const { return grouping_; }
  const BuildOptions& options() const { return options_; }

  // Without a kernel (fn null) if it takes more than that. Its parts live as long as the plan.
  const QuickCall& quick() const { return quick_; }

 private:
  // One small kernel that makes one new value, as most eager ops are.
  static bool IsSimple(const Schedule& schedule);
  static Schedule MarkLast(Schedule schedule);
  QuickCall Quick() const;
  Status RunSimple(absl::Span<Value* const> inputs, Memory* memory) const;
  bool lent_by_cell() const { return options_.compile.lent_by_cell; }
  // Enough work before the first step that may overwrite the content of a cell.
  static bool HasHead(const Schedule& schedule);
  bool TakesLong() const;
  int32_t FirstOverwrite(absl::Span<Value* const> inputs) const;
  Status RunSteps(char* const* slots, absl::Span<Value* const> inputs, int32_t begin) const;
  Status RunLong(char* const* slots, absl::Span<Value* const> inputs, int32_t begin, int32_t end,
                 int32_t overwrites) const;
  StatusOr<ValueRef> MakeOutput(const Output& output, absl::Span<Value* const> inputs,
                                absl::Span<ValueRef> results) const;

  Schedule schedule_;
  bool simple_;
  bool has_head_;
  QuickCall quick_;
  // For Dump and CompileAgain, which build the schedule again.
  Graph graph_;
  Grouping grouping_;
  BuildOptions options_;
  int64_t bytes_;

  int64_t CountBytes() const;
};

// A value of `layout` whose first element lies `bytes` behind that of `base`, sharing its memory.
StatusOr<ValueRef> MakeView(const Value& base, DType dtype, const Layout* layout, int64_t bytes);

}  // namespace frazil::jit
