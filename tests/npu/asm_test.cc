// Programs as text: the listing of the manual's example, errors, and there and back.
#include "npu/asm.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <sstream>

#include "tests/npu/random_program.h"

namespace frazil::npu {
namespace {

std::string ReadGolden(const std::string& name) {
  std::ifstream file(StrCat(FRAZIL_NPU_GOLDENS, "/", name));
  std::stringstream text;
  text << file.rdbuf();
  EXPECT_FALSE(text.str().empty()) << name;
  return text.str();
}

Program Assembled(std::string_view text) {
  StatusOr<Program> program = Assemble(text);
  EXPECT_TRUE(program.ok()) << program.status() << "\n" << text;
  return program.ok() ? *std::move(program) : Program();
}

std::string ErrorOf(std::string_view text) {
  const StatusOr<Program> program = Assemble(text);
  EXPECT_FALSE(program.ok()) << text;
  return std::string(program.status().message());
}

TEST(Assemble, Listing) {
  const Program program = Assembled(ReadGolden("relu_axpb.snpu.s"));
  EXPECT_TRUE(Validate(program).ok()) << Validate(program);
  EXPECT_EQ(program.name, "relu_axpb_f32");
  EXPECT_EQ(program.preset, "dc16");
  const std::vector<Param> params = {{"x", ParamKind::kGmRead},
                                     {"y", ParamKind::kGmWrite},
                                     {"ntiles", ParamKind::kU64},
                                     {"w", ParamKind::kF32},
                                     {"b", ParamKind::kF32}};
  EXPECT_EQ(program.params, params);
  ASSERT_EQ(program.code.size(), 52);
  EXPECT_EQ(Encode(program.code[5]), 0x0200100000008000);                   // SLI s4, 32768
  EXPECT_EQ(program.code[7], (Instr{.op = Op::kSLI, .a = {6}, .imm = 0}));  // LA s6, ub:0
  EXPECT_EQ(Encode(program.code[8]), 0x0300180050000000);
  EXPECT_EQ(program.code[9].imm, 0x10000);
  const auto synchronises = [](const Instr& i) { return i.op == Op::kSET || i.op == Op::kWAIT; };
  EXPECT_EQ(std::count_if(program.code.begin(), program.code.end(), synchronises), 18);
  // loop is pc 19, nold pc 29.
  EXPECT_EQ(Text(program.code[20]), "SBR.geu s10, s3, 9");
  EXPECT_EQ(Text(program.code[46]), "SBR.ltu s8, s3, -27");
  EXPECT_EQ(program.code.back().op, Op::kHALT);
}

TEST(Disassemble, Listing) {
  const Program program = Assembled(ReadGolden("relu_axpb.snpu.s"));
  const std::string text = Disassemble(program);
  EXPECT_EQ(text, ReadGolden("relu_axpb.dis"));
  EXPECT_EQ(Assembled(text), program);
  EXPECT_EQ(Assembled(Disassemble(program, {.words = true})), program);
}

TEST(Disassemble, AssemblesToTheSameProgram) {
  Random random(3);
  for (int i = 0; i < 2000; ++i) {
    const Program program = RandomProgram(&random, 1 + Draw(&random, 40));
    ASSERT_TRUE(Validate(program).ok()) << Validate(program);
    const std::string text = Disassemble(program);
    const Program back = Assembled(text);
    ASSERT_EQ(back, program) << text;
    ASSERT_EQ(Disassemble(back), text);
    ASSERT_EQ(Assembled(Disassemble(program, {.words = true})), program);
  }
}

TEST(Text, AssemblesToTheSameInstruction) {
  Random random(4);
  for (int i = 0; i < 20000; ++i) {
    const Instr instr = RandomInstr(&random, Op(i % int(Op::kCount)));
    const std::string text = Text(instr);
    const Program program = Assembled(text);
    ASSERT_EQ(program.code.size(), 1) << text;
    ASSERT_EQ(program.code[0], instr) << text;
  }
}

TEST(Text, OfWhatNoWordStandsFor) {
  EXPECT_EQ(Text({.op = Op::kCount}), StrCat("op", int(Op::kCount)));
  EXPECT_EQ(Text({.op = Op::kVUN, .dt = 12, .fn = 200, .a = {63, 64, 255}}),
            "VUN.fn200.dt12 #31, #32, #223, s0, s0, s0");
  EXPECT_EQ(Text({.op = Op::kSET, .a = {1, 99, 255}}), "SET queue1>queue99, #223");
}

TEST(Assemble, EverythingInOneFile) {
  const Program program = Assembled(R"(
    .snpu 1.0            ; version
    .kernel "my kernel" params x:gm.r
    .param w : f32
    .note "first"
    .note "second; \"quoted\" \x41\\"
    .meta class GEMM
    .meta shape "M 1"
    .meta scratch ub 0x100
    .op dropped
    .op "add" model.py:12
start: again:
    NOP
    .op mul "my file.py":0x10
    SBR.always start
    SBR.eq s1, #31, 1
    LA s31, gm:0x123456789abcdef
    SLIH s1, -1
    SLI s1, #-5
    BAR all
    BAR S
    XA.f16 s1, s2, s3, s4, #0
    XA.t.f16 s1, s2, s3, s4, #0
    VCVT.f16.f32 s1, s2, #1, s3, #0, #0, #4
end:HALT)");
  EXPECT_EQ(program.name, "my kernel");
  EXPECT_EQ(program.params.size(), 2);
  EXPECT_EQ(program.note, "first\nsecond; \"quoted\" A\\");
  EXPECT_EQ(program.meta.kernel_class, "GEMM");
  EXPECT_EQ(program.meta.scratch_peak[kUB], 0x100);
  const std::vector<SourceEntry> sources = {{0, "add", "model.py", 12},
                                            {1, "mul", "my file.py", 16}};
  EXPECT_EQ(program.sources, sources);
  ASSERT_EQ(program.code.size(), 13);
  EXPECT_EQ(program.code[1].imm, -1);
  EXPECT_EQ(Text(program.code[1]), "SBR.always -1");
  EXPECT_EQ(uint32_t(program.code[3].imm), 0x89abcdef);
  EXPECT_EQ(program.code[4].imm, 0x01234567);
  EXPECT_EQ(Text(program.code[10]), "XA.t.f16 s1, s2, s3, s4, #0");
  EXPECT_EQ(program.code[11].fn, kF16);
  EXPECT_EQ(program.code[11].dt, kF32);
}

struct BadText {
  std::string_view text, message;
};
constexpr BadText kBadTexts[] = {
    {"", "[as] the text holds no instruction."},
    {"\n\n FOO s1",
     "[as] line 3: 'FOO', expected an instruction, a directive or a label with ':' "
     "(the manual lists them)."},
    {"SALU.pow s1, s2, s3",
     "[as] line 1: 'SALU.pow', expected SALU. and one of add, sub, mul, divu, remu, min, max, and, "
     "or, xor, shl, shru, sar, slt, sltu, cmov."},
    {"VFMA.i32 s1", "[as] line 1: 'VFMA.i32', expected a type at its end: one of f32, f16, bf16."},
    {"VFMA s1", "[as] line 1: 'VFMA', expected a type at its end: one of f32, f16, bf16."},
    {"HALT.f32", "[as] line 1: 'HALT.f32', expected no '.f32' there."},
    {"HALT s1", "[as] line 1: 's1', expected the end of the line."},
    {"SALU.add s1, s2", "[as] line 1: the line ends, expected ','."},
    {"SALU.add #1, s2, s3", "[as] line 1: '#', expected a register s0 to s31."},
    {"SALU.add s32, s2, s3", "[as] line 1: 's32', expected a register s0 to s31."},
    {"SALU.add s1, 2, s3", "[as] line 1: '2', expected a register or # and a number for value1."},
    {"SALU.add s1, s2, #32", "[as] line 1: '32', expected a number in [0, 31]."},
    {"SALU.add s1, s2, #", "[as] line 1: the line ends, expected a number in [0, 31]."},
    {"SLI s1, 0x80000000",
     "[as] line 1: '0x80000000', expected a number in [-2147483648, 2147483647]."},
    {"SLIH s1, 4294967296",
     "[as] line 1: '4294967296', expected a number in [-2147483648, 4294967295]."},
    {"SLI s1, 99999999999999999999",
     "[as] line 1: '99999999999999999999', expected a number in [-2147483648, 2147483647]."},
    {"SET VE>VE, #0",
     "[as] line 1: operand 1 (queue2) is #4, expected another queue than the first."},
    {"SET VE, LD", "[as] line 1: ',', expected '>'."},
    {"SET VX>LD, #0", "[as] line 1: 'VX', expected one of S, LD, XP, MM, VE, DR, ST."},
    {"BAR any", "[as] line 1: 'any', expected one of S, LD, XP, MM, VE, DR, ST, all."},
    {"WAIT VE>LD, #8",
     "[as] line 1: operand 2 (flag) is #8, expected a register or a flag in [0, 7]."},
    {"NOP\nSBR.always away", "[as] line 2: there is no label 'away'."},
    {"SBR.eq s1, s2, *", "[as] line 1: '*', expected a label or a number of instructions."},
    {"a: NOP\na: NOP", "[as] line 2: the label 'a' stands twice."},
    {"LA s1, l2:0", "[as] line 1: 'l2', expected one of gm, l1, l0a, l0b, l0c, ub."},
    {".snpu 2.0", "[as] line 1: '2.0', expected '1.0'."},
    {".foo",
     "[as] line 1: '.foo', expected one of .snpu, .preset, .kernel, .param, .op, .meta, .note."},
    {".kernel k params x:gm", "[as] line 1: 'gm', expected one of gm.r, gm.w, u64, f32."},
    {".kernel a\n.kernel b", "[as] line 2: a second .kernel, expected one kernel in a file."},
    {".op add f.py:x\nNOP", "[as] line 1: 'x', expected a number in [0, 2147483647]."},
    {"NOP\n.op add f.py:1", "[as] line 2: no instruction follows the last .op."},
    {".meta colour red",
     "[as] line 1: 'colour', expected one of class, shape, tile, scratch, gm_read, gm_write, "
     "macs."},
    {".note \"open", "[as] line 1: quoted text does not end, or has a \\ that means nothing."},
    {".note \"\\xg0\"", "[as] line 1: quoted text does not end, or has a \\ that means nothing."},
};

TEST(Assemble, ErrorsNameLineAndWhatWasExpected) {
  for (const BadText& bad : kBadTexts) EXPECT_EQ(ErrorOf(bad.text), bad.message) << bad.text;
}

// Any text gives a program or an error.
TEST(Assemble, DamagedText) {
  Random random(5);
  const std::string good = ReadGolden("relu_axpb.snpu.s");
  int failed = 0;
  for (int i = 0; i < 3000; ++i) {
    std::string text = good;
    for (int edits = 1 + Draw(&random, 3); edits > 0; --edits) {
      const size_t at = size_t(Draw(&random, int(text.size())));
      const int kind = Draw(&random, 3);
      if (kind == 0) text[at] = char(random());
      if (kind == 1) text.erase(at, size_t(Draw(&random, 20)));
      if (kind == 2) text.insert(at, text.substr(size_t(Draw(&random, int(text.size()))), 5));
    }
    const StatusOr<Program> program = Assemble(text);
    if (program.ok()) {
      for (const Instr& instr : program->code) ASSERT_EQ(FieldProblem(instr), "");
    } else {
      ++failed;
      EXPECT_EQ(program.status().message().substr(0, 4), "[as]");
    }
  }
  EXPECT_GT(failed, 500);
}

}  // namespace
}  // namespace frazil::npu
