// Products on the CPU and the kernels behind them that take their rows as they are: bias,
// activation, residual, cast, softmax or a normalisation of rows. A kernel runs over a block of
// rows as soon as the product has made it, on the same thread, which still has it in its cache.
// Found by the planner (jit/runtime/plan_builder.cc) before memory is assigned: what such steps
// touch lives through all of them. Invariant: the effect is that of the steps one after another.
#pragma once

#include <vector>

#include "jit/runtime/pending.h"
#include "jit/runtime/steps.h"

namespace frazil::jit {

// Steps [begin, end): the product and the kernels behind it.
struct Followed {
  int32_t begin, end;
};

// always: however small the product is, for tests.
std::vector<Followed> FindFollowed(const Graph& graph, absl::Span<const PendingStep> pending,
                                   bool always);

Status RunFollowed(const FollowedStep& step, char* const* slots, absl::Span<Value* const> inputs);

}  // namespace frazil::jit
