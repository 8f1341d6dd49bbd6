// Composites whose gradients are made from their operands: over large arrays the tape keeps these
// and not what the body makes on the way. Called by the tape (autograd/composite.cc), and by those
// that run composites (TakesMuch). Invariant: a body from here calls the same ops as the function
// of its name does.
#pragma once

#include "core/functions/composites.h"

namespace frazil::ops {

// Of the composite's operands and attributes, as it announces them (composite.h).
using BodyOfOperands = Tensor (*)(absl::Span<const Tensor> operands, AttrSpan attrs);
// Null: the tape keeps what its ops keep.
BodyOfOperands FindBody(CompositeId id);

// Whether an operand is so large that memory counts: what the body makes on the way is not made one
// by one then, even the first time.
bool TakesMuch(const CompositeCall& call);

}  // namespace frazil::ops
