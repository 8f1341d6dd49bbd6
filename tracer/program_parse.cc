#include <optional>

#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/numbers.h"
#include "core/backend.h"
#include "core/functions/composites.h"
#include "core/text_cursor.h"
#include "tracer/program_text.h"

namespace frazil::tracer {
namespace {

std::optional<CompositeId> FindComposite(std::string_view name) {
  for (uint32_t i = 0; i < kNumComposites; ++i) {
    if (frazil::NameOf(static_cast<CompositeId>(i)) == name) return static_cast<CompositeId>(i);
  }
  return std::nullopt;
}

class Parser {
 public:
  explicit Parser(TextCursor* text, int depth = 0) : text_(*text), depth_(depth) {}

  StatusOr<Program> Run() {
    FZ_RETURN_IF_ERROR(text_.Expect("program"));
    FZ_RETURN_IF_ERROR(List("(", ")", [&]() -> Status {
      FZ_ASSIGN_OR_RETURN(Parameter p, TakeParameter());
      program_.parameters.push_back(std::move(p));
      return absl::OkStatus();
    }));
    FZ_RETURN_IF_ERROR(text_.Expect("{"));
    while (!text_.TakeIf("return")) FZ_RETURN_IF_ERROR(Line());
    if (text_.Peek() != "}") {
      do {
        FZ_ASSIGN_OR_RETURN(const Content o, TakeContent());
        program_.outputs.push_back(o);
      } while (text_.TakeIf(","));
    }
    FZ_RETURN_IF_ERROR(text_.Expect("}"));
    return std::move(program_);
  }

 private:
  template <typename F>
  Status List(std::string_view open, std::string_view close, const F& take) {
    FZ_RETURN_IF_ERROR(text_.Expect(open));
    for (bool first = true; !text_.TakeIf(close); first = false) {
      if (!first) FZ_RETURN_IF_ERROR(text_.Expect(","));
      FZ_RETURN_IF_ERROR(take());
    }
    return absl::OkStatus();
  }

  Status Line() {
    const std::string_view word = text_.Peek();
    if (word.empty()) return text_.Fail("'return' is missing at the end");
    if (word[0] == '%') return TakeCall();
    text_.Take();
    if (word == "constant") return TakeConstant();
    if (word == "write") return TakeWrite();
    if (word == "tape") return TakeTape();
    return TakeMark(word);
  }

  StatusOr<Parameter> TakeParameter() {
    if (text_.TakeIf("none")) return Parameter();
    const bool scalar = text_.TakeIf("scalar");
    FZ_ASSIGN_OR_RETURN(ArrayType type, text_.TakeType(scalar));
    return Parameter{type.dtype, type.device, scalar, false, std::move(type.layout)};
  }

  StatusOr<ValueId> TakeValue() {
    const std::string_view word = text_.Take();
    if (word == "none") return kNoValue;
    uint32_t number;
    if (word.size() < 2 || !absl::SimpleAtoi(AbslView(word.substr(1)), &number))
      return text_.Fail("'", word, "' is no value");
    const size_t parameters = program_.parameters.size(), constants = program_.constants.size();
    if (word[0] == '%' && number < static_cast<uint32_t>(results_))
      return static_cast<ValueId>(number);
    if (word[0] == 'p' && number < parameters) return ~static_cast<ValueId>(number);
    if (word[0] == 'c' && number < constants) return program_.IdOfConstant(number);
    return text_.Fail("'", word, "' names no earlier value");
  }

  StatusOr<Link> TakeLink() {
    if (text_.TakeIf("none")) return Link();
    const std::string_view kind = text_.Take();
    if (kind != "made" && kind != "cell") return text_.Fail("'", kind, "' is no node");
    const bool made = kind == "made";
    FZ_ASSIGN_OR_RETURN(const int64_t index, text_.TakeInt());
    if (index < 0 ||
        index >= static_cast<int64_t>(made ? program_.tape.size() : program_.parameters.size()))
      return text_.Fail("there is no node '", kind, " ", index, "'");
    return Link{made ? Link::Kind::kMade : Link::Kind::kCell, static_cast<int32_t>(index)};
  }

  StatusOr<Content> TakeContent() {
    Content o;
    FZ_ASSIGN_OR_RETURN(o.value, TakeValue());
    if (text_.TakeIf("by")) {
      FZ_ASSIGN_OR_RETURN(o.node, TakeLink());
    }
    return o;
  }

  StatusOr<uint64_t> TakeHex() {
    const std::string_view word = text_.Take();
    uint64_t bits;
    if (absl::SimpleHexAtoi(AbslView(word), &bits)) return bits;
    return text_.Fail("'", word, "' is no hexadecimal number");
  }

