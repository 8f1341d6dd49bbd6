#include "tracer/pieces.h"

#include <algorithm>
#include <optional>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_set.h"
#include "absl/hash/hash.h"
#include "core/op.h"
#include "tracer/segment_end.h"

namespace frazil::tracer {
namespace {

bool IsElementwise(const CallRecord& call) {
  if (call.composite) {
    return absl::c_all_of(call.body->calls, [](const auto& c) { return IsElementwise(*c.record); });
  }
  return IsPointwise(call.primitive()) || Info(call.primitive()).klass == OpClass::kView;
}

// Which slice a call takes, and where its gradient goes, may differ from iteration to iteration.
uint64_t WhatOf(const Program::Call& call) {
  const bool pad = !call->composite && call->primitive() == OpId::k_pad;
  return absl::HashOf(call->composite, call->op, pad ? Attrs() : AttrsInBody(*call.record),
                      call.operands.size());
}

// Calls of a loop of any ops, and of the pass back over it: their plan has the bodies once.
constexpr int kMostOfSteps = 1 << 19;
constexpr int kFewRead = 64;  // calls for each result that they read of the loop before them
constexpr int kMostChecks = 16;
constexpr size_t kMostOfCheck = 16;       // calls that make the indices of a check
constexpr int64_t kLargeCheck = 1 << 20;  // elements

// Segments are numbered as the marks behind them are.
int32_t BeginOf(const Program& program, size_t segment) {
  return segment > 0 ? program.marks[segment - 1].at : 0;
}

Piece Whole(const Program& program, size_t begin, size_t end) {
  const int32_t first = BeginOf(program, begin);
  Piece piece{{}, static_cast<int32_t>(end - 1), false, end - begin > 1};
  piece.calls.resize(static_cast<size_t>(BeginOf(program, end) - first));
  absl::c_iota(piece.calls, first);
  return piece;
}

class Merger {
 public:
  explicit Merger(const Program& program)
      : program_(program), parts_(program), wanted_(parts_.FirstResult(program.calls.size())) {
    const auto want = [&](ValueId id) {
      if (id >= 0) wanted_[id] = true;
    };
    ForValuesOfEnd(program, want);
    for (const Mark& mark : program.marks) want(mark.read);
  }

  std::vector<Piece> Run() {
    std::vector<Piece> pieces;
    for (size_t begin = 0, end; begin < program_.marks.size(); begin = end) {
      end = EndOfLoop(begin);
      if (end - begin == 1 && !IsLoopCall(begin))
        end = std::max(EndOfGroup(begin), EndOfSteps(begin));
      while (end < program_.marks.size() && ReadsIterations(begin, end)) ++end;
      for (size_t s = begin; s + 1 < end; ++s) {
        if (program_.marks[s].kind == Mark::Kind::kIndexCheck)
          pieces.push_back({*MakersOfCheck(s, Begin(begin)), static_cast<int32_t>(s), true});
      }
      pieces.push_back(Whole(program_, begin, end));
      // A long loop in one segment: constants that its iterations made alike are to be one.
      if (end - begin == 1 && Count(begin, end) >= kLoopSegment && HasLoop(begin))
        pieces.back().merged = true;
    }
    return pieces;
  }

 private:
  int32_t Begin(size_t segment) const { return BeginOf(program_, segment); }
  int32_t Count(size_t begin, size_t end) const { return Begin(end) - Begin(begin); }
  absl::Span<const Program::Call> Calls(size_t begin, size_t end) const {
    return absl::MakeConstSpan(program_.calls)
        .subspan(static_cast<size_t>(Begin(begin)), static_cast<size_t>(Count(begin, end)));
  }

  // One that is a call is a plan of its own.
  bool IsLoopCall(size_t segment) const {
    return Count(segment, segment + 1) == 1 && Calls(segment, segment + 1)[0]->IsLoop();
  }
  std::vector<uint64_t> WhatOfAll(size_t segment) const {
    std::vector<uint64_t> calls;
    for (const auto& call : Calls(segment, segment + 1)) calls.push_back(WhatOf(call));
    return calls;
  }
  bool Repeats(size_t segment) const { return FindBodies(WhatOfAll(segment)).length > 0; }
  // At its end, or, as a loop with the pass back over it, at its beginning.
  bool HasLoop(size_t segment) const {
    const std::vector<uint64_t> calls = WhatOfAll(segment);
    return FindBodies(calls).length > 0 ||
           FindBodies(absl::MakeConstSpan(calls).first(calls.size() / 4)).length > 0;
  }

  // The segment before `next` repeats a body and was cut behind a whole number of them, and `next`
  // begins with one.
  bool GoesOn(size_t next) const {
    const Mark& cut = program_.marks[next - 1];
    if (cut.kind != Mark::Kind::kCut || cut.precision != program_.marks[next].precision)
      return false;
    const std::vector<uint64_t> calls = WhatOfAll(next - 1);
    const Bodies bodies = FindBodies(calls);
    if (bodies.length == 0 || Count(next, next + 1) < bodies.length) return false;
    const auto body = absl::MakeConstSpan(calls).last(static_cast<size_t>(bodies.length));
    return absl::c_equal(body, Calls(next, next + 1).first(body.size()),
                         [](uint64_t what, const auto& call) { return what == WhatOf(call); });
  }

