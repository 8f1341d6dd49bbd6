// Long loops in programs, while those are written down. A Python loop of 10,000 steps arrives as
// hundreds of segments that are one path of the trie (segment_end.h). A ScriptBuilder writes the
// first of them down and counts the others, so that what it holds does not grow with the steps; at
// the end WriteRepeats makes one call of them, which says how often its body runs
// (CallRecord::times) and is a loop of the graph from the start. So neither the time to compile a
// loop nor its memory depends on how long it is.
//
// Segments are the same where their path is, and where each slot holds what it held in the segment
// before, an equal number, or that result of the segment before which it always is: its state.
// Where more is wanted behind a loop than its last iteration (a list of all states, gradients), and
// where there are few iterations, the segments are written down one by one after all.
//
// Invariant: a call with `times` does what its body does, so many times one after the other, each
// time with the states that the time before has left.
#pragma once

#include <vector>

#include "tracer/script.h"

#pragma GCC visibility push(default)
namespace frazil::tracer {

// A segment that comes several times, one after the other. Values are numbered as if each time had
// been written down; the program has the calls of the first.
struct Repeats {
  int64_t times = 0;
  const Node* end = nullptr;       // of the path; alive while the call is
  std::vector<Operands> operands;  // of each call: its own results, or ~slot
  std::vector<Parameter> slots;
  int32_t call = 0, calls = 0;      // where its first call stands, and how many there are
  int32_t mark = 0;                 // that behind it
  ValueId first = 0, results = 0;   // its first result, and how many there are each time
  std::vector<ValueId> begin, now;  // of each slot: at first, and the last time
  std::vector<bool> state;          // of each slot; known from the second time on

  ValueId End() const { return first + static_cast<ValueId>(results * times); }
};

// Whether a loop is worth a call of its own: with fewer calls the compiler sees all of them, with
// what comes before and behind.
bool IsLong(const Repeats& repeats);

// Puts them into the program that `learnt` has, which knows no other values than they have numbered.
void WriteRepeats(absl::Span<const Repeats> repeats, LearntCall* learnt);

}  // namespace frazil::tracer
#pragma GCC visibility pop
