// Segments that a call was cut into for its length or for checks of indices, put together again for
// a script: the compiler then sees a whole loop, or forward and backward of a training step. Called
// by tracer/script when it is built.
//
// A check that stood between segments comes before them, with the few calls that make its indices:
// they are run twice, and where the check fails the body runs and finds it at its place.
// Invariant: what the path computes, checks, reads and returns is the same.
#pragma once

#include <memory>

#include "tracer/script.h"

namespace frazil::tracer {

// Null if there is nothing to put together. Loops of elementwise ops may be of any length; others
// have a limit, for the compiler's sake.
std::shared_ptr<PathRecord> MergeSegments(const PathRecord& path);

}  // namespace frazil::tracer
