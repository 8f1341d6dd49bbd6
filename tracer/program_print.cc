#include <algorithm>
#include <atomic>
#include <fstream>

#include "absl/strings/escaping.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "core/backend.h"
#include "core/config.h"
#include "core/text_cursor.h"
#include "tracer/explain.h"
#include "tracer/program_text.h"
#include "tracer/while_loop.h"

namespace frazil::tracer {
namespace {

constexpr std::string_view kNone = "none";

class Printer {
 public:
  explicit Printer(const Program& program) : program_(program) {}

  StatusOr<std::string> Run() {
    StrAppend(&out_, "program (", List(program_.parameters, [](const auto& p) { return Type(p); }),
              ") {\n");
    for (size_t i = 0; i < program_.constants.size(); ++i) FZ_RETURN_IF_ERROR(Constant(i));
    size_t mark = 0;
    for (size_t i = 0; i <= program_.calls.size(); ++i) {
      for (; mark < program_.marks.size() && static_cast<size_t>(program_.marks[mark].at) <= i;
           ++mark)
        Add(program_.marks[mark]);
      if (i < program_.calls.size()) FZ_RETURN_IF_ERROR(Add(program_.calls[i]));
    }
    for (const TapeRecord& node : program_.tape) Add(node);
    for (const auto& w : program_.writes)
      StrAppend(&out_, "  write p", w.cell, " = ", Text(w.content), "\n");
    const auto output = [&](const Content& o) { return Text(o); };
    StrAppend(&out_, "  return", program_.outputs.empty() ? "" : " ",
              List(program_.outputs, output), "\n}\n");
    return std::move(out_);
  }

 private:
  template <typename Items, typename F>
  static std::string List(const Items& items, const F& text) {
    return absl::StrJoin(items, ", ",
                         [&](std::string* out, const auto& item) { out->append(text(item)); });
  }
  static std::string Type(const Parameter& p) {
    if (!p.layout) return std::string(kNone);
    std::string text;
    if (p.immediate) {
      AppendScalarType(&text, p.dtype, p.device);
    } else {
      AppendType(&text, {p.dtype, p.device, p.layout}, Strides::kIfNotDense);
    }
    return text;
  }

  std::string Text(ValueId id) const {
    if (id == kNoValue) return std::string(kNone);
    if (id >= 0) return StrCat("%", id);
    return program_.IsConstant(id)
               ? StrCat("c", static_cast<size_t>(~id) - program_.parameters.size())
               : StrCat("p", ~id);
  }
  static std::string Text(const Link& link) {
    if (link.kind == Link::Kind::kNone) return std::string(kNone);
    return StrCat(link.kind == Link::Kind::kMade ? "made " : "cell ", link.index);
  }
  std::string Text(const Content& o) const {
    return o.node == Link() ? Text(o.value) : StrCat(Text(o.value), " by ", Text(o.node));
  }
  static std::string Text(const Attrs& attrs) {
    return attrs.empty() ? "" : StrCat(" {", absl::StrJoin(attrs, ", "), "}");
  }
  void EndLine(std::string_view origin) {
    StrAppend(&out_, origin.empty() ? "" : "  # ", origin, "\n");
  }

  Status Constant(size_t i) {
    const Value& v = *program_.constants[i];
    StrAppend(&out_, "  constant c", i, " = ", Type(Parameter::Of(v)), " ");
    if (v.immediate) {
      StrAppend(&out_, absl::Hex(v.imm), "\n");
      return absl::OkStatus();
    }
    FZ_RETURN_IF_ERROR(Read(v, Reading::kInside));
    FZ_ASSIGN_OR_RETURN(const ValueRef host, OnHost(v));
    const Reach reach = ReachOf(*v.layout);
    const int64_t size = SizeOf(v.dtype);
    StrAppend(
        &out_, "\"",
        absl::BytesToHexString(AbslView(
            {host->data + reach.low * size, static_cast<size_t>((reach.high - reach.low) * size)})),
        "\"\n");
    return absl::OkStatus();
  }

  Status Add(const Program::Call& call) {
    StrAppend(&out_, "  ");
    for (size_t r = 0; r < call->results.size(); ++r)
      StrAppend(&out_, r > 0 ? ", %" : "%", results_++);
    const auto operand = [&](ValueId id) { return Text(id); };
    StrAppend(&out_, " = ", call->composite ? "call " : "", NameOf(call->composite, call->op),
              call.operands.empty() ? "" : " ", List(call.operands, operand), Text(call->attrs),
              " : ", List(call->results, [](const Result& r) {
                return Type({r.dtype, r.device, false, false, r.layout});
              }));
    if (call->loop) StrAppend(&out_, " of ", call->loop->states(), " states");
    if (call->times > 0) StrAppend(&out_, " of ", call->states, " states ", call->times, " times");
    if (call->body) {
      FZ_ASSIGN_OR_RETURN(std::string body, Print(*call->body));
      body.pop_back();
      StrAppend(&out_, " = ", absl::StrReplaceAll(body, {{"\n", "\n  "}}));
    }
    EndLine(call->origin);
    return absl::OkStatus();
  }

  void Add(const Mark& mark) {
    switch (mark.kind) {
      case Mark::Kind::kCut:
        StrAppend(&out_, "  cut");
        break;
      case Mark::Kind::kNumber:
        StrAppend(&out_, "  number ", Text(mark.read), " is ", absl::Hex(mark.outcome));
        break;
      case Mark::Kind::kIndexCheck:
        StrAppend(&out_, "  indices ", Text(mark.read), " from ", mark.range.low, " to ",
                  mark.range.high, " for \"", absl::CEscape(mark.check), "\" of \"",
                  absl::CEscape(mark.of), "\"");
        break;
    }
    if (mark.precision != Precision::kDefault)
      StrAppend(&out_, " with precision ", Name(mark.precision));
    EndLine(mark.origin);
  }

  void Add(const TapeRecord& node) {
    StrAppend(&out_, "  tape ", node.variable ? "variable" : Info(node.op).name, Text(node.attrs));
    const auto edge = [](const TapeRecord::Edge& e) {
      return e.shape ? StrCat(Text(e.node), " ", Type({e.dtype, Device(), false, false, e.shape}))
                     : Text(e.node);
    };
    StrAppend(&out_, " (", List(node.edges, edge), ")");
    const auto saved = [&](const Content& o) { return Text(o); };
    if (std::any_of(node.saved.begin(), node.saved.end(),
                    [](const Content& o) { return !(o == Content()); }))
      StrAppend(&out_, " saves (", List(node.saved, saved), ")");
    if (node.saved_output != kNoValue) StrAppend(&out_, " output ", Text(node.saved_output));
    StrAppend(&out_, node.spent ? " spent" : "", "\n");
  }

  const Program& program_;
  std::string out_;
  ValueId results_ = 0;
};

}  // namespace

StatusOr<std::string> Print(const Program& program) { return Printer(program).Run(); }

void Dump(const Program& program) {
  static std::atomic<int> next{0};
  const std::string& folder = GetConfig().dump;
  if (folder.empty()) return;
  std::ofstream(StrCat(folder, "/program", next++, ".txt")) << Print(program).value_or("");
}

}  // namespace frazil::tracer
