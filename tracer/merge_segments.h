// Segments that a long loop was cut into, put together again for a script, so that the compiler
// sees the whole loop. Called by tracer/script when it is built.
// Invariant: what the path computes, reads and returns is the same, and its results keep their
// numbers.
#pragma once

#include <memory>

#include "tracer/script.h"

namespace frazil::tracer {

// Null if no segments repeat each other. Only loops of elementwise ops are put together, and only
// where nothing from inside is wanted: others gain nothing from being one plan.
std::shared_ptr<PathRecord> MergeSegments(const PathRecord& path);

}  // namespace frazil::tracer
