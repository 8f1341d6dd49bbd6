// The causes behind everything that explain(), stats() and FRAZIL_LOG=guard tell: one row of
// causes.def each. Noted by tracer/recording and, for what is shared by the process, by the caches
// of jit/cache and jit/eager. Invariant: a sentence is made from its row alone.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/types/span.h"

#pragma GCC visibility push(default)
namespace frazil::tracer {

enum class CauseKind : uint8_t { kChange, kPlan, kRefusal, kEviction };

enum class Cause : uint8_t {
#define FZ_CAUSE(Id, name, kind, sentence) k##Id,
#include "tracer/causes.def"
#undef FZ_CAUSE
};
inline constexpr int kNumCauses = 0
#define FZ_CAUSE(Id, name, kind, sentence) +1
#include "tracer/causes.def"
#undef FZ_CAUSE
    ;

struct CauseRow {
  std::string_view name;
  CauseKind kind;
  std::string_view sentence;
};
const CauseRow& Info(Cause cause);

// What fills a sentence: ("old", "f32[64,784]").
using Field = std::pair<std::string_view, std::string>;

struct Explanation {
  Cause cause;
  std::vector<Field> fields;
};
// The sentence without its full stop.
std::string Sentence(const Explanation& explanation);

// What no single traced callable is answerable for: evictions from caches that all share. Counted
// for the process, shown by every explain() and stats(); FRAZIL_LOG=guard prints it, and
// thrashing is printed in any case.
void NoteShared(const Explanation& explanation);
int64_t SharedCount(Cause cause);
std::vector<std::string> SharedLines();  // the latest of each cause

}  // namespace frazil::tracer
#pragma GCC visibility pop
