#include "npu/flow.h"

#include "core/str.h"
#include "npu/scalar.h"

namespace frazil::npu {
namespace {

Known ReadControl(const Preset& preset, Known number) {
  if (!number) return std::nullopt;
  const uint64_t n = *number;
  if (n >= 2 && n <= 6) return uint64_t(preset.bytes[n - 2 + kL1]);
  if (n == 7) return uint64_t(preset.id);
  if (n == 8) return uint64_t{kIsaRevision};
  return std::nullopt;  // block id and count
}

}  // namespace

FlowState::FlowState() {
  registers.fill(0);  // as the scalar unit begins
  may_be_clear.set();
}

FlowState FlowState::Merged(const FlowState& a, const FlowState& b) {
  FlowState out = a;
  for (int r = 0; r < kRegisters; ++r) {
    if (a.registers[r] != b.registers[r]) out.registers[r].reset();
  }
  out.written |= b.written;
  out.may_be_set |= b.may_be_set;
  out.may_be_clear |= b.may_be_clear;
  return out;
}

Known FlowState::Read(uint8_t field) const {
  if (IsImm(field)) return uint64_t(field - Imm(0));
  return registers[field];
}

void FlowState::Write(uint8_t reg, Known value) {
  if (reg == 0) return;
  registers[reg] = value;
  written |= uint32_t{1} << reg;
}

Known FlowState::Computed(const Instr& instr) const {
  const Known a = Read(instr.a[1]), b = Read(instr.a[2]), old = Read(instr.a[0]);
  if (!a || !b || (instr.fn == kAluCmov && !old)) return std::nullopt;
  return Compute(Alu(instr.fn), *a, *b, old.value_or(0));
}

void FlowState::ChangeFlags(const Instr& instr) {
  const bool set = instr.op == Op::kSET;
  FlagSet &to = set ? may_be_set : may_be_clear, &from = set ? may_be_clear : may_be_set;
  const Known id = Read(instr.a[2]);
  if (id && *id >= kFlagsPerPair) return;  // a fault
  const FlagSet flags = FlagsOf(instr, id);
  to |= flags;
  if (id) from &= ~flags;
}

void FlowState::Apply(const Instr& instr, const Preset& preset) {
  switch (instr.op) {
    case Op::kSLI:
      return Write(instr.a[0], AfterSli(instr.imm));
    case Op::kSLIH: {
      const Known old = Read(instr.a[0]);
      return Write(instr.a[0], old ? Known(AfterSlih(*old, instr.imm)) : std::nullopt);
    }
    case Op::kSALU:
      return Write(instr.a[0], Computed(instr));
    case Op::kSCSR:
      return Write(instr.a[0], ReadControl(preset, Read(instr.a[1])));
    case Op::kSLDP:
    case Op::kSLD:
      return Write(instr.a[0], std::nullopt);
    case Op::kSET:
    case Op::kWAIT:
      return ChangeFlags(instr);
    default:
      return;
  }
}

FlagSet FlagsOf(const Instr& instr, Known id) {
  const size_t pair = size_t(instr.a[0] - Imm(0)) * kNumQueues + size_t(instr.a[1] - Imm(0));
  FlagSet flags;
  if (id) return flags.set(pair * kFlagsPerPair + *id);
  for (size_t i = 0; i < kFlagsPerPair; ++i) flags.set(pair * kFlagsPerPair + i);
  return flags;
}

std::string FlagText(size_t flag) {
  const size_t pair = flag / kFlagsPerPair;
  return StrCat(Name(Queue(pair / kNumQueues)), ">", Name(Queue(pair % kNumQueues)), " #",
                flag % kFlagsPerPair);
}

}  // namespace frazil::npu
