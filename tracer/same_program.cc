#include "tracer/same_program.h"

#include <cstring>
#include <tuple>
#include <utility>

#include "absl/algorithm/container.h"
#include "core/backend.h"
#include "tracer/explain.h"
#include "tracer/while_loop.h"

namespace frazil::tracer {
namespace {

std::string Describe(ValueId id, const Program& program) {
  if (id == kNoValue) return "nothing";
  if (id >= 0) return StrCat("result ", id, " of the call");
  return program.IsConstant(id) ? DescribeData(*program.constant(id))
                                : StrCat("argument tensor ", ~id);
}

bool SameBytes(const Value& a, const Value& b) {
  if (&a == &b) return true;
  if (!(Parameter::Of(a) == Parameter::Of(b)) || !a.layout->dense) return false;
  if (!a.ready() || !b.ready()) return false;
  const auto x = OnHost(a), y = OnHost(b);
  return x.ok() && y.ok() &&
         std::memcmp((*x)->data, (*y)->data, static_cast<size_t>(a.size() * SizeOf(a.dtype))) == 0;
}

std::string Site(const CallRecord& call) {
  return StrCat("'", NameOf(call.composite, call.op), "'",
                call.origin.empty() ? "" : StrCat(" (", call.origin, ")"));
}

constexpr std::string_view kNew = " was called, which was not there before";
constexpr std::string_view kGone = " was not called, as it was before";

class Comparison {
 public:
  Comparison(const Program& known, const Program& now) : known_(known), now_(now) {}

  // Of bodies: programs without marks.
  Status SameCalls() const {
    if (known_.calls.size() != now_.calls.size() || known_.parameters != now_.parameters)
      return RuntimeError("a loop's body changed");
    for (size_t i = 0; i < known_.calls.size(); ++i)
      FZ_RETURN_IF_ERROR(SameCall(known_.calls[i], now_.calls[i]));
    return SameEnd();
  }

  Status Run(bool* same_outcomes) const {
    *same_outcomes = true;
    int32_t done = 0;
    for (size_t i = 0; i < std::max(known_.marks.size(), now_.marks.size()); ++i) {
      if (i >= known_.marks.size()) return RuntimeError(First(now_, i), kNew);
      if (i >= now_.marks.size()) return RuntimeError(First(known_, i), kGone);
      const Mark &a = known_.marks[i], &b = now_.marks[i];
      for (; done < std::max(a.at, b.at); ++done) {
        if (done >= a.at) return RuntimeError(Site(*now_.calls[done].record), kNew);
        if (done >= b.at) return RuntimeError(Site(*known_.calls[done].record), kGone);
        FZ_RETURN_IF_ERROR(SameCall(known_.calls[done], now_.calls[done]));
      }
      FZ_RETURN_IF_ERROR(SameMark(a, b));
      if (a.outcome != b.outcome) {
        *same_outcomes = false;
        return absl::OkStatus();
      }
    }
    return SameEnd();
  }

 private:
  // What comes first behind mark i - 1.
  static std::string First(const Program& program, size_t i) {
    const size_t begin = i > 0 ? static_cast<size_t>(program.marks[i - 1].at) : 0;
    return begin < static_cast<size_t>(program.marks[i].at) ? Site(*program.calls[begin].record)
                                                            : "a read from data";
  }

  // But for the outcome.
  Status SameMark(const Mark& a, const Mark& b) const {
    const std::string where = b.origin.empty() ? "" : StrCat(" (", b.origin, ")");
    if (a.kind != b.kind) return RuntimeError(KindOf(a), " became ", KindOf(b), where);
    if (a.precision != b.precision)
      return RuntimeError("the precision changed: ", Name(a.precision), " -> ", Name(b.precision));
    if (!Same(a.read, b.read)) {
      return RuntimeError(KindOf(a), where, " is of ", Describe(a.read, known_), " -> ",
                          Describe(b.read, now_));
    }
    if (!(a.range == b.range) || a.check != b.check) {
      return RuntimeError("indices", where, " have to lie in [", a.range.low, ", ", a.range.high,
                          ") for '", a.check, "' -> in [", b.range.low, ", ", b.range.high,
                          ") for '", b.check, "'");
    }
    return absl::OkStatus();
  }
  static std::string_view KindOf(const Mark& mark) {
    return mark.kind == Mark::Kind::kNumber       ? "a number that is read"
           : mark.kind == Mark::Kind::kIndexCheck ? "a check of indices"
                                                  : "the end of a segment";
  }

  bool Same(ValueId a, ValueId b) const {
    if (!known_.IsConstant(a) || !now_.IsConstant(b)) return a == b;
    return SameBytes(*known_.constant(a), *now_.constant(b));
  }
  bool Same(const Content& a, const Content& b) const {
    return a.node == b.node && Same(a.value, b.value);
  }
  bool Same(const TapeRecord& a, const TapeRecord& b) const {
    return a.variable == b.variable && a.op == b.op && a.attrs == b.attrs && a.spent == b.spent &&
           a.edges == b.edges && Same(a.saved_output, b.saved_output) &&
           absl::c_equal(a.saved, b.saved,
                         [&](const auto& x, const auto& y) { return Same(x, y); });
  }

