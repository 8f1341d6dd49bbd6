// What an op means, element by element, over dense elements: a second implementation that shares
// nothing with jit/. Used by lower_test. Invariant: written from core/SEMANTICS.md and NumPy's
// definitions.
#pragma once

#include "tests/jit/graph_run.h"

namespace frazil::jit {

// Outputs of the whole graph.
std::vector<Elements> Reference(const Graph& graph, const std::vector<Elements>& inputs);

// True if the op is a mathematical function whose last bits only the kernels define: the reference
// does not know it on floats, tests/conformance says how near it is.
bool IsInexact(OpId op);

double ToDouble(DType dtype, uint64_t bits);
uint64_t FromDouble(DType dtype, double x);

}  // namespace frazil::jit
