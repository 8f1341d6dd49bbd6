// Instructions and programs as text.
#include <algorithm>
#include <map>

#include "absl/strings/str_format.h"
#include "core/check.h"
#include "npu/asm.h"

namespace frazil::npu {
namespace {

std::string QueueText(uint8_t field) {
  const int queue = field - Imm(0);
  if (queue == kAllQueues) return "all";
  if (queue < 0 || queue > kAllQueues) return StrCat("queue", int(field));
  return std::string(Name(Queue(queue)));
}

std::string FieldText(uint8_t field) {
  return IsImm(field) ? StrCat("#", field - Imm(0)) : StrCat("s", int(field));
}

std::string Mnemonic(const Instr& instr, const OpInfo& info) {
  std::string text(info.name);
  if (instr.fn < info.functions.size()) {
    const std::string_view name = info.functions[instr.fn];
    if (!name.empty()) StrAppend(&text, ".", name);
  } else if (instr.fn) {
    StrAppend(&text, ".fn", int(instr.fn));
  }
  if (instr.dt < kNumTypes && info.types) {
    StrAppend(&text, ".", Name(Type(instr.dt)));
  } else if (instr.dt) {
    StrAppend(&text, ".dt", int(instr.dt));
  }
  return text;
}

// SLIH holds a pattern of bits, SLI a number.
std::string ImmediateText(const Instr& instr) {
  return instr.op == Op::kSLIH ? absl::StrFormat("0x%08x", uint32_t(instr.imm)) : StrCat(instr.imm);
}

std::string Operands(const Instr& instr, const OpInfo& info, std::string_view target) {
  std::string text;
  for (int i = 0; i < info.num_operands; ++i) {
    const OperandKind kind = info.operands[i].kind;
    const bool pair = i > 0 && kind == OperandKind::kQueueId;
    if (i > 0) StrAppend(&text, pair ? ">" : ", ");
    if (kind == OperandKind::kQueueId) {
      StrAppend(&text, QueueText(instr.a[i]));
    } else if (kind == OperandKind::kImm32) {
      StrAppend(&text, ImmediateText(instr));
    } else if (kind == OperandKind::kRel) {
      StrAppend(&text, target);
    } else {
      StrAppend(&text, FieldText(instr.a[i]));
    }
  }
  return text;
}

// A jump that is always taken compares nothing.
bool IsPlainJump(const Instr& instr) {
  return instr.op == Op::kSBR && instr.fn == kBrAlways && instr.a[0] == 0 && instr.a[1] == 0;
}

std::string Line(const Instr& instr, std::string_view target, int width) {
  if (instr.op >= Op::kCount) return StrCat("op", int(instr.op));
  const OpInfo& info = Info(instr.op);
  std::string text = Mnemonic(instr, info);
  if (info.num_operands == 0) return text;
  text.resize(std::max(text.size(), size_t(width)), ' ');
  return StrCat(text, " ",
                IsPlainJump(instr) ? std::string(target) : Operands(instr, info, target));
}

// The widest mnemonics stand alone; most fit.
constexpr int kMnemonicWidth = 13;

class Printer {
 public:
  Printer(const Program& program, const DisassembleOptions& options)
      : program_(program), options_(options) {}

  std::string Run() {
    Directives();
    FindLabels();
    auto source = program_.sources.begin();
    for (uint32_t pc = 0; pc < program_.code.size(); ++pc) {
      if (source != program_.sources.end() && source->first_pc == pc) Source(*source++);
      source_starts_ = source != program_.sources.end() && source->first_pc == pc + 1;
      Instruction(&pc);
    }
    return std::move(out_);
  }

 private:
  void Directives() {
    StrAppend(&out_, ".snpu 1.0\n");
    if (!program_.preset.empty()) StrAppend(&out_, ".preset ", QuotedText(program_.preset), "\n");
    StrAppend(&out_, ".kernel ", QuotedText(program_.name));
    if (!program_.params.empty()) StrAppend(&out_, "  params");
    for (const Param& p : program_.params)
      StrAppend(&out_, " ", QuotedText(p.name), ":", Name(p.kind));
    StrAppend(&out_, "\n");
    Meta();
    if (!program_.note.empty()) StrAppend(&out_, ".note ", QuotedText(program_.note), "\n");
  }