  Status SameCall(const Program::Call& a, const Program::Call& b) const {
    if (a->composite != b->composite || a->op != b->op)
      return RuntimeError(Site(*a.record), " became ", Site(*b.record));
    if (a->loop) FZ_RETURN_IF_ERROR(Comparison(*a->body, *b->body).SameCalls());
    if (a->times > 0) FZ_RETURN_IF_ERROR(SameLoop(*a.record, *b.record));
    if (a->attrs != b->attrs) {
      return RuntimeError(Site(*a.record), ": attributes ", ToString(a->attrs), " -> ",
                          ToString(b->attrs));
    }
    if (a.operands.size() != b.operands.size()) {
      return RuntimeError(Site(*a.record), ": ", a.operands.size(), " operands -> ",
                          b.operands.size());
    }
    for (size_t i = 0; i < a.operands.size(); ++i) {
      if (Same(a.operands[i], b.operands[i])) continue;
      return RuntimeError(Site(*b.record), " read ", Describe(a.operands[i], known_), " -> ",
                          Describe(b.operands[i], now_));
    }
    return absl::OkStatus();
  }

  static Status SameLoop(const CallRecord& a, const CallRecord& b) {
    if (a.times != b.times || a.states != b.states)
      return RuntimeError("a loop of ", a.times, " iterations became one of ", b.times);
    const Comparison bodies(*a.body, *b.body);
    FZ_RETURN_IF_ERROR(bodies.SameCalls());
    return bodies.SameEnd();
  }

  Status SameEnd() const {
    const auto same = [&](const auto& a, const auto& b) { return Same(a, b); };
    if (known_.writes.size() != now_.writes.size() ||
        !absl::c_equal(known_.outputs, now_.outputs, same) ||
        !absl::c_equal(known_.tape, now_.tape, same))
      return RuntimeError("the result, or which tensors are written, changed");
    for (size_t i = 0; i < known_.writes.size(); ++i) {
      const Program::Write &a = known_.writes[i], &b = now_.writes[i];
      if (a.cell == b.cell && Same(a.content, b.content)) continue;
      return RuntimeError("what is written to argument tensor ", b.cell,
                          " changed: ", Describe(a.content.value, known_), " -> ",
                          Describe(b.content.value, now_));
    }
    return absl::OkStatus();
  }

  const Program &known_, &now_;
};

// A program with loops, and one in which their iterations stand: goes along both.
class Walk {
 public:
  Walk(const Program& known, const Program& now) : known_(known), now_(now) {}

  Status Run(bool* same_outcomes) {
    *same_outcomes = true;
    size_t call = 0;
    for (size_t m = 0; m < known_.marks.size(); ++m) {
      const Mark& mark = known_.marks[m];
      const WhileLoop* loop = nullptr;
      for (; call < static_cast<size_t>(mark.at); ++call) {
        const Program::Call& expected = known_.calls[call];
        loop = expected->loop.get();
        FZ_RETURN_IF_ERROR(loop ? Loop(expected) : Call(expected, Places()));
      }
      if (loop) {  // the test at its end is one of the iterations'
        *same_outcomes = (mark.outcome != 0) == (loop->goes_on == left_);
        if (!*same_outcomes) return absl::OkStatus();
        continue;
      }
      if (mark_ == now_.marks.size() || static_cast<size_t>(now_.marks[mark_].at) != call_)
        return Other();
      const Mark& other = now_.marks[mark_++];
      if (mark.kind != other.kind || mark.precision != other.precision ||
          mark.check != other.check || !(mark.range == other.range) ||
          !Same(Of(mark.read, Places()), other.read))
        return Other(other.origin);
      if (mark.outcome != other.outcome) {
        *same_outcomes = false;
        return absl::OkStatus();
      }
    }
    return End();
  }

 private:
  // What a value of the known program is in the other: a value there, or a constant of its own.
  struct Place {
    ValueId id = kNoValue;
    bool known = false;
  };
  using Places = std::vector<Place>;

  static Status Other(std::string_view where = "") {
    return RuntimeError("what was called changed", where.empty() ? "" : StrCat(" (", where, ")"));
  }

  // `parameters`: of a loop's body, or none.
  Place Of(ValueId id, const Places& parameters) const {
    if (id == kNoValue) return {};
    if (id >= 0) return results_[static_cast<size_t>(id)];
    if (!parameters.empty()) return parameters[static_cast<size_t>(~id)];
    return {id, known_.IsConstant(id)};
  }
  bool Same(const Place& place, ValueId now) const {
    if (place.known)
      return now_.IsConstant(now) && SameBytes(*known_.constant(place.id), *now_.constant(now));
    if (place.id == now || !now_.IsConstant(place.id) || !now_.IsConstant(now))
      return place.id == now;
    return SameBytes(*now_.constant(place.id), *now_.constant(now));
  }

