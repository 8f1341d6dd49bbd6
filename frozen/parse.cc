#include <optional>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "core/functions/composites.h"
#include "frozen/lives.h"
#include "frozen/program.h"

namespace frazil::frozen {
namespace {

constexpr int kMaxDepth = 1000;         // of blocks within blocks
constexpr int64_t kMaxCalls = 1 << 20;  // of a program
constexpr size_t kMaxNames = 1 << 16, kMaxOperands = 1 << 12, kMaxText = size_t{1} << 26;

std::optional<uint32_t> CompositeNamed(std::string_view name) {
  for (uint32_t i = 0; i < kNumComposites; ++i) {
    if (NameOf(static_cast<CompositeId>(i)) == name) return i;
  }
  return std::nullopt;
}

class Parser {
 public:
  explicit Parser(std::string_view text) : text_("program", text) {}

  StatusOr<Program> Run() {
    FZ_RETURN_IF_ERROR(text_.Expect("frazil-program"));
    FZ_ASSIGN_OR_RETURN(const int64_t version, text_.TakeInt());
    if (version != kFormatVersion) {
      return ValueError("[program] the file has format version ", version, ", this frazil reads ",
                        kFormatVersion, ": export it again, or use the frazil that wrote it.");
    }
    while (!text_.TakeIf("program")) FZ_RETURN_IF_ERROR(TakeName());
    const Scope scope{.parameters = program_.inputs.size(), .whole = true};
    FZ_RETURN_IF_ERROR(TakeBlock(scope, &program_.block));
    if (!text_.Peek().empty()) return text_.Fail("'", text_.Peek(), "' stands behind the program");
    FindLives(&program_.block);
    return std::move(program_);
  }

 private:
  // Where a block stands: what it may name, and how it may end.
  struct Scope {
    size_t parameters;
    int32_t results = 0;
    int depth = 0;
    bool whole = false;   // it may read and write
    int32_t states = -1;  // of a loop that tests its condition
  };

  Status TakeName() {
    const std::string_view word = text_.Take();
    if (word == "symbol") return TakeSymbol();
    if (word == "number") return TakeNumber();
    if (word != "input" && word != "weight" && word != "constant")
      return text_.Fail(word.empty() ? "the program is missing"
                                     : "such a line begins with input, "
                                       "weight, constant, number, symbol or program");
    Program::Named named;
    named.constant = word == "constant";
    const bool input = word == "input";
    FZ_ASSIGN_OR_RETURN(named.name, text_.TakeQuoted());
    const std::string_view dtype = text_.Take();
    const auto known = ParseDType(dtype);
    if (!known) return text_.Fail("'", dtype, "' is no dtype");
    named.dtype = *known;
    FZ_RETURN_IF_ERROR(TakeSizes("[", "]", &named.dims));
    if (named.dims.size() > static_cast<size_t>(kMaxRank))
      return text_.Fail("'", named.name, "' has ", named.dims.size(), " axes, at most ", kMaxRank,
                        " are there");
    for (const Expression& dim : named.dims) {
      if (dim.is_constant() ? dim.constant() < 0 : !input || dim.symbol() < 0)
        return text_.Fail("an axis of '", named.name, "' is no size");
    }
    auto& list = input ? program_.inputs : program_.tensors;
    if (list.size() == kMaxNames) return text_.Fail("there are over ", kMaxNames, " names");
    if (!(input ? input_names_ : tensor_names_).insert(named.name).second)
      return text_.Fail("'", named.name, "' is there twice");
    list.push_back(std::move(named));
    return absl::OkStatus();
  }

  Status TakeSymbol() {
    Program::Symbol symbol;
    symbol.name = std::string(text_.Take());
    FZ_RETURN_IF_ERROR(text_.Expect("from"));
    FZ_ASSIGN_OR_RETURN(symbol.low, text_.TakeInt());
    FZ_RETURN_IF_ERROR(text_.Expect("to"));
    FZ_ASSIGN_OR_RETURN(symbol.high, text_.TakeInt());
    if (text_.TakeIf("by")) {
      FZ_ASSIGN_OR_RETURN(symbol.multiple_of, text_.TakeInt());
    }
    int64_t number;
    if (absl::SimpleAtoi(symbol.name, &number) || absl::c_linear_search(symbols_, symbol.name))
      return text_.Fail("'", symbol.name, "' is no new name");
    if (symbol.low < 0 || symbol.high < symbol.low || symbol.multiple_of < 1)
      return text_.Fail("'", symbol.name, "' is from ", symbol.low, " to ", symbol.high);
    if (symbols_.size() == kMaxRank) return text_.Fail("there are over ", kMaxRank, " symbols");
    symbols_.push_back(symbol.name);
    program_.symbols.push_back(std::move(symbol));
    return absl::OkStatus();
  }

