// Composites under the eager door: softmax, layer_norm, adam_step run as one plan of fused kernels
// instead of op by op, as they would in a traced call. Called by the eager door. Invariant: results
// and errors are those of the body; a call's first time runs the body and writes down its ops, so
// only calls that come again are compiled.
#pragma once

#include "core/apply.h"

namespace frazil::jit {

void RunComposite(const CompositeCall& call, CompositeBody body, absl::Span<Tensor> outputs);

}  // namespace frazil::jit
