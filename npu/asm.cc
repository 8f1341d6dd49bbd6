// Text to programs. One pass over the lines; jumps to labels are filled in at the end.
#include "npu/asm.h"

#include <map>

#include "absl/strings/str_split.h"
#include "core/str.h"
#include "npu/asm_lexer.h"

namespace frazil::npu {
namespace {

// "a, b, c": the names that are not empty.
template <typename Names>
std::string OneOf(const Names& names) {
  std::string text;
  for (const auto& name : names) {
    if (!name.empty()) StrAppend(&text, text.empty() ? "" : ", ", std::string_view(name));
  }
  return StrCat("one of ", text);
}

std::string TypesOf(const OpInfo& info) {
  std::vector<std::string_view> names;
  for (int t = 0; t < kNumTypes; ++t) {
    if (info.types >> t & 1) names.push_back(Name(Type(t)));
  }
  return OneOf(names);
}

class Assembler {
 public:
  StatusOr<Program> Run(std::string_view text) {
    for (absl::string_view line : absl::StrSplit(AbslView(text), '\n')) {
      ++line_;
      next_ = 0;
      if (!Tokenize({line.data(), line.size()}, &tokens_))
        return Fail("quoted text does not end, or has a \\ that means nothing");
      FZ_RETURN_IF_ERROR(Statement());
      if (next_ != tokens_.size()) return Expected("the end of the line");
    }
    FZ_RETURN_IF_ERROR(FillJumps());
    if (program_.code.empty()) return ValueError("[as] the text holds no instruction.");
    if (!program_.sources.empty() && program_.sources.back().first_pc == program_.code.size())
      return Fail("no instruction follows the last .op");
    return std::move(program_);
  }

 private:
  struct Jump {
    uint32_t pc;
    std::string label;
    int line;
  };

  template <typename... Args>
  Status Fail(const Args&... args) const {
    return ValueError("[as] line ", line_, ": ", args..., ".");
  }
  Status Expected(std::string_view what) const {
    if (next_ >= tokens_.size()) return Fail("the line ends, expected ", what);
    return Fail("'", tokens_[next_].text, "', expected ", what);
  }

  // What stands next, empty at the end of the line and for quoted text.
  std::string_view Peek(size_t ahead = 0) const {
    const size_t i = next_ + ahead;
    return i < tokens_.size() && !tokens_[i].quoted ? tokens_[i].text : std::string_view();
  }
  bool TakeIf(std::string_view text) {
    if (Peek() != text) return false;
    ++next_;
    return true;
  }
  Status Take(std::string_view text) {
    return TakeIf(text) ? absl::OkStatus() : Expected(StrCat("'", text, "'"));
  }
  // A word or quoted text.
  StatusOr<std::string> String(std::string_view what) {
    const bool word =
        next_ < tokens_.size() && (tokens_[next_].quoted || IsWordChar(tokens_[next_].text[0]));
    if (!word) return Expected(what);
    return tokens_[next_++].text;
  }
  StatusOr<int64_t> Number(int64_t low, int64_t high) {
    const std::optional<int64_t> n = ParseNumber(Peek());
    if (!n || *n < low || *n > high) return Expected(StrCat("a number in [", low, ", ", high, "]"));
    ++next_;
    return *n;
  }

  Status Statement() {
    while (Peek(1) == ":" && IsLabelName(Peek())) {
      const auto [at, fresh] = labels_.emplace(Peek(), uint32_t(program_.code.size()));
      if (!fresh) return Fail("the label '", Peek(), "' stands twice");
      next_ += 2;
    }
    if (tokens_.empty() || next_ == tokens_.size()) return absl::OkStatus();
    if (!Peek().empty() && Peek()[0] == '.') return Directive();
    return TakeIf("LA") ? LoadAddress() : Instruction();
  }

  // --- directives ---

  Status Directive() {
    using Handler = Status (Assembler::*)();
    static constexpr std::pair<std::string_view, Handler> kHandlers[] = {
        {".snpu", &Assembler::Version},  {".preset", &Assembler::PresetName},
        {".kernel", &Assembler::Kernel}, {".param", &Assembler::OneParam},
        {".op", &Assembler::Source},     {".meta", &Assembler::Meta},
        {".note", &Assembler::Note}};
    std::vector<std::string_view> names;
    for (const auto& [name, handler] : kHandlers) {
      if (TakeIf(name)) return (this->*handler)();
      names.push_back(name);
    }
    return Expected(OneOf(names));
  }

  Status Version() { return Take("1.0"); }

  Status PresetName() {
    FZ_ASSIGN_OR_RETURN(program_.preset, String("the name of a preset"));
    return absl::OkStatus();
  }

  Status Kernel() {
    if (named_) return Fail("a second .kernel, expected one kernel in a file");
    named_ = true;
    FZ_ASSIGN_OR_RETURN(program_.name, String("the name of the kernel"));
    if (!TakeIf("params")) return absl::OkStatus();
    do {
      FZ_RETURN_IF_ERROR(OneParam());
    } while (next_ < tokens_.size());
    return absl::OkStatus();
  }

