// What Validate refuses, and where instructions come from.
#include "npu/program.h"

#include <gtest/gtest.h>

#include "npu/asm.h"

namespace frazil::npu {
namespace {

std::string Problem(const Program& program) {
  const Status status = Validate(program);
  EXPECT_FALSE(status.ok());
  return std::string(status.message());
}

Program Made(std::string_view text) {
  StatusOr<Program> program = Assemble(text);
  EXPECT_TRUE(program.ok()) << program.status();
  return program.ok() ? *std::move(program) : Program();
}

TEST(Validate, Instructions) {
  EXPECT_EQ(Problem(Made(".kernel k\nNOP\nSBR.always 5\nHALT")),
            "[npu] kernel 'k', pc 1, SBR.always 5: jumps to pc 6 of a program of 3 instructions.");
  EXPECT_EQ(Problem(Made("SBR.eq s1, s2, -1")),
            "[npu] kernel '', pc 0, SBR.eq s1, s2, -1: jumps to pc -1 of a program of 1 "
            "instructions.");
  EXPECT_EQ(Problem(Made(".kernel k params x:gm.r\nSLDP s1, #1")),
            "[npu] kernel 'k', pc 0, SLDP s1, #1: reads parameter 1 of 1.");
  EXPECT_EQ(Problem(Made("SCSR s1, #9")),
            "[npu] kernel '', pc 0, SCSR s1, #9: reads number 9, expected one in [0, 8].");
  EXPECT_EQ(Problem(Made("LD s1, #4, #1, s2, #0, #0, #0")),
            "[npu] kernel '', pc 0, LD s1, #4, #1, s2, #0, #0, #0: operand 1 (src) is the number "
            "4, expected a register that holds an address.");
  Program program;
  program.code = {{.op = Op::kSALU, .a = {40, 1, 2}}};
  EXPECT_EQ(Problem(program),
            "[npu] kernel '', pc 0, SALU.add #8, s1, s2: operand 0 (sd) is #8, expected a "
            "register.");
  program.code = {{.op = Op(255)}};
  EXPECT_EQ(Problem(program), "[npu] kernel '', pc 0, op255: there is no op number 255.");
}

TEST(Validate, WholePrograms) {
  Program program;
  program.name = "k";
  EXPECT_EQ(Problem(program),
            "[npu] kernel 'k' has 0 instructions, expected a number in [1, 268435456].");
  program.code = {{.op = Op::kHALT}};
  EXPECT_TRUE(Validate(program).ok());
  program.params = {{"x"}, {"x"}};
  EXPECT_EQ(Problem(program), "[npu] kernel 'k' has two parameters 'x'.");
  program.params.assign(33, {"y"});
  EXPECT_EQ(Problem(program), "[npu] kernel 'k' has 33 parameters, expected at most 32.");
  program.params = {{"x", ParamKind(9)}};
  EXPECT_EQ(Problem(program),
            "[npu] parameter 'x' of kernel 'k' has kind 9, expected one in [0, 4).");
  program.params.clear();
  program.sources = {{0, "a"}, {1, "b"}};
  EXPECT_EQ(Problem(program),
            "[npu] kernel 'k': the source 'b' begins at pc 1, expected one in (0, 1).");
  program.sources = {{0, "a", "f.py", -1}};
  EXPECT_EQ(Problem(program),
            "[npu] kernel 'k': the source 'a' is line -1, expected none below 0.");
}

TEST(Program, SourceOf) {
  Program program;
  EXPECT_EQ(program.SourceOf(0), nullptr);
  program.sources = {{2, "a"}, {5, "b"}};
  EXPECT_EQ(program.SourceOf(1), nullptr);
  EXPECT_EQ(program.SourceOf(2)->op, "a");
  EXPECT_EQ(program.SourceOf(4)->op, "a");
  EXPECT_EQ(program.SourceOf(5)->op, "b");
  EXPECT_EQ(program.SourceOf(1000)->op, "b");
}

}  // namespace
}  // namespace frazil::npu
