// Products on the CPU and their epilogues: the kernels behind them that take their rows as they
// are, such as bias, activation, residual, cast, softmax or a normalisation of rows. A kernel runs
// over a block of rows as soon as the product has made it, on the same thread, which still has it
// in its cache (jit/run/epilogue_step). Found by the planner (jit/plan/plan_builder.cc) before
// memory is assigned: what such steps touch lives through all of them. Invariant: the effect is
// that of the steps one after another.
//
// A product's epilogue is not part of its code: kernels behind it that take its rows as they are
// (bias, activation, residual, cast, softmax and normalisations of rows; elementwise ops and
// reductions along rows in any mixture) run over each block of rows as soon as the product has
// made it, on the same thread (jit/plan/epilogue.h, RowsDone in kernels/gemm/gemm.h). So they are
// fused by the general rules and find their operand in the cache.
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