  Status OneParam() {
    Param param;
    FZ_ASSIGN_OR_RETURN(param.name, String("NAME:KIND"));
    FZ_RETURN_IF_ERROR(Take(":"));
    std::vector<std::string_view> names;
    for (int kind = 0; kind < kNumParamKinds; ++kind) {
      names.push_back(Name(ParamKind(kind)));
      if (!TakeIf(names.back())) continue;
      param.kind = ParamKind(kind);
      program_.params.push_back(std::move(param));
      return absl::OkStatus();
    }
    return Expected(OneOf(names));
  }

  Status Source() {
    SourceEntry entry;
    entry.first_pc = uint32_t(program_.code.size());
    FZ_ASSIGN_OR_RETURN(entry.op, String("the name of an op"));
    if (next_ < tokens_.size()) {
      FZ_ASSIGN_OR_RETURN(entry.file, String("FILE:LINE"));
      FZ_RETURN_IF_ERROR(Take(":"));
      FZ_ASSIGN_OR_RETURN(entry.line, Number(0, INT32_MAX));
    }
    // Of several .op before one instruction the last one counts.
    if (!program_.sources.empty() && program_.sources.back().first_pc == entry.first_pc)
      program_.sources.pop_back();
    program_.sources.push_back(std::move(entry));
    return absl::OkStatus();
  }

  Status MetaText(std::string* field) {
    FZ_ASSIGN_OR_RETURN(*field, String("text"));
    return absl::OkStatus();
  }
  Status MetaNumber(uint64_t* field) {
    FZ_ASSIGN_OR_RETURN(*field, Number(0, INT64_MAX));
    return absl::OkStatus();
  }

  Status Meta() {
    ProgramMeta& meta = program_.meta;
    if (TakeIf("class")) return MetaText(&meta.kernel_class);
    if (TakeIf("shape")) return MetaText(&meta.shape);
    if (TakeIf("tile")) return MetaText(&meta.tile);
    if (TakeIf("gm_read")) return MetaNumber(&meta.gm_read);
    if (TakeIf("gm_write")) return MetaNumber(&meta.gm_write);
    if (TakeIf("macs")) return MetaNumber(&meta.macs);
    if (!TakeIf("scratch"))
      return Expected("one of class, shape, tile, scratch, gm_read, gm_write, macs");
    FZ_ASSIGN_OR_RETURN(const int space, SpaceName());
    return MetaNumber(&meta.scratch_peak[space]);
  }

  Status Note() {
    FZ_ASSIGN_OR_RETURN(const std::string text, String("text"));
    StrAppend(&program_.note, program_.note.empty() ? "" : "\n", text);
    return absl::OkStatus();
  }

  StatusOr<int> SpaceName() {
    std::vector<std::string_view> names;
    for (int s = 0; s < kNumSpaces; ++s) {
      names.push_back(Name(Space(s)));
      if (TakeIf(names.back())) return s;
    }
    return Expected(OneOf(names));
  }

  // --- instructions ---

  Status LoadAddress() {
    Instr low{.op = Op::kSLI}, high{.op = Op::kSLIH};
    FZ_ASSIGN_OR_RETURN(low.a[0], Register());
    high.a = low.a;
    FZ_RETURN_IF_ERROR(Take(","));
    FZ_ASSIGN_OR_RETURN(const int space, SpaceName());
    FZ_RETURN_IF_ERROR(Take(":"));
    FZ_ASSIGN_OR_RETURN(const int64_t offset, Number(0, (int64_t{1} << 60) - 1));
    const uint64_t address = Address(Space(space), uint64_t(offset));
    low.imm = int32_t(uint32_t(address));
    high.imm = int32_t(uint32_t(address >> 32));
    program_.code.push_back(low);
    program_.code.push_back(high);
    return absl::OkStatus();
  }

  Status Instruction() {
    Instr instr;
    FZ_RETURN_IF_ERROR(Mnemonic(&instr));
    const OpInfo& info = Info(instr.op);
    const bool plain_jump =
        instr.op == Op::kSBR && instr.fn == kBrAlways && Peek(1).empty() && !Peek().empty();
    for (int i = plain_jump ? 2 : 0; i < info.num_operands; ++i) {
      const bool pair = i > 0 && info.operands[i].kind == OperandKind::kQueueId;
      if (i > 0 && !plain_jump) FZ_RETURN_IF_ERROR(Take(pair ? ">" : ","));
      FZ_RETURN_IF_ERROR(OneOperand(info, i, &instr));
    }
    if (const std::string problem = FieldProblem(instr); !problem.empty()) return Fail(problem);
    program_.code.push_back(instr);
    return absl::OkStatus();
  }