  Status TakeConstant() {
    const std::string name = StrCat("c", program_.constants.size());
    FZ_RETURN_IF_ERROR(text_.Expect(name));
    FZ_RETURN_IF_ERROR(text_.Expect("="));
    FZ_ASSIGN_OR_RETURN(const Parameter type, TakeParameter());
    if (!type.layout) return text_.Fail("a constant has a type");
    if (type.immediate) {
      FZ_ASSIGN_OR_RETURN(const uint64_t bits, TakeHex());
      program_.constants.push_back(Value::Immediate(type.dtype, bits));
      return absl::OkStatus();
    }
    FZ_ASSIGN_OR_RETURN(const std::string hex, text_.TakeQuoted());
    const Reach reach = ReachOf(*type.layout);
    const int64_t size = SizeOf(type.dtype);
    const auto bytes = static_cast<size_t>((reach.high - reach.low) * size);
    if (hex.size() != 2 * bytes || !absl::c_all_of(hex, absl::ascii_isxdigit))
      return text_.Fail(name, " needs ", bytes, " bytes, two hexadecimal digits each");
    const std::string data = absl::HexStringToBytes(hex);
    FZ_ASSIGN_OR_RETURN(StorageRef storage, Allocate(type.device, bytes));
    char* const base = storage->data;
    FZ_RETURN_IF_ERROR(CopyBytes(type.device, base, Device(), data.data(), bytes));
    program_.constants.push_back(Value::Make(type.dtype, type.device, type.layout,
                                             std::move(storage), base - reach.low * size));
    return absl::OkStatus();
  }

  // %0, %1 = [call] name operands {attrs} : types [= program ...]  [# origin]
  Status TakeCall() {
    auto record = std::make_shared<CallRecord>();
    Operands operands;
    ValueId results = results_;
    do FZ_RETURN_IF_ERROR(text_.Expect(StrCat("%", results++)));
    while (text_.TakeIf(","));
    FZ_RETURN_IF_ERROR(text_.Expect("="));
    record->composite = text_.TakeIf("call");
    const std::string_view name = text_.Take();
    const auto op = OpNamed(name);
    const auto composite = FindComposite(name);
    if (record->composite ? !composite : !op)
      return text_.Fail("'", name, "' is no ", record->composite ? "composite" : "op");
    record->op = record->composite ? static_cast<uint32_t>(*composite) : static_cast<uint32_t>(*op);
    while (text_.Peek() != "{" && text_.Peek() != ":") {
      if (!operands.empty()) FZ_RETURN_IF_ERROR(text_.Expect(","));
      FZ_ASSIGN_OR_RETURN(const ValueId id, TakeValue());
      operands.push_back(id);
    }
    if (text_.Peek() == "{") {
      FZ_ASSIGN_OR_RETURN(record->attrs, text_.TakeList("{", "}"));
    }
    FZ_RETURN_IF_ERROR(text_.Expect(":"));
    for (; results_ < results; ++results_) {
      if (!record->results.empty()) FZ_RETURN_IF_ERROR(text_.Expect(","));
      FZ_ASSIGN_OR_RETURN(ArrayType type, text_.TakeType(false));
      record->results.push_back({type.dtype, type.device, std::move(type.layout)});
    }
    if (text_.TakeIf("=")) {
      if (depth_ == kMaxDepth)
        return text_.Fail("programs stand in each other more than ", kMaxDepth, " deep");
      FZ_ASSIGN_OR_RETURN(Program body, Parser(&text_, depth_ + 1).Run());
      record->body = std::make_shared<const Program>(std::move(body));
    }
    record->origin = text_.TakeComment().value_or("");
    FZ_RETURN_IF_ERROR(Check(*record, name, operands.size()));
    program_.calls.push_back({std::move(record), std::move(operands)});
    return absl::OkStatus();
  }

  Status Check(const CallRecord& record, std::string_view name, size_t operands) const {
    const int64_t arity = record.composite ? -1 : Info(record.primitive()).arity;
    if (arity >= 0 && operands != static_cast<size_t>(arity))
      return text_.Fail("'", name, "' takes ", arity, " operands, not ", operands);
    if (!record.composite && (record.body || record.results.size() != 1))
      return text_.Fail("an op has one result, and no body");
    if (record.body && (record.body->parameters.size() != operands ||
                        record.body->outputs.size() != record.results.size()))
      return text_.Fail("the body of '", name, "' is over other values than its call");
    if (record.body &&
        (!record.body->marks.empty() || !record.body->writes.empty() ||
         !record.body->tape.empty() ||
         absl::c_any_of(record.body->outputs, [](const Content& o) { return o.value < 0; })))
      return text_.Fail("the body of '", name, "' does more than return its results");
    return absl::OkStatus();
  }