  void Meta() {
    const ProgramMeta& meta = program_.meta;
    const auto text = [&](std::string_view key, const std::string& value) {
      if (!value.empty()) StrAppend(&out_, ".meta ", key, " ", QuotedText(value), "\n");
    };
    const auto number = [&](std::string_view key, uint64_t value) {
      if (value) StrAppend(&out_, ".meta ", key, " ", value, "\n");
    };
    text("class", meta.kernel_class);
    text("shape", meta.shape);
    text("tile", meta.tile);
    for (int s = 0; s < kNumSpaces; ++s)
      number(StrCat("scratch ", Name(Space(s))), meta.scratch_peak[s]);
    number("gm_read", meta.gm_read);
    number("gm_write", meta.gm_write);
    number("macs", meta.macs);
  }

  void FindLabels() {
    for (uint32_t pc = 0; pc < program_.code.size(); ++pc) {
      if (program_.code[pc].op == Op::kSBR) labels_[TargetOf(pc)];
    }
    int number = 0;
    for (auto& [pc, name] : labels_) name = StrCat("L", number++);
  }
  int64_t TargetOf(uint32_t pc) const { return int64_t{pc} + program_.code[pc].imm; }

  void Source(const SourceEntry& source) {
    StrAppend(&out_, ".op ", QuotedText(source.op));
    if (!source.file.empty() || source.line)
      StrAppend(&out_, " ", QuotedText(source.file), ":", source.line);
    StrAppend(&out_, "\n");
  }

  // SLI and SLIH that load an address of a local memory are one line, unless something begins at
  // the second.
  bool IsAddressLoad(uint32_t pc) const {
    if (pc + 1 >= program_.code.size() || source_starts_ || labels_.contains(pc + 1)) return false;
    const Instr &low = program_.code[pc], &high = program_.code[pc + 1];
    if (low.op != Op::kSLI || high.op != Op::kSLIH || low.a != high.a) return false;
    const int space = SpaceTag(uint64_t{uint32_t(high.imm)} << 32);
    return space != kGM && space < kNumSpaces && (uint32_t(high.imm) & 0x0fff'ffff) == 0;
  }

  void Instruction(uint32_t* pc) {
    const uint32_t first = *pc;
    const Instr& instr = program_.code[first];
    const auto label = labels_.find(first);
    std::string line = label == labels_.end() ? "" : label->second + ":";
    line.resize(std::max(line.size() + 1, size_t{8}), ' ');
    if (IsAddressLoad(first)) {
      const uint64_t address =
          uint64_t{uint32_t(program_.code[++*pc].imm)} << 32 | uint32_t(instr.imm);
      StrAppend(&line, absl::StrFormat("%-*s ", kMnemonicWidth, "LA"), FieldText(instr.a[0]), ", ",
                AddressText(address));
    } else {
      const bool jump = instr.op == Op::kSBR;
      StrAppend(&line, Line(instr, jump ? labels_[TargetOf(first)] : "", kMnemonicWidth));
    }
    if (options_.words) {
      line.resize(std::max(line.size() + 2, size_t{64}), ' ');
      StrAppend(&line, absl::StrFormat("; %d 0x%016x", first, Encode(instr)));
      if (*pc != first) StrAppend(&line, absl::StrFormat(" 0x%016x", Encode(program_.code[*pc])));
    }
    StrAppend(&out_, line, "\n");
  }

  const Program& program_;
  const DisassembleOptions& options_;
  std::map<int64_t, std::string> labels_;  // by pc
  bool source_starts_ = false;             // with the instruction after this one
  std::string out_;
};

bool IsPlainWord(std::string_view text) {
  const auto plain = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '.' || c == '-' || c == '/';
  };
  return !text.empty() && std::all_of(text.begin(), text.end(), plain);
}

}  // namespace

std::string Text(const Instr& instr) {
  return Line(instr, instr.op == Op::kSBR ? StrCat(instr.imm) : "", 0);
}

std::string Disassemble(const Program& program, const DisassembleOptions& options) {
  return Printer(program, options).Run();
}

std::string AddressText(uint64_t address) {
  const int tag = SpaceTag(address);
  return StrCat(tag < kNumSpaces ? std::string(Name(Space(tag))) : StrCat("space", tag),
                absl::StrFormat(":0x%x", Offset(address)));
}

std::string QuotedText(std::string_view text) {
  if (IsPlainWord(text)) return std::string(text);
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      out += StrCat("\\", std::string_view(&c, 1));
    } else if (uint8_t(c) < 0x20 || c == 0x7f) {
      out += absl::StrFormat("\\x%02x", uint8_t(c));
    } else {
      out.push_back(c);
    }
  }
  return out + "\"";
}

}  // namespace frazil::npu
