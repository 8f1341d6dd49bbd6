// Products on the CPU and their epilogues: the kernels behind them that take their rows as they
// are, such as bias, activation, residual, cast, softmax or a normalisation of rows; elementwise
// ops and reductions along rows in any mixture. A kernel runs over a block of rows as soon as the
// product has made it (RowsDone in kernels/gemm/gemm.h), on the same thread, which still has it in
// its cache (jit/run/epilogue_step). So epilogues are no part of the product's code and are fused
// by the general rules. Found by the planner (jit/plan/plan_builder.cc) before memory is assigned:
// what such steps touch lives through all of them. Invariant: the effect is that of the steps one
// after another.
#pragma once

#include <vector>

#include "jit/plan/pending.h"

namespace frazil::jit {

// Steps [begin, end): the product and the kernels behind it.
struct Epilogue {
  int32_t begin, end;
};

// always: however small the product is, for tests.
std::vector<Epilogue> FindEpilogues(const Graph& graph, absl::Span<const PendingStep> pending,
                                    bool always);

}  // namespace frazil::jit
