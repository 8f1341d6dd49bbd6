// Branches: consecutive steps of a plan on the CPU that fall into parts without a path between
// them (Y1 = X1 @ W1; Y2 = X2 @ W2). Small steps use several threads badly, so such parts run side
// by side, each on one thread, where the planner expects that to be faster than several threads
// inside each step: small products and many small kernels. Found by the planner
// (jit/plan/plan_builder.cc) before memory is assigned. Invariant: the effect is that of the steps
// one after another, for any number of threads.
//
// What such a group of steps touches lives through all of it, so the arena gives no two branches
// the same bytes; a group that would make the arena grow runs step by step. Inside a body of the
// pool everything is serial: NumThreads() is 1 there.
#pragma once

#include <memory>
#include <vector>

#include "jit/plan/pending.h"

namespace frazil::jit {

struct Branched {
  int32_t begin, end;                          // steps
  std::vector<std::vector<int32_t>> branches;  // steps of each, ascending; the longest first
  int32_t threads;                             // up to so many threads it pays
};

// Groups for which running branches side by side is estimated to be faster on two threads or
// more. `always`: wherever there are two branches, for tests.
std::vector<Branched> FindBranches(const Graph& graph, absl::Span<const PendingStep> pending,
                                   bool always);

// steps: of the group, numbered from `found.begin`.
std::unique_ptr<Step> MakeBranches(const Branched& found, Steps steps);

}  // namespace frazil::jit
