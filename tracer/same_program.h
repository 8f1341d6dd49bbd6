// Whether two calls did the same, and how they differ: how a broken promise is found. Called by
// tracer/promise. Invariant: where the user wrote a call does not count, nor which of equal
// constants it takes.
#pragma once

#include "tracer/program.h"

namespace frazil::tracer {

// OK if both did the same up to a read that gave different numbers (then *outcome is false) or to
// the end. Otherwise the sentence that says what differs: op, the user's line, both values.
// Where `known` has loops (tracer/while_loop.h) and `now` has none, any number of iterations is the
// same.
Status SameProgram(const Program& known, const Program& now, bool* same_outcomes);
// Whether a script may have both: they do the same, loops as loops, up to such a read.
bool Agree(const Program& a, const Program& b);

}  // namespace frazil::tracer
