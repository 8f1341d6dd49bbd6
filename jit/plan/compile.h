// Compile with its switches as arguments: what Compile (jit/run/plan.h) does with those of the
// environment. Called by Compile and by tests. Invariant: switches change speed and memory, never
// bits.
#pragma once

#include "jit/graph/passes/passes.h"
#include "jit/run/plan.h"

namespace frazil::jit {

struct CompileSettings {
  PassSwitches passes;
  bool verify = false;
  // Bytes that must wait for late readers before cheap values are computed again instead.
  int64_t worth_recomputing = int64_t{4} << 20;
  int64_t worth_ordering = int64_t{1} << 20;
  bool always_branch = false;  // steps side by side wherever it is possible, not where it pays
  bool on_disk = false;        // what earlier processes decided is taken; verify compares instead
  std::string dump_dir;        // every stage as text into this directory; empty: nowhere
};

StatusOr<std::shared_ptr<const Plan>> CompileWith(Graph graph, const CompileOptions& options,
                                                  const CompileSettings& settings);

// The plan of the graph that `plan` was made of, with other memory to be reused: neither passes nor
// the search for groups run again. Precision and `fuse` are those of `plan`.
StatusOr<std::shared_ptr<const Plan>> CompileAgain(const Plan& plan, const CompileOptions& options);

}  // namespace frazil::jit