  size_t EndOfLoop(size_t begin) const {
    size_t end = begin + 1;
    while (end < program_.marks.size() && GoesOn(end)) ++end;
    return IsLoop(begin, end) ? end : begin + 1;
  }

  bool IsLoop(size_t begin, size_t end) const {
    return absl::c_all_of(Calls(begin, end),
                          [](const auto& c) { return IsElementwise(*c.record); }) &&
           std::none_of(wanted_.begin() + parts_.FirstResult(Begin(begin)),
                        wanted_.begin() + parts_.FirstResult(Begin(end - 1)),
                        [](bool wanted) { return wanted; });
  }

  bool IsOnCpu(size_t segment) const {
    return absl::c_all_of(Calls(segment, segment + 1), [](const Program::Call& call) {
      return absl::c_all_of(call->results, [](const Result& r) { return r.device == Device(); });
    });
  }

  // A loop of any ops of the CPU: its plan has steps that repeat, and keeps what is wanted of them.
  size_t EndOfSteps(size_t begin) const {
    size_t end = begin + 1;
    while (end < program_.marks.size() && GoesOn(end) && Count(begin, end + 1) <= kMostOfSteps &&
           IsOnCpu(end))
      ++end;
    return end;
  }

  // Whether segment `next` reads what many iterations of a loop from `begin` on made, as the pass
  // back over it does. In one plan with it that is an array; in two, as many values.
  bool ReadsIterations(size_t begin, size_t next) const {
    const Mark& cut = program_.marks[next - 1];
    if (cut.kind != Mark::Kind::kCut || cut.precision != program_.marks[next].precision ||
        Count(begin, next + 1) > kMostOfSteps || IsLoopCall(begin) || IsLoopCall(next) ||
        !IsOnCpu(begin) || !IsOnCpu(next) ||
        (Count(next, next + 1) > kLongSegment && !HasLoop(next)))
      return false;
    const ValueId first = parts_.FirstResult(Begin(begin)), own = parts_.FirstResult(Begin(next));
    absl::flat_hash_set<ValueId> read;
    for (const Program::Call& call : Calls(next, next + 1)) {
      for (const ValueId id : call.operands) {
        if (id >= first && id < own) read.insert(id);
      }
    }
    return int64_t(read.size()) * kFewRead >= Count(next, next + 1);
  }

  // What may be one plan from `begin` on, up to a read or a loop.
  size_t EndOfGroup(size_t begin) const {
    size_t end = begin + 1;
    int checks = 0, most = kMaxSegment;
    for (; end < program_.marks.size() && !IsLoopCall(end) && EndOfLoop(end) == end + 1; ++end) {
      const Mark& last = program_.marks[end - 1];
      if (last.kind == Mark::Kind::kCut) most = kLongSegment;  // pieces of loops
      if (Count(begin, end + 1) > most || last.kind == Mark::Kind::kNumber ||
          last.precision != program_.marks[end].precision)
        break;
      if (last.kind == Mark::Kind::kIndexCheck &&
          (++checks > kMostChecks || !MakersOfCheck(end - 1, Begin(begin))))
        break;
    }
    return end;
  }

  // The calls from call `begin` on that make the indices of the check behind `segment`; nothing if
  // those are many, long, or more than elementwise.
  std::optional<std::vector<int32_t>> MakersOfCheck(size_t segment, int32_t begin) const {
    std::vector<int32_t> makers;
    const auto take = [&](ValueId id) {
      const int32_t maker = id >= 0 ? parts_.MakerOf(id) : -1;
      if (maker >= begin && !absl::c_linear_search(makers, maker)) makers.push_back(maker);
    };
    take(program_.marks[segment].read);
    for (size_t i = 0; i < makers.size(); ++i) {
      const Program::Call& call = program_.calls[makers[i]];
      if (makers.size() > kMostOfCheck || call->results.size() != 1 ||
          !IsElementwise(*call.record) || call->results[0].layout->size > kLargeCheck)
        return std::nullopt;
      absl::c_for_each(call.operands, take);
    }
    absl::c_sort(makers);
    return makers;
  }

  const Program& program_;
  const Parts parts_;
  std::vector<bool> wanted_;  // results that are kept, returned or read
};

}  // namespace

std::vector<Piece> SegmentsOf(const Program& program) {
  std::vector<Piece> pieces;
  for (size_t i = 0; i < program.marks.size(); ++i) pieces.push_back(Whole(program, i, i + 1));
  return pieces;
}

std::vector<Piece> MergedSegmentsOf(const Program& program) { return Merger(program).Run(); }

}  // namespace frazil::tracer