  Status TakeNumber() {
    Number number;
    const std::string_view dtype = text_.Take();
    const auto known = ParseDType(dtype);
    if (!known || IsComplex(*known)) return text_.Fail("'", dtype, "' is no dtype of a number");
    number.dtype = *known;
    const std::string_view of = text_.Take();
    const auto* kind = absl::c_find(kNumberOf, of);
    if (kind == std::end(kNumberOf)) return text_.Fail("'", of, "' tells no number");
    number.of = static_cast<Number::Of>(kind - std::begin(kNumberOf));
    if (number.of == Number::Of::kBits) {
      FZ_ASSIGN_OR_RETURN(number.bits, TakeHex());
      if (SizeOf(number.dtype) < 8 && number.bits >> (8 * SizeOf(number.dtype)))
        return text_.Fail("a number of ", dtype, " has ", SizeOf(number.dtype), " bytes");
      if (IsBool(number.dtype) && number.bits > 1) return text_.Fail("a bool is 0 or 1");
    } else if (number.of == Number::Of::kSame) {
      FZ_RETURN_IF_ERROR(TakeOperands({.parameters = program_.inputs.size()}, &number.cells));
      const bool cells = absl::c_all_of(number.cells, [](const Ref& ref) {
        return ref.kind == Ref::Kind::kParameter || ref.kind == Ref::Kind::kTensor;
      });
      if (!IsBool(number.dtype) || number.cells.size() < 2 || !cells)
        return text_.Fail("'same' is a bool of inputs and tensors");
    } else {
      FZ_ASSIGN_OR_RETURN(number.size, Expression::Take(&text_, symbols_));
    }
    if (program_.numbers.size() == kMaxNames) return text_.Fail("there are over ", kMaxNames);
    program_.numbers.push_back(std::move(number));
    return absl::OkStatus();
  }

  StatusOr<uint64_t> TakeHex() {
    const std::string_view word = text_.Take();
    uint64_t bits;
    if (absl::SimpleHexAtoi(AbslView(word), &bits)) return bits;
    return text_.Fail("'", word, "' is no hexadecimal number");
  }

  Status TakeSizes(std::string_view open, std::string_view close, std::vector<Expression>* sizes) {
    FZ_RETURN_IF_ERROR(text_.Expect(open));
    while (!text_.TakeIf(close)) {
      if (!sizes->empty()) FZ_RETURN_IF_ERROR(text_.Expect(","));
      if (sizes->size() == kMaxOperands) return text_.Fail("there are over ", kMaxOperands);
      FZ_ASSIGN_OR_RETURN(Expression size, Expression::Take(&text_, symbols_));
      sizes->push_back(std::move(size));
    }
    return absl::OkStatus();
  }

  StatusOr<Ref> TakeRef(const Scope& scope) {
    const std::string_view word = text_.Take();
    uint32_t number;
    if (word.size() > 1 && absl::SimpleAtoi(AbslView(word.substr(1)), &number)) {
      using Kind = Ref::Kind;
      const auto [kind, count] =
          word[0] == '%'   ? std::pair(Kind::kResult, size_t(scope.results))
          : word[0] == 'p' ? std::pair(Kind::kParameter, scope.parameters)
          : word[0] == 't' ? std::pair(Kind::kTensor, program_.tensors.size())
          : word[0] == 'n' ? std::pair(Kind::kNumber, program_.numbers.size())
                           : std::pair(Kind::kNone, size_t{0});
      if (number < count) return Ref{kind, static_cast<int32_t>(number)};
    }
    return text_.Fail("'", word, "' names no earlier value");
  }

  // Up to a word that is no operand.
  Status TakeOperands(const Scope& scope, std::vector<Ref>* operands) {
    while (!text_.Peek().empty() &&
           absl::StrContains("%ptn", AbslView(text_.Peek().substr(0, 1))) &&
           text_.Peek().size() > 1 && absl::ascii_isdigit(text_.Peek()[1])) {
      if (operands->size() == kMaxOperands) return text_.Fail("there are over ", kMaxOperands);
      FZ_ASSIGN_OR_RETURN(const Ref ref, TakeRef(scope));
      operands->push_back(ref);
      if (!text_.TakeIf(",")) break;
    }
    return absl::OkStatus();
  }

