// Composites under the eager door: softmax, layer_norm, adam_step run as one plan of fused kernels
// instead of op by op, as they would in a traced call. Called by the eager door. Invariant: results
// and errors are those of the body; a call's first time runs the body and writes down its ops, so
// only calls that come again are compiled.
//
// A composite that needs no gradient is one call for the eager door, too
// (jit/eager/eager_composite.h). The first time its body runs op by op and its ops are written
// down (tracer/expansion.h, as the session does); when the same call comes again, same layouts,
// attributes and identities among its operands, they become one plan of fused kernels, kept with
// the plans of single ops. The first time it is a recording, in which no array but its operands
// and its own may occur: bodies work on copies of the cells they are given, since another thread
// may replace a cell between two ops. So softmax, layer_norm, gelu or a step of Adam outside of a
// trace reads and writes its arrays once. Bodies that check data, values that are deferred or on
// another device, and FRAZIL_PASSES=-fuse keep to the body.
#pragma once

#include "core/apply.h"

namespace frazil::jit {

void RunComposite(const CompositeCall& call, CompositeBody body, absl::Span<Tensor> outputs);

}  // namespace frazil::jit
