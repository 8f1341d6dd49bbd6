// The key of a call by promise: words that are equal where the same script may run. The bindings
// write those for the structure of the arguments, this file those for tensors and the thread.
// Called by tracer/promise. Invariant: words name nothing by an address that may be given to
// something else while an entry with them exists.
#pragma once

#include "core/autocast.h"
#include "core/default_dtype.h"
#include "core/small_stack.h"
#include "tracer/tape_record.h"

#pragma GCC visibility push(default)
namespace frazil::tracer {

using Words = SmallStack<uint64_t, 64>;

// Layout, dtype, device, node and sharing of each cell's content; the thread's settings.
void AddGuards(Cells cells, Words* words);

// The thread's settings: the last word that AddGuards writes.
inline uint64_t ThreadWord() {
  const ThreadState& s = State();
  return uint64_t{DefaultFloat() == DType::kF64} << 63 | AutocastWord() << 60 |
         static_cast<uint64_t>(s.grad_limit) << 24 | static_cast<uint64_t>(s.grad_depth) << 9 |
         uint64_t{s.grad_enabled} << 8 | static_cast<uint64_t>(s.precision);
}

// Equal words have equal hashes; also for look-ups in tables whose keys are vectors.
struct HashWords {
  using is_transparent = void;
  size_t operator()(absl::Span<const uint64_t> words) const;
  size_t operator()(const std::vector<uint64_t>& w) const { return (*this)(absl::MakeSpan(w)); }
};
struct EqualWords {
  using is_transparent = void;
  bool operator()(absl::Span<const uint64_t> a, absl::Span<const uint64_t> b) const {
    return a == b;
  }
};

}  // namespace frazil::tracer
#pragma GCC visibility pop
