// Convolutions of each channel by itself: nodes of conv2d that say so in an attribute more than
// ConvAttr has, 1. Operand 1 is [kh, kw, 1, c] then; operand 2, where there is one, is what stands
// around the image. Written by pass "channels", which says why; they stand in graphs alone.
// Invariant: CPU, float32 or float64.
#pragma once

#include "jit/graph/graph.h"

namespace frazil::jit {

inline bool IsEachChannel(const Node& node) {
  return !node.input && node.role == Role::kOp && node.op == OpId::k_conv2d &&
         node.attrs.size() == kConvAttrs + 1;
}

}  // namespace frazil::jit
