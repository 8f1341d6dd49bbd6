#include <cstdlib>
#include <map>

#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "core/str.h"
#include "jit/kir/const.h"
#include "jit/kir/fn_table.h"
#include "jit/kir/kir.h"

namespace frazil::kir {
namespace {

// Splits a line into words and single punctuation characters. A word takes in % . - + so that %3,
// sum.64, -inf and 0x1p-3 are one each.
std::vector<std::string_view> Tokens(std::string_view line) {
  const auto is_word = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '%' || c == '.' || c == '-' || c == '+';
  };
  std::vector<std::string_view> tokens;
  line = line.substr(0, line.find('#'));
  for (size_t i = 0; i < line.size();) {
    if (line[i] == ' ' || line[i] == '\t' || line[i] == '\r') {
      ++i;
      continue;
    }
    size_t end = i + 1;
    if (is_word(line[i]))
      while (end < line.size() && is_word(line[end])) ++end;
    tokens.push_back(line.substr(i, end - i));
    i = end;
  }
  return tokens;
}

template <typename Table>
int FindEntry(const Table& table, std::string_view name) {
  for (size_t i = 0; i < table.size(); ++i) {
    if (table[i].name == name) return int(i);
  }
  return -1;
}

class Parser {
 public:
  StatusOr<Kernel> Run(std::string_view text) {
    bool header = false;
    for (absl::string_view line : absl::StrSplit(AbslView(text), '\n')) {
      ++line_;
      tokens_ = Tokens({line.data(), line.size()});
      next_ = 0;
      if (tokens_.empty()) continue;
      FZ_RETURN_IF_ERROR(header ? Instruction() : Header());
      header = true;
      if (next_ != tokens_.size()) return Fail("'", tokens_[next_], "' is left over");
    }
    if (!header) return ValueError("[kir] the text holds no kernel.");
    FZ_RETURN_IF_ERROR(Verify(kernel_));
    return std::move(kernel_);
  }

 private:
  template <typename... Args>
  Status Fail(const Args&... args) const {
    return ValueError("[kir] line ", line_, ": ", args..., ".");
  }

  std::string_view Peek() const {
    return next_ < tokens_.size() ? tokens_[next_] : std::string_view();
  }
  std::string_view Take() { return next_ < tokens_.size() ? tokens_[next_++] : std::string_view(); }
  bool TakeIf(std::string_view token) {
    if (Peek() != token) return false;
    ++next_;
    return true;
  }
  Status Expect(std::string_view token) {
    const std::string_view have = Take();
    if (have == token) return absl::OkStatus();
    return have.empty() ? Fail("'", token, "' is missing at the end")
                        : Fail("'", token, "' is needed, not '", have, "'");
  }
  StatusOr<DType> TakeType() {
    const std::string_view name = Take();
    if (const auto type = ParseDType(name)) return *type;
    return Fail("'", name, "' is not a type");
  }

  Status Header() {
    FZ_RETURN_IF_ERROR(Expect("kernel"));
    kernel_.name = std::string(Take());
    FZ_RETURN_IF_ERROR(Expect("("));
    while (!TakeIf(")")) {
      FZ_RETURN_IF_ERROR(Argument());
      if (Peek() != ")") FZ_RETURN_IF_ERROR(Expect(","));
    }
    FZ_RETURN_IF_ERROR(Expect("space"));
    const std::string_view rank = Take();
    if (!absl::SimpleAtoi(AbslView(rank), &kernel_.rank)) return Fail("'", rank, "' is not a rank");
    while (next_ < tokens_.size()) {
      const std::string_view flag = Take();
      if (flag == "loop")
        kernel_.has_loop = true;
      else if (flag == "chunked")
        kernel_.chunked = true;
      else if (flag == "long")
        kernel_.long_rows = true;
      else if (flag == "stream")
        kernel_.stream = true;
      else if (flag == "moves")
        kernel_.moves = true;
      else if (flag == "vec" && TakeIf("loop"))
        kernel_.vec = VecAxis::kLoop;
      else if (flag == "vec" && TakeIf("none"))
        kernel_.vec = VecAxis::kNone;
      else
        return Fail("'", flag, "' is not a kernel flag");
    }
    return absl::OkStatus();
  }