  Status TakeBlock(Scope scope, Block* block) {
    if (scope.depth == kMaxDepth) return text_.Fail("blocks are over ", kMaxDepth, " deep");
    FZ_RETURN_IF_ERROR(text_.Expect("{"));
    while (true) {
      const std::string_view word = text_.Peek();
      if (word.empty()) return text_.Fail("a block does not end");
      if (word[0] == '%') {
        FZ_RETURN_IF_ERROR(TakeCall(&scope, block));
        continue;
      }
      text_.Take();
      if (word == "check") {
        FZ_RETURN_IF_ERROR(TakeCheck(scope, block));
      } else if (word == "precision") {
        const auto known = PrecisionNamed(text_.Take());
        if (!known) return text_.Fail("there is no such precision");
        precision_ = *known;
      } else if (word == "write" && scope.whole) {
        FZ_ASSIGN_OR_RETURN(const Ref cell, TakeRef(scope));
        FZ_RETURN_IF_ERROR(text_.Expect("="));
        FZ_ASSIGN_OR_RETURN(const Ref value, TakeRef(scope));
        if (cell.kind != Ref::Kind::kParameter && cell.kind != Ref::Kind::kTensor)
          return text_.Fail("only inputs and tensors are written");
        block->writes.emplace_back(cell, value);
      } else {
        block->results = scope.results;
        FZ_RETURN_IF_ERROR(TakeEnd(word, scope, block));
        return text_.Expect("}");
      }
    }
  }

  Status TakeEnd(std::string_view word, const Scope& scope, Block* block) {
    if (word == "read" && (scope.whole || scope.states >= 0)) return TakeRead(scope, block);
    if (word == "next" && scope.states >= 0) {
      block->end = Block::End::kNext;
      FZ_RETURN_IF_ERROR(TakeOperands(scope, &block->outputs));
      FZ_RETURN_IF_ERROR(text_.Expect("reads"));
      FZ_ASSIGN_OR_RETURN(block->read, TakeRef(scope));
      if (block->outputs.size() != static_cast<size_t>(scope.states))
        return text_.Fail("a loop of ", scope.states, " states ends with ", block->outputs.size());
      return absl::OkStatus();
    }
    if (word != "return" || scope.states >= 0) return text_.Fail("'", word, "' cannot stand here");
    FZ_RETURN_IF_ERROR(TakeOperands(scope, &block->outputs));
    if (!scope.whole) return absl::OkStatus();
    if (ended_ && block->outputs.size() != static_cast<size_t>(program_.outputs))
      return text_.Fail("one end returns ", block->outputs.size(), " results, another ",
                        program_.outputs);
    ended_ = true;
    program_.outputs = static_cast<int32_t>(block->outputs.size());
    return absl::OkStatus();
  }

  Status TakeRead(const Scope& scope, Block* block) {
    block->end = Block::End::kRead;
    if (!block->writes.empty()) return text_.Fail("writes stand at the end");
    FZ_ASSIGN_OR_RETURN(block->read, TakeRef(scope));
    FZ_RETURN_IF_ERROR(text_.Expect("at"));
    FZ_ASSIGN_OR_RETURN(block->origin, text_.TakeQuoted());
    FZ_RETURN_IF_ERROR(text_.Expect("{"));
    Scope inner = scope;
    ++inner.depth;
    const Precision precision = precision_;
    while (!text_.TakeIf("}")) {
      FZ_RETURN_IF_ERROR(text_.Expect("case"));
      Block::Case& added = block->cases.emplace_back();
      FZ_ASSIGN_OR_RETURN(added.outcome, TakeHex());
      added.block = std::make_unique<Block>();
      precision_ = precision;
      FZ_RETURN_IF_ERROR(TakeBlock(inner, added.block.get()));
    }
    return absl::OkStatus();
  }

  Status TakeCheck(const Scope& scope, Block* block) {
    Call call;
    call.kind = Call::Kind::kCheck;
    call.first_result = scope.results;
    call.attrs.resize(2);
    FZ_ASSIGN_OR_RETURN(const Ref indices, TakeRef(scope));
    call.operands.push_back(indices);
    FZ_RETURN_IF_ERROR(text_.Expect("from"));
    FZ_ASSIGN_OR_RETURN(call.attrs[0], Expression::Take(&text_, symbols_));
    FZ_RETURN_IF_ERROR(text_.Expect("to"));
    FZ_ASSIGN_OR_RETURN(call.attrs[1], Expression::Take(&text_, symbols_));
    FZ_RETURN_IF_ERROR(text_.Expect("for"));
    FZ_ASSIGN_OR_RETURN(call.check, text_.TakeQuoted());
    FZ_RETURN_IF_ERROR(text_.Expect("of"));
    FZ_ASSIGN_OR_RETURN(call.of, text_.TakeQuoted());
    return Add(std::move(call), block);
  }

  Status Add(Call call, Block* block) {
    if (++calls_ > kMaxCalls) return text_.Fail("there are over ", kMaxCalls, " calls");
    block->calls.push_back(std::move(call));
    return absl::OkStatus();
  }

