// The graph passes: named rewrites that keep every bit. Called by Compile (jit/plan/compile.cc)
// and by tests. Invariant: a pass keeps the number and order of inputs and outputs and each
// output's dtype, device and layout; running the graph before and after gives the same bits for all
// data.
#pragma once

#include <string_view>

#include "absl/types/span.h"
#include "jit/graph/graph.h"

namespace frazil::jit {

void TakeParts(
    Graph* graph);        // parts of complex numbers that are made here are what they were made of
void Fold(Graph* graph);  // rewrites.def: equal values that need less work
void Cse(Graph* graph);   // equal calls of equal operands become one node
void Channels(Graph* graph);  // channels.cc: sums that convolve each channel by itself are one node
void Assign(Graph* graph);    // assign.cc: what is assigned part by part becomes one array
void Pads(Graph* graph);      // pads.cc: sums of parts padded with zeros are put together
void Dce(Graph* graph);       // nodes that no output needs go
void JoinProducts(Graph* graph);  // join_products.cc: products of successive rows become one
void Split(Graph* graph);         // split.cc: what is read in slices is computed in slices
void Reorder(Graph* graph);       // reorder.cc: convolutions' results stay channels last
void LayOut(Graph* graph);        // lay_out.cc: what many products read across is copied once
void Roll(Graph* graph);          // roll.cc: a repeated body becomes a loop
void WriteOut(Graph* graph);      // write_out.cc: loops over small arrays become scalars
void Overlap(Graph* graph);       // overlap.cc: collectives begin early and are waited for late
void Wide(Graph* graph);          // wide.cc: products of int8 that was widened read it as it was
void Halves(Graph* graph);        // wide.cc: the same of matrices of 16-bit floats

// A part of WriteOut (around_loops.cc): what stands around loops that are.
void WriteOutAround(Graph* graph);

struct Pass {
  std::string_view name;
  std::string_view doc;
  void (*run)(Graph*);   // null: a stage of Compile that is no rewrite of the graph
  bool by_rule = false;  // needs products by the rule of core/SEMANTICS.md, not a library's
};
// In the order in which they run; the last ones are stages that only have a switch.
absl::Span<const Pass> Passes();

// Which of Passes() run: FRAZIL_PASSES, "-fuse,-cse" switches two off, "none" all.
class PassSwitches {
 public:
  static StatusOr<PassSwitches> FromText(std::string_view text);
  bool enabled(std::string_view name) const;
  uint32_t off() const { return off_; }

 private:
  uint32_t off_ = 0;  // bit per row of Passes()
};

}  // namespace frazil::jit
