#include "tests/npu/random_program.h"

#include "core/str.h"

namespace frazil::npu {
namespace {

std::string RandomText(Random* random) {
  static constexpr std::string_view kTexts[] = {
      "",  "x",           "model.py",   "my file.py", "a\"b\\c", "two\nlines", "C:\\x.py",
      ";", "caf\xc3\xa9", "params",     "x:gm.r",     "s1",      "#",          "-1",
      "_", "a/b/c.py",    "\x01\x7f\t", "<lambda>",   "LA",      ".kernel"};
  return std::string(kTexts[Draw(random, std::size(kTexts))]);
}

uint8_t RandomField(Random* random, const OpInfo& info, int i, const Instr& instr) {
  switch (info.operands[i].kind) {
    case OperandKind::kDstReg:
      return uint8_t(Draw(random, kRegisters));
    case OperandKind::kQueueId: {
      if (info.queue == kByBar) return Imm(Draw(random, kAllQueues + 1));
      if (i == 0) return Imm(Draw(random, kNumQueues));
      const int other = instr.a[0] - Imm(0) + 1 + Draw(random, kNumQueues - 1);
      return Imm(other % kNumQueues);
    }
    case OperandKind::kFlagId:
      return uint8_t(Draw(random, 32 + kFlagsPerPair));
    default:
      return uint8_t(Draw(random, 64));
  }
}

Instr RandomPlacedInstr(Random* random, Op op, int pc, const Program& program, int size) {
  Instr instr = RandomInstr(random, op);
  const OpInfo& info = Info(op);
  for (int i = 0; i < info.num_operands; ++i) {
    const OperandKind kind = info.operands[i].kind;
    if (kind == OperandKind::kRel) instr.imm = Draw(random, size) - pc;
    if (kind == OperandKind::kWrite || kind == OperandKind::kRead)
      instr.a[i] = uint8_t(Draw(random, kRegisters));
  }
  if (op == Op::kSLDP)
    instr.a[1] = program.params.empty() ? 0 : Imm(Draw(random, int(program.params.size())));
  if (op == Op::kSCSR) instr.a[1] = Imm(Draw(random, 9));
  return instr;
}

}  // namespace

int Draw(Random* random, int count) { return int((*random)() % uint64_t(count)); }

Instr RandomInstr(Random* random, Op op) {
  const OpInfo& info = Info(op);
  Instr instr{.op = op};
  if (info.types) {
    do {
      instr.dt = uint8_t(Draw(random, kNumTypes));
    } while (!(info.types >> instr.dt & 1));
  }
  if (!info.functions.empty()) instr.fn = uint8_t(Draw(random, int(info.functions.size())));
  const int fields = info.format == Format::kR ? info.num_operands : info.num_operands - 1;
  for (int i = 0; i < fields; ++i) instr.a[i] = RandomField(random, info, i, instr);
  if (info.format != Format::kR) instr.imm = int32_t(uint32_t((*random)()));
  return instr;
}

Program RandomProgram(Random* random, int instructions) {
  Program program;
  program.name = RandomText(random);
  program.preset = Draw(random, 2) ? "dc16" : RandomText(random);
  program.note = RandomText(random);
  const int params = Draw(random, 4);
  for (int i = 0; i < params; ++i)
    program.params.push_back(
        {StrCat(RandomText(random), i), ParamKind(Draw(random, kNumParamKinds))});
  ProgramMeta& meta = program.meta;
  if (Draw(random, 2)) {
    meta.kernel_class = RandomText(random);
    meta.shape = RandomText(random);
    meta.tile = RandomText(random);
    meta.scratch_peak[Draw(random, kNumSpaces)] = (*random)() >> 1;
    meta.gm_read = (*random)() >> 1;
    meta.macs = uint64_t(Draw(random, 2));
  }
  for (int pc = 0; pc < instructions; ++pc) {
    if (Draw(random, 5) == 0)
      program.sources.push_back(
          {uint32_t(pc), RandomText(random), RandomText(random), Draw(random, 1000)});
    // Loads of addresses are two instructions that the text may show as one.
    if (Draw(random, 4) == 0 && pc + 1 < instructions) {
      const uint8_t reg = uint8_t(Draw(random, kRegisters));
      const int32_t high = Draw(random, 2) ? int32_t(uint32_t(Draw(random, 16)) << 28)
                                           : int32_t(uint32_t((*random)()));
      program.code.push_back({.op = Op::kSLI, .a = {reg}, .imm = int32_t(uint32_t((*random)()))});
      program.code.push_back({.op = Op::kSLIH, .a = {reg}, .imm = high});
      ++pc;
      continue;
    }
    const Op op = Op(Draw(random, int(Op::kCount)));
    program.code.push_back(RandomPlacedInstr(random, op, pc, program, instructions));
  }
  return program;
}

}  // namespace frazil::npu
