// Operands where the processor of a node can reach them. Called by Compile, after the passes.
// Invariant: values do not change; a number that goes to such a memory is an argument of a kernel
// there; an op that GPUs lack runs on the CPU; afterwards every operand of a node whose memory the
// CPU cannot address lies in that memory or is a scalar argument, and what moves between memories
// is dense.
#pragma once

#include "jit/graph/graph.h"

namespace frazil::jit {

// Inserts to_device and copy where they are needed; a graph of the CPU and the NPU stays as it is.
Status PlaceOperands(Graph* graph);

}  // namespace frazil::jit
