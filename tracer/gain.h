// What replaying a segment saves over running its calls at once, and what it costs: a function
// whose calls gain nothing runs untraced. Called by the session, which adds up what the segments of
// a call gain, and by Recording, which decides by the sum.
// Invariant: an estimate depends on the recorded calls alone, so the same program is decided about
// in the same way everywhere. How the numbers were measured: docs/decisions.md, "Calls too small to
// gain".
//
// A call that gains nothing by being replayed (few ops on small arrays, a read after every other
// op) runs untraced: each plan knows what it saves over its calls at once (tracer/gain.h, an
// estimate from the recording alone), a recording adds that up over sixteen replayed calls, and
// while the sum is negative one call in 64 is still traced, to see whether it has become more.
#pragma once

#include "tracer/node.h"

#pragma GCC visibility push(default)
namespace frazil::tracer {

// In nanoseconds; negative: the calls are faster at once. `path` ends a segment of which the
// results in `live` are wanted.
int64_t GainOf(absl::Span<const Node* const> path, const LiveMask& live);

// Adds up the gains of the replayed calls of one thread.
class GainCount {
 public:
  enum class Verdict { kOpen, kGains, kLoses };

  // After a call. Decided anew every kCalls calls.
  Verdict Add(int64_t gain) {
    sum_ += gain;
    if (++calls_ < kCalls) return Verdict::kOpen;
    const Verdict verdict = sum_ < 0 ? Verdict::kLoses : Verdict::kGains;
    Clear();
    return verdict;
  }
  void Clear() { sum_ = calls_ = 0; }

 private:
  static constexpr int64_t kCalls = 16;
  int64_t sum_ = 0, calls_ = 0;
};

}  // namespace frazil::tracer
#pragma GCC visibility pop
