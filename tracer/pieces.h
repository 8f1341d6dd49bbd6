// Pieces: which calls of a program become one plan. As they stand they are what lies between marks;
// for a script, marks that only cut the program for its length are forgotten, and so are checks of
// indices: the compiler then sees a whole loop, or forward and backward of a training step. Called
// by tracer/script when it is built.
//
// A check that stood between calls that go together comes before them, with the few calls that make
// its indices: they are run twice, and where the check fails the body runs and finds it at its
// place. Invariant: what the program computes, checks, reads and returns is the same.
#pragma once

#include <vector>

#include "tracer/program.h"

namespace frazil::tracer {

struct Piece {
  std::vector<int32_t> calls;  // ascending
  int32_t mark;                // how it ends
  bool ahead = false;          // its results are for the check alone
  bool merged = false;         // of several segments, or not planned as it was when it ran
};

// One for each mark.
std::vector<Piece> SegmentsOf(const Program& program);
// As few as the compiler should see. Loops of elementwise ops may be of any length; others have a
// limit, for the compiler's sake, together with the pass back over them.
std::vector<Piece> MergedSegmentsOf(const Program& program);

}  // namespace frazil::tracer