  Status TakeMark(std::string_view kind) {
    Mark mark;
    mark.at = static_cast<int32_t>(program_.calls.size());
    if (kind == "number") {
      mark.kind = Mark::Kind::kNumber;
      FZ_ASSIGN_OR_RETURN(mark.read, TakeValue());
      FZ_RETURN_IF_ERROR(text_.Expect("is"));
      FZ_ASSIGN_OR_RETURN(mark.outcome, TakeHex());
    } else if (kind == "indices") {
      mark.kind = Mark::Kind::kIndexCheck;
      FZ_ASSIGN_OR_RETURN(mark.read, TakeValue());
      FZ_RETURN_IF_ERROR(text_.Expect("from"));
      FZ_ASSIGN_OR_RETURN(mark.range.low, text_.TakeInt());
      FZ_RETURN_IF_ERROR(text_.Expect("to"));
      FZ_ASSIGN_OR_RETURN(mark.range.high, text_.TakeInt());
      FZ_RETURN_IF_ERROR(text_.Expect("for"));
      FZ_ASSIGN_OR_RETURN(mark.check, text_.TakeQuoted());
      FZ_RETURN_IF_ERROR(text_.Expect("of"));
      FZ_ASSIGN_OR_RETURN(mark.of, text_.TakeQuoted());
    } else if (kind != "cut") {
      return text_.Fail("'", kind, "' begins no line of a program");
    }
    if (text_.TakeIf("with")) {
      FZ_RETURN_IF_ERROR(text_.Expect("precision"));
      const std::string_view name = text_.Take();
      const auto precision = PrecisionNamed(name);
      if (!precision) return text_.Fail("'", name, "' is no precision");
      mark.precision = *precision;
    }
    mark.origin = text_.TakeComment().value_or("");
    program_.marks.push_back(std::move(mark));
    return absl::OkStatus();
  }

  Status TakeWrite() {
    FZ_ASSIGN_OR_RETURN(const ValueId cell, TakeValue());
    if (cell >= 0 || cell == kNoValue || program_.IsConstant(cell))
      return text_.Fail("only parameters are written");
    FZ_RETURN_IF_ERROR(text_.Expect("="));
    FZ_ASSIGN_OR_RETURN(const Content content, TakeContent());
    program_.writes.push_back({~cell, content});
    return absl::OkStatus();
  }

  Status TakeTape() {
    TapeRecord node;
    const std::string_view name = text_.Take();
    node.variable = name == "variable";
    const auto op = OpNamed(name);
    if (!node.variable && !op) return text_.Fail("'", name, "' is no op");
    if (op) node.op = *op;
    if (text_.Peek() == "{") {
      FZ_ASSIGN_OR_RETURN(node.attrs, text_.TakeList("{", "}"));
    }
    FZ_RETURN_IF_ERROR(List("(", ")", [&]() -> Status {
      TapeRecord::Edge edge;
      FZ_ASSIGN_OR_RETURN(edge.node, TakeLink());
      if (text_.Peek() != "," && text_.Peek() != ")") {
        FZ_ASSIGN_OR_RETURN(ArrayType type, text_.TakeType(false));
        edge.dtype = type.dtype;
        edge.shape = std::move(type.layout);
      }
      node.edges.push_back(std::move(edge));
      return absl::OkStatus();
    }));
    if (text_.TakeIf("saves")) {
      size_t i = 0;
      FZ_RETURN_IF_ERROR(List("(", ")", [&]() -> Status {
        if (i == node.saved.size()) return text_.Fail("a node saves ", i, " tensors at most");
        FZ_ASSIGN_OR_RETURN(node.saved[i++], TakeContent());
        return absl::OkStatus();
      }));
    }
    if (text_.TakeIf("output")) {
      FZ_ASSIGN_OR_RETURN(node.saved_output, TakeValue());
    }
    node.spent = text_.TakeIf("spent");
    program_.tape.push_back(std::move(node));
    return absl::OkStatus();
  }

  static constexpr int kMaxDepth = 16;

  TextCursor& text_;
  const int depth_;
  Program program_;
  ValueId results_ = 0;
};

}  // namespace

StatusOr<Program> ParseProgram(std::string_view text) {
  TextCursor cursor("program", text);
  FZ_ASSIGN_OR_RETURN(Program program, Parser(&cursor).Run());
  if (!cursor.Peek().empty()) return cursor.Fail("'", cursor.Peek(), "' follows the program");
  return program;
}

}  // namespace frazil::tracer