  Status Argument() {
    const std::string name(Take());
    FZ_RETURN_IF_ERROR(Expect(":"));
    const std::string_view kind = Take();
    if (kind != "scalar" && kind != "each" && kind != "buf" && kind != "out")
      return Fail("'", kind, "' is not buf, out, scalar or each");
    FZ_ASSIGN_OR_RETURN(const DType dtype, TakeType());
    if (kind == "scalar" || kind == "each") {
      kernel_.scalars.push_back({name, dtype, kind == "each"});
      return absl::OkStatus();
    }
    Buffer buffer{name, dtype, kind == "out", {}};
    FZ_RETURN_IF_ERROR(Expect("["));
    while (!TakeIf("]")) {
      const std::string_view stride = Take();
      const size_t which = std::string_view("01s").find(stride);
      if (stride.size() != 1 || which == std::string_view::npos)
        return Fail("'", stride, "' is not a stride 0, 1 or s");
      buffer.strides.push_back(Stride(which));
      if (Peek() != "]") FZ_RETURN_IF_ERROR(Expect(","));
    }
    kernel_.buffers.push_back(std::move(buffer));
    return absl::OkStatus();
  }

  Status Instruction() {
    std::string_view result;
    if (Peek()[0] == '%') {
      result = Take();
      FZ_RETURN_IF_ERROR(Expect("="));
    }
    FZ_ASSIGN_OR_RETURN(const Op op, TakeOp());
    if (HasValue(op) == result.empty()) {
      return Fail(Name(op), result.empty() ? " needs a result name" : " has no result");
    }
    Inst inst{op};
    std::string_view constant;
    FZ_RETURN_IF_ERROR(Details(inst, constant));
    if (HasValue(op)) {
      FZ_RETURN_IF_ERROR(Expect(":"));
      FZ_ASSIGN_OR_RETURN(inst.type, TakeType());
    }
    if (op == Op::kConst) FZ_RETURN_IF_ERROR(Constant(constant, inst));
    kernel_.body.push_back(inst);
    if (!result.empty() &&
        !values_.emplace(std::string(result), Id(kernel_.body.size() - 1)).second) {
      return Fail(result, " is defined twice");
    }
    return absl::OkStatus();
  }

  StatusOr<Op> TakeOp() {
    const std::string_view name = Take();
#define KIR_OP(E, text, operands, doc) \
  if (name == text) return Op::E;
#include "jit/kir/ops.def"
#undef KIR_OP
    return Fail("'", name, "' is not an instruction");
  }

  // Everything between the instruction's name and its type.
  Status Details(Inst& inst, std::string_view& constant) {
    switch (inst.op) {
      case Op::kParam:
        return Entry(kernel_.scalars, "scalar", inst);
      case Op::kConst:
        return TakeConst(constant);
      case Op::kIndex: {
        const std::string_view axis = Take();
        return absl::SimpleAtoi(AbslView(axis), &inst.imm) ? absl::OkStatus()
                                                           : Fail("'", axis, "' is not an axis");
      }
      case Op::kLoad:
        FZ_RETURN_IF_ERROR(Entry(kernel_.buffers, "buffer", inst));
        FZ_RETURN_IF_ERROR(Offset(inst.a));
        return Predicate(inst.b);
      case Op::kStore:
        FZ_RETURN_IF_ERROR(Entry(kernel_.buffers, "buffer", inst));
        inst.type = kernel_.buffers[inst.imm].dtype;
        FZ_RETURN_IF_ERROR(Offset(inst.b));
        FZ_RETURN_IF_ERROR(Expect(","));
        FZ_RETURN_IF_ERROR(Operand(inst.a));
        return Predicate(inst.c);
      case Op::kCall: {
        const std::string_view name = Take();
        const int fn = FindFn(name);
        if (fn < 0) return Fail("'", name, "' is not a function");
        inst.imm = fn;
        return Operands(inst);
      }
      case Op::kLookup: {
        const std::string_view table = Take();
        if (!absl::SimpleAtoi(AbslView(table), &inst.imm))
          return Fail("'", table, "' is not a table");
        return Operands(inst);
      }
      case Op::kReduce:
        FZ_RETURN_IF_ERROR(Reduction(inst));
        return Operands(inst);
      case Op::kNext:
        FZ_RETURN_IF_ERROR(Operands(inst));
        if (inst.a != kNone) inst.type = kernel_.body[inst.a].type;
        return absl::OkStatus();
      default:
        return Operands(inst);
    }
  }

