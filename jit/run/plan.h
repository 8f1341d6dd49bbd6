// Plan: a compiled graph on concrete shapes: steps and buffer offsets. Made by Compile, run by the
// eager door (one op), by the tracer (a segment) and by C++ programs that load a graph. Invariant:
// running a plan gives the bits of running its ops one by one; it writes only its outputs and its
// own arena; it is immutable after Compile and may run in many threads at once.
#pragma once

#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "core/precision.h"
#include "core/tensor.h"
#include "jit/emit/emitter.h"
#include "jit/lower/lower.h"
#include "tracer/memory_report.h"
#include "tracer/node.h"

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

class Plan {
 public:
  virtual ~Plan() = default;
  // inputs: as Graph inputs, ready. outputs[i] becomes a ready value for Graph::outputs[i]: a new
  // dense value, a view of one, an input itself or a view of an input. MemoryError leaves
  // everything as it was.
  Status Run(absl::Span<Value* const> inputs, absl::Span<ValueRef> outputs) const {
    return Run(inputs, outputs, [](int32_t) { return false; });
  }
  virtual Status Run(absl::Span<Value* const> inputs, absl::Span<ValueRef> outputs,
                     tracer::StillLent still_lent) const = 0;
  // The same into values that are deferred; those that are not are left as they are.
  virtual Status Fill(absl::Span<Value* const> inputs, absl::Span<Value* const> deferred) const = 0;
  virtual const PlanStats& stats() const = 0;
  virtual int64_t bytes() const = 0;  // about what it holds, kernels apart
  virtual tracer::MemoryReport ReportMemory() const = 0;
  virtual std::string Dump() const = 0;  // graph after passes, groups, kernels, steps: as text
};

// passes fold, cse, dce, fuse, plan; kernels from the cache. Named passes can be switched off by
// FRAZIL_PASSES.
StatusOr<std::shared_ptr<const Plan>> Compile(Graph graph, const CompileOptions& options);

}  // namespace frazil::jit
