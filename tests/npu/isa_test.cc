// The word of every instruction, both ways.
#include "npu/isa.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <set>

#include "npu/asm.h"
#include "tests/npu/random_program.h"

namespace frazil::npu {
namespace {

bool Nightly() { return std::getenv("FRAZIL_NIGHTLY") != nullptr; }

struct Golden {
  std::string_view text;
  uint64_t word;
};
constexpr Golden kGoldens[] = {
    {"HALT", 0x0100000000000000},
    {"SLI s4, 32768", 0x0200100000008000},
    {"SLIH s6, 0x50000000", 0x0300180050000000},
    {"SALU.add s10, s8, #1", 0x0400288840000000},
    {"SBR.ltu s8, s3, -18", 0x08042030ffffffee},
    {"SET VE>LD, #0", 0x1000921800000000},
    {"WAIT VE>LD, s11", 0x11009212c0000000},
    {"LD s12, s13, #1, s4, #0, #0, #0", 0x200030d844820800},
    {"MMUL.acc.bf16 s16, s17, s18, s21, s22, s23", 0x3021411495597000},
    {"VBINS.mul.f32 s15, s14, s20, #1, s5, #0, #0", 0x42023ce521160800},
    {"VRED.sum.f32 s15, s14, s5, s6, #0, s7, #0", 0x49003ce146807800},
};

TEST(Word, Goldens) {
  for (const Golden& golden : kGoldens) {
    const StatusOr<Program> program = Assemble(golden.text);
    ASSERT_TRUE(program.ok()) << program.status();
    ASSERT_EQ(program->code.size(), 1);
    EXPECT_EQ(Encode(program->code[0]), golden.word) << golden.text;
    Instr instr;
    ASSERT_EQ(Decode(golden.word, &instr), DecodeError::kNone) << golden.text;
    EXPECT_EQ(instr, program->code[0]) << golden.text;
    EXPECT_EQ(Text(instr), golden.text);
  }
}

TEST(Word, IdentityOfEveryOpcode) {
  Random random(1);
  const int rounds = 1000000 / int(Op::kCount) + 1;
  for (int op = 0; op < int(Op::kCount); ++op) {
    for (int i = 0; i < rounds; ++i) {
      const Instr instr = RandomInstr(&random, Op(op));
      Instr back;
      ASSERT_EQ(Decode(Encode(instr), &back), DecodeError::kNone) << Text(instr);
      ASSERT_EQ(back, instr) << Text(instr);
    }
  }
}

// Half of the words have an opcode that exists: most random ones have not.
uint64_t RandomWord(Random* random) {
  uint64_t word = (*random)();
  const int shape = Draw(random, 4);
  if (shape == 0) return word;
  const Op op = Op(Draw(random, int(Op::kCount)));
  if (shape == 1) return (word & (~uint64_t{0} >> 8)) | uint64_t{Info(op).code} << 56;
  word = Encode(RandomInstr(random, op));
  return shape == 2 ? word : word ^ uint64_t { 1 } << Draw(random, 64);
}

TEST(Word, RandomWordsDecodeToThemselvesOrNotAtAll) {
  Random random(2);
  const int count = Nightly() ? 10000000 : 1000000;
  int legal = 0, opcode = 0, encoding = 0;
  for (int i = 0; i < count; ++i) {
    const uint64_t word = RandomWord(&random);
    Instr instr;
    const DecodeError error = Decode(word, &instr);
    if (error == DecodeError::kNone) {
      ++legal;
      ASSERT_EQ(FieldProblem(instr), "");
      ASSERT_EQ(Encode(instr), word);
    } else {
      error == DecodeError::kOpcode ? ++opcode : ++encoding;
      ASSERT_EQ(error == DecodeError::kOpcode, !FindCode(uint8_t(word >> 56)));
    }
  }
  EXPECT_GT(legal, count / 4);
  EXPECT_GT(opcode, count / 10);
  EXPECT_GT(encoding, count / 10);
}

TEST(Word, WhatIsNotUsedMustBeZero) {
  for (const Golden& golden : kGoldens) {
    Instr good;
    ASSERT_EQ(Decode(golden.word, &good), DecodeError::kNone);
    int refused = 0;
    for (int bit = 0; bit < 56; ++bit) {
      Instr instr;
      const uint64_t word = golden.word ^ uint64_t { 1 } << bit;
      if (Decode(word, &instr) == DecodeError::kEncoding) {
        ++refused;
      } else {
        EXPECT_NE(instr, good) << golden.text << " bit " << bit;
      }
    }
    const bool bare = golden.text == "HALT";
    EXPECT_EQ(refused == 56, bare) << golden.text;
  }
}

TEST(Word, ProblemsAreNamed) {
  const auto problem = [](Instr instr) { return FieldProblem(instr); };
  EXPECT_EQ(problem({.op = Op::kSALU, .a = {33, 1, 2}}),
            "operand 0 (sd) is #1, expected a register");
  EXPECT_EQ(problem({.op = Op::kSET, .a = {Imm(kVE), Imm(kVE), Imm(0)}}),
            "operand 1 (queue2) is #4, expected another queue than the first");
  EXPECT_EQ(problem({.op = Op::kSET, .a = {Imm(kVE), Imm(7), Imm(0)}}),
            "operand 1 (queue2) is #7, expected a queue");
  EXPECT_EQ(problem({.op = Op::kWAIT, .a = {Imm(kVE), Imm(kLD), Imm(8)}}),
            "operand 2 (flag) is #8, expected a register or a flag in [0, 7]");
  EXPECT_EQ(problem({.op = Op::kBAR, .a = {Imm(kAllQueues)}}), "");
  EXPECT_EQ(problem({.op = Op::kNOP, .a = {1}}), "operand 0 is not used but is s1");
  EXPECT_EQ(problem({.op = Op::kNOP, .imm = 4}), "imm is not used but is 4");
  EXPECT_EQ(problem({.op = Op::kNOP, .dt = 1}), "NOP has no type f16");
  EXPECT_EQ(problem({.op = Op::kVFMA, .dt = kI32}), "VFMA has no type i32");
  EXPECT_EQ(problem({.op = Op::kVFMA, .dt = 9}), "VFMA has no type 9");
  EXPECT_EQ(problem({.op = Op::kVCMP, .fn = 6}), "VCMP has no function 6");
  EXPECT_EQ(problem({.op = Op::kVTR, .a = {64}}), "operand 0 is 64, which is no field");
  EXPECT_EQ(problem({.op = Op::kCount}), StrCat("there is no op number ", int(Op::kCount)));
}

TEST(Table, NamesAndCodesAreUnique) {
  std::set<std::string_view> names;
  std::set<int> codes;
  for (int i = 0; i < int(Op::kCount); ++i) {
    const OpInfo& info = Info(Op(i));
    EXPECT_TRUE(names.insert(info.name).second) << info.name;
    EXPECT_TRUE(codes.insert(info.code).second) << info.name;
    EXPECT_EQ(FindOp(info.name), Op(i));
    EXPECT_EQ(FindCode(info.code), Op(i));
    EXPECT_LE(info.functions.size(), 16);
    std::set<std::string> operands;
    for (int j = 0; j < info.num_operands; ++j) {
      EXPECT_TRUE(operands.insert(OperandName(info, j)).second) << info.name;
      const OperandKind kind = info.operands[j].kind;
      const bool address = kind == OperandKind::kWrite || kind == OperandKind::kRead;
      EXPECT_EQ(address, info.operands[j].spaces != 0) << info.name;
    }
  }
  EXPECT_EQ(FindOp("LDX"), std::nullopt);
  EXPECT_EQ(FindCode(0x21), std::nullopt);
}

}  // namespace
}  // namespace frazil::npu
