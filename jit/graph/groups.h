// Groups: which nodes become one kernel. Made by the fuse pass, consumed by jit/lower and the
// planner. Invariant: groups partition the nodes that compute (no inputs, no views used only as
// addressing); they are in executable order; a value crosses a group's border only if it is in
// `outputs` of the group that makes it.
#pragma once

#include <vector>

#include "jit/graph/known_kernels.h"

namespace frazil::jit {

struct Group {
  enum class Kind : uint8_t {
    kKernel,
    kLibrary,  // matmul, put (kernels/), one node each
    kSteps,    // a loop and its results, if they are no kernel (jit/graph/loop_kernel.h)
    kScalars   // a loop and its results as a kernel of their own (jit/graph/scalar_loop.h)
  };
  Kind kind = Kind::kKernel;
  std::vector<int32_t>
      nodes;  // ascending; for kKernel may hold views of values made inside the group
  std::vector<int32_t> outputs;  // values of the group needed outside or returned; dense
};

struct Grouping {
  std::vector<Group> groups;
};

// Nodes that are computed a second time (jit/graph/recompute.h). A copy must not join what it is a
// copy of: it would have to wait for its readers like that.
struct Copies {
  // Of each node: 0, or of a copy the last node that its kernel has no part in. Empty: no copies.
  std::vector<int32_t> behind;

  bool MayJoin(const std::vector<int32_t>& a, const std::vector<int32_t>& b) const;
};

// fuse: elementwise chains with broadcasting and casts; reductions with what feeds them and what
// consumes their results at the same iteration space (softmax is one kernel). A value is recomputed
// in two groups only if that is cheaper than storing it. Never changes bits. `enabled` false: one
// group per node.
// `known`: of the same compilation, if it asks again.
Grouping Fuse(const Graph& graph, bool enabled = true, const Copies& copies = {},
              KnownKernels* known = nullptr);

}  // namespace frazil::jit
