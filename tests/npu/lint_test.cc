// What Lint finds without running.
#include "npu/lint.h"

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "npu/asm.h"
#include "tests/npu/random_program.h"

namespace frazil::npu {
namespace {

Program Made(std::string_view text) {
  StatusOr<Program> program = Assemble(text);
  EXPECT_TRUE(program.ok()) << program.status();
  EXPECT_TRUE(Validate(*program).ok()) << Validate(*program);
  return *std::move(program);
}

std::string Lines(const Program& program) {
  std::string text;
  for (const Finding& finding : Lint(program, *FindPreset("dc16")))
    StrAppend(&text, Text(finding, program), "\n");
  return text;
}
std::string Lines(std::string_view text) { return Lines(Made(text)); }

Program Listing() {
  std::ifstream file(StrCat(FRAZIL_NPU_GOLDENS, "/relu_axpb.snpu.s"));
  std::stringstream text;
  text << file.rdbuf();
  return Made(text.str());
}

TEST(Lint, NothingIsWrongWithTheListing) { EXPECT_EQ(Lines(Listing()), ""); }

TEST(Lint, ErrorsAreThoseOfValidateOrLint) {
  const Preset preset = *FindPreset("dc16");
  EXPECT_EQ(Errors(Listing(), preset), "");
  // A warning is no error.
  EXPECT_EQ(Errors(Made(".kernel k params n:u64\nSET VE>LD, #3\nHALT"), preset),
            "error at pc 1, HALT: FLAG_LEAK: a flag is still set at the end of the block: VE>LD "
            "#3\n");
  Program program = Made("HALT");
  program.code[0].a[0] = Imm(3);
  const Status invalid = Validate(program);
  ASSERT_FALSE(invalid.ok());
  EXPECT_EQ(Errors(program, preset), StrCat(std::string(invalid.message()), "\n"));
}

TEST(Lint, Flags) {
  EXPECT_EQ(Lines("WAIT VE>LD, #0\nHALT"),
            "error at pc 0, WAIT VE>LD, #0: FLAG_ORDER: a WAIT before its SET in the order of the "
            "program: no SET that is not waited for stands before it\n");
  EXPECT_EQ(Lines("SET VE>LD, #3\nSET VE>LD, #3\nWAIT VE>LD, #3\nHALT"),
            "error at pc 1, SET VE>LD, #3: FLAG_OVERFLOW: a SET that is not ordered after the WAIT "
            "of the SET before it: no WAIT stands between it and the SET before it\n");
  EXPECT_EQ(Lines("SET VE>LD, #3\nHALT"),
            "error at pc 1, HALT: FLAG_LEAK: a flag is still set at the end of the block: VE>LD "
            "#3\n");
  // Only one of two paths sets it: it depends on the run.
  EXPECT_EQ(Lines(".kernel k params n:u64\nSLDP s1, #0\nSBR.eq s1, #0, 2\nSET VE>LD, #3\nHALT"),
            "");
  EXPECT_EQ(Lines("SLI s1, 8\nSET VE>LD, s1\nHALT"),
            "error at pc 1, SET VE>LD, s1: ILLEGAL_ENCODING: the word is not what the encoder "
            "makes: a field that is not used is not zero, or one is out of range: flag 8 of 8\n");
}

TEST(Lint, Control) {
  EXPECT_EQ(Lines("NOP"),
            "warning: no path reaches a HALT\n"
            "error at pc 0, NOP: PC_RANGE: control left the program: control can leave the program "
            "after it\n");
  EXPECT_EQ(Lines("SLI s1, 3\nSBR.eq s1, #3, 3\nNOP\nNOP\nHALT"),
            "warning at pc 2, NOP: no path reaches this\n");
  EXPECT_EQ(Lines(".kernel k params n:u64\nHALT"), "warning: parameter 0 (n) is not read\n");
  EXPECT_EQ(Lines("SALU.add s1, s2, s2\nHALT"),
            "warning at pc 0, SALU.add s1, s2, s2: s2 is read but never written before, so it is "
            "0\n");
  EXPECT_EQ(Lines("SLI s1, 7\nSLDP s2, s1\nHALT"),
            "error at pc 1, SLDP s2, s1: INDEX_RANGE: an index is outside of its range: parameter "
            "7 of 0\n");
}

TEST(Lint, Accesses) {
  EXPECT_EQ(Lines("LA s1, l1:0\nVDUP.f32 s1, #1, #1, #8, #0\nHALT"),
            "error at pc 2, VDUP.f32 s1, #1, #1, #8, #0: ILLEGAL_SPACE: this operand may not lie "
            "in this memory: operand 0 (dst) is l1:0x0\n");
  EXPECT_EQ(Lines("LA s1, ub:4\nVDUP.f32 s1, #1, #1, #8, #0\nHALT"),
            "error at pc 2, VDUP.f32 s1, #1, #1, #8, #0: MISALIGNED: an address or row stride is "
            "not aligned for its memory: operand 0 (dst): offset 4, row stride 32: multiples of 32 "
            "are needed\n");
  EXPECT_EQ(Lines("LA s1, ub:0x3ffe0\nVDUP.f32 s1, #1, #2, #8, #0\nHALT"),
            "error at pc 2, VDUP.f32 s1, #1, #2, #8, #0: LOCAL_OOB: bytes outside of the local "
            "memory: operand 0 (dst): bytes [262112, 262176) of 262144\n");
  // The number of columns is not known, that of rows is.
  EXPECT_EQ(Lines(".kernel k params n:u64\nSLDP s2, #0\nLA s1, ub:0\n"
                  "VDUP.f32 s1, #1, #0, s2, #0\nHALT"),
            "error at pc 3, VDUP.f32 s1, #1, #0, s2, #0: SHAPE_LIMIT: an extent is zero or too "
            "large: operand 2 (rows): 0 is not in [1, 65536]\n");
  EXPECT_EQ(Lines(".kernel k params n:u64\nSLDP s2, #0\nLA s1, ub:0\n"
                  "VDUP.f32 s1, #1, #1, s2, #0\nHALT"),
            "");
  // An address that arithmetic on constants makes.
  EXPECT_EQ(Lines("LA s1, ub:0\nSLI s2, 2\nSALU.shl s2, s2, #17\nSALU.add s1, s1, s2\n"
                  "VDUP.f32 s1, #1, #1, #8, #0\nHALT"),
            "error at pc 5, VDUP.f32 s1, #1, #1, #8, #0: LOCAL_OOB: bytes outside of the local "
            "memory: operand 0 (dst): bytes [262144, 262176) of 262144\n");
}

TEST(Lint, AnyProgram) {
  Random random(8);
  for (int i = 0; i < 500; ++i) {
    const Program program = RandomProgram(&random, 1 + Draw(&random, 80));
    for (const Finding& finding : Lint(program, *FindPreset("edge16")))
      EXPECT_FALSE(Text(finding, program).empty());
  }
}

}  // namespace
}  // namespace frazil::npu