  Status Call(const Program::Call& expected, const Places& parameters) {
    if (call_ == now_.calls.size()) return RuntimeError(Site(*expected.record), kGone);
    if (mark_ < now_.marks.size() && static_cast<size_t>(now_.marks[mark_].at) == call_ &&
        now_.marks[mark_].kind != Mark::Kind::kCut)
      return Other(now_.marks[mark_].origin);
    const Program::Call& other = now_.calls[call_++];
    if (expected->composite != other->composite || expected->op != other->op || other->loop ||
        expected->times != other->times || expected->attrs != other->attrs ||
        expected.operands.size() != other.operands.size())
      return RuntimeError(Site(*expected.record), " became ", Site(*other.record));
    for (size_t k = 0; k < other.operands.size(); ++k) {
      if (!Same(Of(expected.operands[k], parameters), other.operands[k]))
        return RuntimeError(Site(*other.record), " read another tensor");
    }
    for (size_t r = 0; r < other->results.size(); ++r) results_.push_back({made_++, false});
    return absl::OkStatus();
  }

  Status Loop(const Program::Call& call) {
    const WhileLoop& loop = *call->loop;
    Places begin;
    for (const ValueId id : call.operands) begin.push_back(Of(id, Places()));
    Places outer = std::exchange(results_, {});
    left_ = false;
    for (bool again = true; again && !left_;) {
      const auto start = std::tuple(call_, mark_, made_);
      results_.clear();
      const WhileLoop::Way* way = &loop.root;
      while (true) {
        for (const Program::Call& step : way->calls) {
          SkipCuts();
          FZ_RETURN_IF_ERROR(Call(step, begin));
        }
        SkipCuts();
        if (mark_ == now_.marks.size() || static_cast<size_t>(now_.marks[mark_].at) != call_)
          return Other();
        const Mark& mark = now_.marks[mark_++];
        if (mark.kind != Mark::Kind::kNumber || !Same(Of(way->read, begin), mark.read))
          return Other(mark.origin);
        again = (mark.outcome != 0) == loop.goes_on;
        if (way->ends()) break;
        way = way->ways[mark.outcome != 0].get();
        left_ = !way;
        if (left_) break;
      }
      if (left_) {
        std::tie(call_, mark_, made_) = start;
        break;
      }
      Places next;
      for (const ValueId id : way->next) next.push_back(Of(id, begin));
      std::copy(next.begin(), next.end(), begin.begin());
    }
    results_ = std::move(outer);
    results_.insert(results_.end(), begin.begin(), begin.begin() + loop.states());
    results_.resize(results_.size() + 2);  // the tests, which nothing else reads
    return absl::OkStatus();
  }
  // Long bodies are cut where they are long.
  void SkipCuts() {
    while (mark_ < now_.marks.size() && static_cast<size_t>(now_.marks[mark_].at) == call_ &&
           now_.marks[mark_].kind == Mark::Kind::kCut)
      ++mark_;
  }

  Status End() const {
    const auto same = [&](const Content& a, const Content& b) {
      return a.node == b.node && Same(Of(a.value, Places()), b.value);
    };
    // A loop that may write to a cell has not, in these iterations, if that holds what it held.
    std::vector<Program::Write> writes;
    for (const Program::Write& w : known_.writes) {
      const Place place = Of(w.content.value, Places());
      if (place.known || place.id != ~w.cell || !(w.content.node == Link())) writes.push_back(w);
    }
    const auto same_write = [&](const auto& a, const auto& b) {
      return a.cell == b.cell && same(a.content, b.content);
    };
    if (call_ != now_.calls.size() || mark_ != now_.marks.size() ||
        !absl::c_equal(known_.outputs, now_.outputs, same) ||
        !absl::c_equal(writes, now_.writes, same_write) || known_.tape.size() != now_.tape.size() ||
        !known_.tape.empty())
      return RuntimeError("the result, or which tensors are written, changed");
    return absl::OkStatus();
  }

  const Program &known_, &now_;
  Places results_;              // of the known program's results, or of an iteration's
  size_t call_ = 0, mark_ = 0;  // in the other
  ValueId made_ = 0;
  bool left_ = false;  // the latest loop: by a way that is none of its own
};

}  // namespace

Status SameProgram(const Program& known, const Program& now, bool* same_outcomes) {
  if (HasLoops(known) && !HasLoops(now)) return Walk(known, now).Run(same_outcomes);
  return Comparison(known, now).Run(same_outcomes);
}

bool Agree(const Program& a, const Program& b) {
  bool same = false;
  return Comparison(a, b).Run(&same).ok();
}

}  // namespace frazil::tracer
