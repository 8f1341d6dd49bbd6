// What sets of nodes are as one kernel, found by what they are: equal layers of a network, and what
// is grouped a second time, are analysed once. Made for one compilation; asked by the fuse pass and
// by duplicate.cc.
// Invariant: an answer is what Analyse (jit/graph/space.h) says of that very set. Sets are equal if
// their nodes, in their order, the views between them and the values they read are, by all that
// Analyse looks at, among it which of them are the same.
#pragma once

#include <optional>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/types/span.h"
#include "jit/graph/graph.h"

namespace frazil::jit {

// As in Space.
struct KernelFacts {
  double compute = 0, bytes = 0, shares = 1;
  bool repeats = false;
  bool has_loop = false;  // of the graph: then its nodes are others (Space::repeat)

  double Time() const;
};

class KnownKernels {
 public:
  // Of `nodes` with `outputs` stored, both ascending. Empty if they cannot be one kernel, or should
  // not be.
  std::optional<KernelFacts> Find(const Graph& graph, absl::Span<const int32_t> nodes,
                                  absl::Span<const int32_t> outputs);
  size_t size() const { return known_.size(); }  // different sets so far

 private:
  using Key = std::vector<int64_t>;
  void Describe(const Graph& graph, absl::Span<const int32_t> nodes,
                absl::Span<const int32_t> outputs);

  absl::flat_hash_map<Key, std::optional<KernelFacts>> known_;
  Key key_;                   // of the set asked about
  std::vector<int32_t> ids_;  // what the set and its operands are made of, ascending
};

// The nodes with the views of them that they read.
std::vector<int32_t> WithViews(const Graph& graph, absl::Span<const int32_t> nodes);

}  // namespace frazil::jit
