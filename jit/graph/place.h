// Operands where the processor of a node can reach them. Called by Compile, after the passes.
// Invariant: values do not change; a number that goes to such a memory is an argument of a kernel
// there; an op that GPUs lack runs on the CPU; afterwards every operand of a node whose memory the
// CPU cannot address lies in that memory or is a scalar argument, and what moves between memories
// is dense.
//
// On a GPU the CPU cannot address the memory, so core/backend.h is the one door to
// its bytes: Allocate, CopyBytes, OnHost. This pass inserts the transfers and copies that
// a graph needs for it, the planner lays out one arena for each memory, and
// jit/run/cuda/graph.h joins neighbouring steps into one launch: a CUDA graph whose edges follow
// the bytes that steps touch. A kernel step (jit/run/cuda/kernel.h) has one text for each variant
// of alignment it meets; a group whose parameters pass what a launch takes is run node by node.
// docs/cuda.md tells the rest.
#pragma once

#include "jit/graph/graph.h"

namespace frazil::jit {

// Inserts to_device and copy where they are needed; a graph of the CPU and the NPU stays as it is.
Status PlaceOperands(Graph* graph);

}  // namespace frazil::jit
