// LoopKernel: a loop (graph.h) inside a kernel. Where a body is elementwise throughout, its state
// stays in registers from one iteration to the next and the loop is a part of one kernel (`repeat`
// in kernel IR), with what is fused before and behind it; every other loop is steps of a plan.
// Which of both it is, IsOneKernel says: the roll pass asks it of the bodies it finds, the fuse
// pass of the loops it meets.
//
// Analyse and jit/lower see such a kernel as one list of nodes, in which the body stands where the
// loop stood: first the numbers that each iteration has of its own and the state, as copies of what
// it is before the first iteration, then the body, then the state behind the last iteration. Made
// by Analyse for a set of nodes with a loop among them.
// Invariant: operands precede uses, and what stands before `first` does not change from iteration
// to iteration.
#pragma once

#include <memory>
#include <vector>

#include "jit/graph/graph.h"

namespace frazil::jit {

struct LoopKernel {
  Graph graph;                          // what the set reads, and its nodes; no loop
  std::vector<int32_t> nodes, outputs;  // of the set, in `graph`
  std::vector<int32_t> around;          // where each node stands outside, or -1
  int64_t times = 0;
  int32_t first = 0, body = 0, last = 0, end = 0;  // where these begin
  // Of each node between `first` and `body`: a number for each iteration; of state none.
  std::vector<std::vector<int32_t>> each;

  bool IsEach(int32_t id) const { return id >= first && id < body && !each[id - first].empty(); }
  bool Repeats(int32_t id) const { return id >= first && id < end; }

  // Null: a set of which no kernel can be made, whatever it costs.
  static std::shared_ptr<const LoopKernel> Of(const Graph& graph, absl::Span<const int32_t> nodes,
                                              absl::Span<const int32_t> outputs);
};

// Whether the loop at node `id` can be a kernel, its results stored.
bool IsOneKernel(const Graph& graph, int32_t id);

// Whether the body of such a loop may have this node.
bool MayRepeatInKernel(const Node& node);

}  // namespace frazil::jit
