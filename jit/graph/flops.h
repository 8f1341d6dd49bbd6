// How many floating-point operations a node is: for profiles and reports, next to the time it took
// (jit/plan/plan_builder_report.cc). Invariant: a convention, not an estimate of time (that is
// core/cost.h), and no decision depends on it.
//
// A multiplication and an addition are two. An elementwise op, an exponential as well as a sum, is
// one for each element of its result, a reduction one for each element that it takes in. Integers,
// casts, copies and moves are none, and neither are sorts and factorisations (LAPACK), which are
// not counted.
#pragma once

#include "jit/graph/graph.h"

namespace frazil::jit {

double FlopsOf(const Graph& graph, int32_t id);

}  // namespace frazil::jit