  // %0, %1 = op operands {attrs}, = call composite ..., = while ..., = repeat ...
  Status TakeCall(Scope* scope, Block* block) {
    Call call;
    call.precision = precision_;
    call.first_result = scope->results;
    do {
      FZ_RETURN_IF_ERROR(text_.Expect(StrCat("%", scope->results + call.results)));
      if (++call.results > static_cast<int32_t>(kMaxOperands))
        return text_.Fail("too many results");
    } while (text_.TakeIf(","));
    FZ_RETURN_IF_ERROR(text_.Expect("="));
    const std::string_view word = text_.Take();
    if (word == "while" || word == "repeat") {
      FZ_RETURN_IF_ERROR(TakeLoop(word == "while", *scope, &call));
    } else if (word == "call") {
      FZ_RETURN_IF_ERROR(TakeComposite(*scope, &call));
    } else {
      const auto op = OpNamed(word);
      if (!op) return text_.Fail("'", word, "' is no op");
      call.op = static_cast<uint32_t>(*op);
      FZ_RETURN_IF_ERROR(TakeOperands(*scope, &call.operands));
      if (call.results != 1) return text_.Fail("an op has one result");
      if (text_.Peek() == "{") FZ_RETURN_IF_ERROR(TakeSizes("{", "}", &call.attrs));
    }
    call.origin = text_.TakeComment().value_or("");
    scope->results += call.results;
    return Add(std::move(call), block);
  }

  Status TakeComposite(const Scope& scope, Call* call) {
    const std::string_view name = text_.Take();
    const auto id = CompositeNamed(name);
    call->kind = Call::Kind::kComposite;
    call->op = id.value_or(kUnknownComposite);
    FZ_RETURN_IF_ERROR(TakeOperands(scope, &call->operands));
    if (text_.Peek() == "{") FZ_RETURN_IF_ERROR(TakeSizes("{", "}", &call->attrs));
    if (!text_.TakeIf("with")) {
      if (!id) return text_.Fail("'", name, "' is no composite of this frazil, and has no body");
      return absl::OkStatus();
    }
    return TakeBody({.parameters = call->operands.size(), .depth = scope.depth + 1}, call,
                    call->results);
  }

  Status TakeBody(const Scope& scope, Call* call, int32_t outputs) {
    call->body = std::make_unique<Block>();
    const Precision precision = precision_;
    FZ_RETURN_IF_ERROR(TakeBlock(scope, call->body.get()));
    precision_ = precision;
    if (outputs >= 0 && call->body->outputs.size() != static_cast<size_t>(outputs))
      return text_.Fail("a body returns ", call->body->outputs.size(), " results for ", outputs);
    FindLives(call->body.get());
    return absl::OkStatus();
  }

  Status TakeLoop(bool tests, const Scope& scope, Call* call) {
    call->kind = tests ? Call::Kind::kWhile : Call::Kind::kRepeat;
    if (tests) {
      FZ_ASSIGN_OR_RETURN(call->goes_on, TakeHex());
    } else {
      FZ_ASSIGN_OR_RETURN(Expression times, Expression::Take(&text_, symbols_));
      call->attrs.push_back(std::move(times));
    }
    FZ_RETURN_IF_ERROR(text_.Expect("of"));
    FZ_ASSIGN_OR_RETURN(const int64_t states, text_.TakeInt());
    FZ_RETURN_IF_ERROR(text_.Expect("states"));
    FZ_RETURN_IF_ERROR(TakeOperands(scope, &call->operands));
    if (states < 0 || states > static_cast<int64_t>(call->operands.size()) ||
        (tests ? states + 2 != call->results : states > call->results))
      return text_.Fail("a loop of ", states, " states has ", call->operands.size(),
                        " operands and ", call->results, " results");
    call->states = static_cast<int32_t>(states);
    Scope inner{.parameters = call->operands.size(), .depth = scope.depth + 1};
    if (tests) inner.states = call->states;
    return TakeBody(inner, call, tests ? -1 : call->results);
  }

  TextCursor text_;
  Program program_;
  std::vector<std::string> symbols_;
  absl::flat_hash_set<std::string> input_names_, tensor_names_;
  Precision precision_ = Precision::kDefault;
  bool ended_ = false;
  int64_t calls_ = 0;
};

}  // namespace

StatusOr<Program> ParseProgram(std::string_view text) {
  if (text.size() > kMaxText)
    return ValueError("[program] its text has ", text.size(), " bytes, at most ", kMaxText,
                      " are read.");
  return Parser(text).Run();
}

}  // namespace frazil::frozen
