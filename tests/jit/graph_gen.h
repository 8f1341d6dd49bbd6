// Random values and graphs for the tests of jit/graph and jit/plan, and running a graph op by
// op. Called by tests only. Invariant: the same seed gives the same graph and data.
#pragma once

#include <random>
#include <string>
#include <vector>

#include "jit/graph/graph.h"

namespace frazil::jit {

using Rng = std::mt19937_64;

inline int64_t Below(Rng& rng, int64_t n) {
  return static_cast<int64_t>(rng() % static_cast<uint64_t>(n));
}

// Random elements with the special values of the dtype among them; memory with gaps if `layout` has
// any.
ValueRef RandomValue(Rng& rng, DType dtype, const Layout* layout);
ValueRef RandomScalar(Rng& rng, DType dtype);
// One value for each input of `graph`. Integers used as indices are in [0, index_limit).
std::vector<ValueRef> RandomInputs(Rng& rng, const Graph& graph);

// A valid graph of about `ops` ops: elementwise chains with broadcasting, casts, reductions, views,
// concat, pad, matmul. Outputs are random nodes, so intermediates, views and inputs are among them.
// `large`: with axes long enough for chunked reductions and the worker pool.
Graph RandomGraph(Rng& rng, int ops, bool large = false);

// The values of graph.outputs by running one op after the other.
StatusOr<std::vector<ValueRef>> RunOpByOp(const Graph& graph, absl::Span<const ValueRef> inputs);

// Element for element the same bits; any NaN equals any NaN. Says where they differ, or "".
std::string Differences(const Value& a, const Value& b);

std::vector<Value*> Pointers(absl::Span<const ValueRef> values);

}  // namespace frazil::jit
