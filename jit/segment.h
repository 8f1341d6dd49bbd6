// From a recorded path to a plan: the compiler that the tracer calls at a segment's end.
// Called through tracer::SegmentCompiler. Invariant: the graph's inputs are the segment's slots in
// order, then the constants of its composites; composites are expanded to the primitives that ran
// when they were recorded.
#pragma once

#include "jit/graph/graph.h"
#include "tracer/recording.h"

namespace frazil::jit {

// The graph of a path whose results in `live` are wanted; `constants` receives the values of the
// extra inputs.
StatusOr<Graph> GraphOfPath(absl::Span<const tracer::CallRecord* const> path,
                            const tracer::LiveMask& live, std::vector<ValueRef>* constants);

// Registers the compiler with the tracer. Explicit and idempotent.
void RegisterSegmentCompiler();

}  // namespace frazil::jit
