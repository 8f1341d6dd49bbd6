#include "tracer/same_program.h"

#include <cstring>

#include "absl/algorithm/container.h"
#include "core/backend.h"
#include "tracer/explain.h"

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

}  // namespace

Status SameProgram(const Program& known, const Program& now, bool* same_outcomes) {
  return Comparison(known, now).Run(same_outcomes);
}

}  // namespace frazil::tracer
