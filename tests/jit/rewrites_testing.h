// Graphs in which a row of rewrites.def is found, and data that tells apart what is not equal.
// Used by rewrites_test and rewrites_proof_test. Invariant: the same seed gives the same graph and
// data.
#pragma once

#include <functional>
#include <optional>

#include "core/str.h"
#include "jit/graph/passes/passes.h"
#include "jit/graph/passes/rewrite.h"
#include "tests/jit/graph_gen.h"

namespace frazil::jit {

// The ops that F and G stand for in one graph.
using Choices = std::array<OpId, kChoiceNames.size()>;
std::vector<Choices> AllChoices(const Rewrite& row);

// Adds the pattern of a row to a graph. Captured values that no op makes are inputs.
class PatternGraph {
 public:
  PatternGraph(const Rewrite& row, const Choices& choices) : row_(row), choices_(choices) {}
  virtual ~PatternGraph() = default;

  // The graph without outputs; its last node is the pattern's root. Nothing: inference refuses it.
  std::optional<Graph> Make();
  // Which letters the row captures at leaves.
  std::array<bool, kCaptures> Leaves() const;

 protected:
  virtual void AddLeaf(Graph* graph, int capture) = 0;
  virtual Attrs AttrsFor(OpId op, const Node& x) = 0;

  const Rewrite& row_;

 private:
  int32_t Add(Graph* graph, int* at);  // -1: refused

  Choices choices_;
  std::array<int32_t, kCaptures> captured_{};
};

std::string NameOfRow(const Rewrite& row);

// Random bits, special values, and small numbers that are often equal; `tame`: floats about 1.
uint64_t TellingBits(Rng& rng, DType dtype, bool tame);
std::vector<uint64_t> SpecialBits(DType dtype);
ValueRef ValueOf(DType dtype, const Layout* layout, const std::function<uint64_t(int64_t)>& bits);
std::vector<ValueRef> TellingInputs(Rng& rng, const Graph& graph);

// Where the outputs differ, or "".
std::string CompareGraphs(const Graph& before, const Graph& after,
                          absl::Span<const ValueRef> inputs);

}  // namespace frazil::jit