  template <typename Table>
  Status Entry(const Table& table, std::string_view what, Inst& inst) {
    const std::string_view name = Take();
    const int index = FindEntry(table, name);
    if (index < 0) return Fail("there is no ", what, " '", name, "'");
    inst.imm = index;
    return absl::OkStatus();
  }

  Status Operand(Id& id) {
    const std::string_view name = Take();
    const auto it = values_.find(name);
    if (it == values_.end()) return Fail("'", name, "' is not defined");
    id = it->second;
    return absl::OkStatus();
  }
  Status Operands(Inst& inst) {
    Id* const slots[3] = {&inst.a, &inst.b, &inst.c};
    for (int i = 0; i < 3 && !Peek().empty() && Peek() != ":"; ++i) {
      if (i) FZ_RETURN_IF_ERROR(Expect(","));
      FZ_RETURN_IF_ERROR(Operand(*slots[i]));
    }
    return absl::OkStatus();
  }
  Status Offset(Id& id) {
    if (!TakeIf("[")) return absl::OkStatus();
    FZ_RETURN_IF_ERROR(Operand(id));
    return Expect("]");
  }
  Status Predicate(Id& id) { return TakeIf("?") ? Operand(id) : absl::OkStatus(); }

  Status Reduction(Inst& inst) {
    const std::string_view word = Take();
    const size_t dot = word.find('.');
    const std::string_view name = word.substr(0, dot);
    int kind = 0;
    while (kind <= int(ReduceKind::kOr) && Name(ReduceKind(kind)) != name) ++kind;
    if (kind > int(ReduceKind::kOr)) return Fail("'", name, "' is not a reduction");
    inst.imm = kind;
    if (dot == std::string_view::npos) return absl::OkStatus();
    const std::string_view count = word.substr(dot + 1);
    int lanes = 0;
    if (!absl::SimpleAtoi(AbslView(count), &lanes) || lanes < 0 || lanes > 255) {
      return Fail("'", count, "' is not a number of lanes");
    }
    inst.lanes = uint8_t(lanes);
    return absl::OkStatus();
  }

  // A constant is one word, except nan:0x7f, whose colon stands alone.
  Status TakeConst(std::string_view& constant) {
    constant = Take();
    const size_t follow = next_ + 1;
    if (constant == "nan" && Peek() == ":" && follow < tokens_.size() &&
        tokens_[follow].substr(0, 2) == "0x") {
      constant = tokens_[follow];
      next_ += 2;
      bits_given_ = true;
    } else {
      bits_given_ = false;
    }
    return absl::OkStatus();
  }

  Status Constant(std::string_view word, Inst& inst) const {
    const std::string text(word);
    bool ok = false;
    char* end = nullptr;
    if (bits_given_) {
      ok = IsFloat(inst.type) && absl::SimpleHexAtoi(text, &inst.imm);
    } else if (IsBool(inst.type)) {
      ok = text == "true" || text == "false";
      inst.imm = text == "true";
    } else if (IsFloat(inst.type)) {
      inst.imm = BitsFromDouble(inst.type, std::strtod(text.c_str(), &end));
      ok = !text.empty() && *end == 0;
    } else if (IsSigned(inst.type)) {
      int64_t value = 0;
      ok = absl::SimpleAtoi(text, &value);
      inst.imm = TruncateBits(inst.type, uint64_t(value));
      ok = ok && IntFromBits(inst.type, inst.imm) == value;
    } else {
      ok = absl::SimpleAtoi(text, &inst.imm) && TruncateBits(inst.type, inst.imm) == inst.imm;
    }
    return ok ? absl::OkStatus()
              : Fail("'", word, "' is not a constant of type ", ShortName(inst.type));
  }

  Kernel kernel_;
  std::map<std::string, Id, std::less<>> values_;
  std::vector<std::string_view> tokens_;
  size_t next_ = 0;
  int line_ = 0;
  bool bits_given_ = false;
};

}  // namespace

StatusOr<Kernel> Parse(std::string_view text) { return Parser().Run(text); }

}  // namespace frazil::kir
