// From a program to a plan: the compiler that the tracer calls at a segment's end.
// Called through tracer::SegmentCompiler. Invariant: the graph's inputs are the program's
// parameters in order, then its constants and those of its composites, which are expanded to the
// primitives that ran when they were recorded.
#pragma once

#include "jit/graph/graph.h"
#include "tracer/recording.h"

namespace frazil::jit {

// The graph of a program of whose calls the results in `live` are wanted, or, if that is empty, its
// outputs; `constants` receives the
// values of the extra inputs.
StatusOr<Graph> GraphOf(const tracer::Program& program, const tracer::LiveMask& live,
                        std::vector<ValueRef>* constants);

// Registers the compiler with the tracer. Explicit and idempotent.
void RegisterSegmentCompiler();

}  // namespace frazil::jit
