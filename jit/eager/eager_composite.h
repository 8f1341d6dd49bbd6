// Composites under the eager door: softmax, layer_norm, adam_step run as one plan of fused kernels
// instead of op by op, as they would in a traced call, so that they read and write their arrays
// once. Called by the eager door. Invariant: results and errors are those of the body; a call's
// first time runs the body and writes down its ops (tracer/body_recorder.h), so only calls that
// come again are compiled: same layouts, attributes and identities among the operands.
//
// The plans are kept with those of single ops. No array but its operands and its own may occur in
// a recording: bodies work on copies of the cells they are given, since another thread may replace
// a cell between two ops. Bodies that check data, values that are deferred or on another device,
// operands that need a gradient, and FRAZIL_PASSES=-fuse keep to the body.
#pragma once

#include "core/apply.h"

namespace frazil::jit {

void RunComposite(const CompositeCall& call, CompositeBody body, absl::Span<Tensor> outputs);

}  // namespace frazil::jit
