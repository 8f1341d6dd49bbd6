// The 64-bit word: packing, and which fields are legal.
#include "core/check.h"
#include "npu/isa.h"

namespace frazil::npu {
namespace {

constexpr int kOpShift = 56, kTypeShift = 52, kFunctionShift = 48, kFirstOperand = 42,
              kOperandBits = 6;

constexpr int ShiftOf(int operand) { return kFirstOperand - kOperandBits * operand; }

// Operands that stand in six-bit fields; the last one of an I or B word is the low half.
int NumFields(const OpInfo& info) {
  return info.format == Format::kR ? info.num_operands : info.num_operands - 1;
}

uint64_t Pack(const Instr& instr, const OpInfo& info) {
  uint64_t word = uint64_t{info.code} << kOpShift | uint64_t{instr.dt} << kTypeShift |
                  uint64_t{instr.fn} << kFunctionShift;
  for (int i = 0; i < NumFields(info); ++i) word |= uint64_t{instr.a[i]} << ShiftOf(i);
  if (info.format != Format::kR) word |= uint32_t(instr.imm);
  return word;
}

std::string Shown(uint8_t field) {
  return IsImm(field) ? StrCat("#", field - 32) : StrCat("s", int(field));
}

// What is wrong with field `i`, or nothing.
std::string OperandProblem(const Instr& instr, const OpInfo& info, int i) {
  const uint8_t field = instr.a[i];
  const auto expected = [&](std::string_view what) {
    return StrCat("operand ", i, " (", OperandName(info, i), ") is ", Shown(field), ", expected ",
                  what);
  };
  if (field >= 64) return StrCat("operand ", i, " is ", int(field), ", which is no field");
  switch (info.operands[i].kind) {
    case OperandKind::kDstReg:
      if (IsImm(field)) return expected("a register");
      break;
    case OperandKind::kQueueId: {
      const int queues = info.queue == kByBar ? kAllQueues + 1 : int(kNumQueues);
      if (field < Imm(0) || field >= Imm(queues)) return expected("a queue");
      if (i == 1 && field == instr.a[0]) return expected("another queue than the first");
      break;
    }
    case OperandKind::kFlagId:
      if (field >= Imm(kFlagsPerPair)) return expected("a register or a flag in [0, 7]");
      break;
    default:
      break;
  }
  return {};
}

}  // namespace

std::string FieldProblem(const Instr& instr) {
  if (instr.op >= Op::kCount) return StrCat("there is no op number ", int(instr.op));
  const OpInfo& info = Info(instr.op);
  const bool typed =
      info.types ? instr.dt < kNumTypes && (info.types >> instr.dt & 1) : instr.dt == 0;
  if (!typed)
    return StrCat(info.name, " has no type ",
                  instr.dt < kNumTypes ? std::string(Name(Type(instr.dt))) : StrCat(instr.dt));
  if (info.functions.empty() ? instr.fn != 0 : instr.fn >= info.functions.size())
    return StrCat(info.name, " has no function ", int(instr.fn));
  const int fields = NumFields(info);
  for (int i = 0; i < fields; ++i) {
    if (std::string problem = OperandProblem(instr, info, i); !problem.empty()) return problem;
  }
  for (int i = fields; i < kMaxOperands; ++i) {
    if (instr.a[i]) return StrCat("operand ", i, " is not used but is ", Shown(instr.a[i]));
  }
  if (info.format == Format::kR && instr.imm) return StrCat("imm is not used but is ", instr.imm);
  return {};
}

uint64_t Encode(const Instr& instr) {
  const std::string problem = FieldProblem(instr);
  FZ_CHECK(problem.empty());
  return Pack(instr, Info(instr.op));
}

DecodeError Decode(uint64_t word, Instr* instr) {
  *instr = Instr();
  const std::optional<Op> op = FindCode(uint8_t(word >> kOpShift));
  if (!op) return DecodeError::kOpcode;
  const OpInfo& info = Info(*op);
  instr->op = *op;
  instr->dt = word >> kTypeShift & 15;
  instr->fn = word >> kFunctionShift & 15;
  for (int i = 0; i < NumFields(info); ++i) instr->a[i] = word >> ShiftOf(i) & 63;
  if (info.format != Format::kR) instr->imm = int32_t(uint32_t(word));
  const bool legal = FieldProblem(*instr).empty() && Pack(*instr, info) == word;
  return legal ? DecodeError::kNone : DecodeError::kEncoding;
}

}  // namespace frazil::npu
