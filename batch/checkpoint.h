// Rematerialisation: the results of a function without what was computed on the way, which is
// computed again for the gradients. Called by frazil.checkpoint and frazil.h.
//
// The function runs once on operands without history, so that the tape keeps nothing of it but what
// it reads besides its operands (a layer's parameters): these are found on the tape and join the
// operands of one node (autograd/custom.h). The pass back runs it again in a scope of its own. Inside
// of a vmap the node outside is that of the function for all examples, which enters the scope again.
// In forward mode tangents need every result once and at once: the function just runs.
//
// Results of the ops that a policy names are kept all the same (core/kept.h).
//
// Invariants: values and gradients are those of the function; random numbers are drawn once, and the
// same again (core/functions/draws.h).
#pragma once

#include <functional>
#include <vector>

#include "core/kept.h"

#pragma GCC visibility push(default)
namespace frazil::batch {

using FlatFunction = std::function<StatusOr<std::vector<Tensor>>(absl::Span<const Tensor>)>;

using KeptOps = std::bitset<kNumOps>;

StatusOr<std::vector<Tensor>> Checkpoint(const FlatFunction& f, absl::Span<const Tensor> operands,
                                         const KeptOps& kept_ops = {});

}  // namespace frazil::batch
#pragma GCC visibility pop