  // OP[.function][.type]
  Status Mnemonic(Instr* instr) {
    if (Peek().empty()) return Expected("an instruction");
    const std::vector<std::string> parts = absl::StrSplit(AbslView(Peek()), '.');
    const std::optional<Op> op = FindOp(parts[0]);
    if (!op)
      return Expected("an instruction, a directive or a label with ':' (the manual lists them)");
    instr->op = *op;
    const OpInfo& info = Info(*op);
    size_t part = 1;
    if (!info.functions.empty()) {
      // The last word is the type: DR has a function i32, too.
      const std::optional<uint8_t> fn = part + (info.types ? 1 : 0) < parts.size()
                                            ? FindFunction(info, parts[part])
                                            : std::nullopt;
      if (fn) ++part;
      if (!fn && !info.functions[0].empty())
        return Expected(StrCat(info.name, ". and ", OneOf(info.functions)));
      instr->fn = fn.value_or(0);
    }
    if (info.types) {
      const std::optional<Type> type =
          part < parts.size() ? FindType(info, parts[part]) : std::nullopt;
      if (!type) return Expected(StrCat("a type at its end: ", TypesOf(info)));
      instr->dt = *type;
      ++part;
    }
    if (part != parts.size()) return Expected(StrCat("no '.", parts[part], "' there"));
    ++next_;
    return absl::OkStatus();
  }

  static std::optional<uint8_t> FindFunction(const OpInfo& info, std::string_view name) {
    for (size_t fn = 0; fn < info.functions.size(); ++fn) {
      if (!name.empty() && info.functions[fn] == name) return uint8_t(fn);
    }
    return std::nullopt;
  }
  static std::optional<Type> FindType(const OpInfo& info, std::string_view name) {
    for (int t = 0; t < kNumTypes; ++t) {
      if ((info.types >> t & 1) && Name(Type(t)) == name) return Type(t);
    }
    return std::nullopt;
  }

  StatusOr<uint8_t> Register() {
    const std::optional<int> number = ParseRegister(Peek());
    if (!number) return Expected(StrCat("a register s0 to s", kRegisters - 1));
    ++next_;
    return uint8_t(*number);
  }

  Status OneOperand(const OpInfo& info, int i, Instr* instr) {
    switch (info.operands[i].kind) {
      case OperandKind::kDstReg: {
        FZ_ASSIGN_OR_RETURN(instr->a[i], Register());
        return absl::OkStatus();
      }
      case OperandKind::kImm32: {
        TakeIf("#");
        // SLIH holds bits: either sign will do.
        const int64_t high = instr->op == Op::kSLIH ? int64_t{UINT32_MAX} : int64_t{INT32_MAX};
        FZ_ASSIGN_OR_RETURN(const int64_t value, Number(INT32_MIN, high));
        instr->imm = int32_t(uint32_t(value));
        return absl::OkStatus();
      }
      case OperandKind::kRel:
        return Target(instr);
      case OperandKind::kQueueId: {
        FZ_ASSIGN_OR_RETURN(const int queue, QueueName(info.queue == kByBar));
        instr->a[i] = Imm(queue);
        return absl::OkStatus();
      }
      default:
        break;
    }
    if (TakeIf("#")) {
      FZ_ASSIGN_OR_RETURN(const int64_t value, Number(0, 31));
      instr->a[i] = Imm(int(value));
      return absl::OkStatus();
    }
    const std::optional<int> number = ParseRegister(Peek());
    if (!number) return Expected(StrCat("a register or # and a number for ", OperandName(info, i)));
    ++next_;
    instr->a[i] = uint8_t(*number);
    return absl::OkStatus();
  }

  StatusOr<int> QueueName(bool or_all) {
    std::vector<std::string_view> names;
    for (int q = 0; q < kNumQueues; ++q) {
      names.push_back(Name(Queue(q)));
      if (TakeIf(names.back())) return q;
    }
    if (or_all) {
      if (TakeIf("all")) return kAllQueues;
      names.push_back("all");
    }
    return Expected(OneOf(names));
  }

  Status Target(Instr* instr) {
    if (IsLabelName(Peek())) {
      jumps_.push_back({uint32_t(program_.code.size()), std::string(Peek()), line_});
      ++next_;
      return absl::OkStatus();
    }
    if (!ParseNumber(Peek())) return Expected("a label or a number of instructions");
    FZ_ASSIGN_OR_RETURN(instr->imm, Number(INT32_MIN, INT32_MAX));
    return absl::OkStatus();
  }

  Status FillJumps() {
    for (const Jump& jump : jumps_) {
      const auto label = labels_.find(jump.label);
      line_ = jump.line;
      if (label == labels_.end()) return Fail("there is no label '", jump.label, "'");
      program_.code[jump.pc].imm = int32_t(int64_t{label->second} - int64_t{jump.pc});
    }
    return absl::OkStatus();
  }

  Program program_;
  std::map<std::string, uint32_t, std::less<>> labels_;
  std::vector<Jump> jumps_;
  std::vector<Token> tokens_;
  size_t next_ = 0;
  int line_ = 0;
  bool named_ = false;
};

}  // namespace

StatusOr<Program> Assemble(std::string_view text) { return Assembler().Run(text); }

}  // namespace frazil::npu
