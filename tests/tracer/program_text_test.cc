// Programs as text: what is printed is read back the same, and what is wrong is named.
#include "tracer/program_text.h"

#include "core/backend.h"
#include "gtest/gtest.h"
#include "tests/tracer/programs.h"

namespace frazil::tracer {
namespace {

constexpr std::string_view kAll = R"(program (f32[2,3], f32[2,3] strides [1,2], scalar i64, none) {
  constant c0 = scalar f32 3f800000
  constant c1 = i32[2] "0100000002000000"
  constant c2 = u8[2,2] strides [1,-3] "0102030405"
  constant c3 = bool[0] ""
  %0 = add p0, p1 : f32[2,3]  # train.py:12
  %1 = call silu %0 : f32[2,3] = program (f32[2,3]) {
    constant c0 = scalar f32 0
    %0 = exp p0 : f32[2,3]
    %1 = multiply p0, %0 : f32[2,3]
    return %1
  }  # train.py:13
  cut
  cut with precision tf32
  %2 = sum %1 {-1, 0} : f32[2]
  number p2 is ffffffffffffffff  # a file named "x # y":3
  indices c1 from -4 to 64 for "take" of "rows \"and\" columns"
  tape add {1, 2} (cell 1 f32[2,3], none f32[2,3]) saves (%0 by cell 1, none, c0) spent
  tape variable (made 0)
  tape exp (made 1 f32[2]) output %2
  write p3 = %1 by made 2
  write p1 = none
  return %2 by made 0, p0, none
}
)";

TEST(ProgramText, WhatIsReadIsPrintedTheSame) { EXPECT_EQ(Text(Parsed(kAll)), kAll); }

TEST(ProgramText, AllPartsAreThere) {
  const Program p = Parsed(kAll);
  ASSERT_EQ(p.parameters.size(), 4u);
  EXPECT_FALSE(p.parameters[1].layout->dense);
  EXPECT_TRUE(p.parameters[2].immediate);
  EXPECT_EQ(p.parameters[3], Parameter());
  EXPECT_EQ(p.constants[0]->imm, 0x3f800000u);
  EXPECT_EQ(ElementsOf(Tensor(p.constants[1])), std::vector({1, 2}));
  EXPECT_EQ(p.constants[2]->data[0], 4) << "its memory begins before its first element";
  EXPECT_EQ(p.constants[2]->data[1], 5);
  EXPECT_EQ(p.constants[2]->data[-3], 1);
  ASSERT_EQ(p.calls.size(), 3u);
  EXPECT_EQ(p.calls[0]->origin, "train.py:12");
  EXPECT_TRUE(p.calls[1]->composite);
  EXPECT_EQ(p.calls[1]->body->calls.size(), 2u);
  EXPECT_EQ(p.calls[1]->origin, "train.py:13");
  EXPECT_EQ(p.calls[2]->attrs, Attrs({-1, 0}));
  ASSERT_EQ(p.marks.size(), 4u);
  EXPECT_EQ(p.marks[1].precision, Precision::kTf32);
  EXPECT_EQ(p.marks[1].at, 2);
  EXPECT_EQ(p.marks[2].outcome, ~uint64_t{0});
  EXPECT_EQ(p.marks[2].origin, "a file named \"x # y\":3");
  EXPECT_EQ(p.marks[3].range, IndexRange(-4, 64));
  EXPECT_EQ(p.marks[3].of, "rows \"and\" columns");
  EXPECT_EQ(p.marks[3].read, p.IdOfConstant(1));
  ASSERT_EQ(p.tape.size(), 3u);
  EXPECT_TRUE(p.tape[0].spent && p.tape[1].variable);
  EXPECT_EQ(p.tape[0].saved[2].value, p.IdOfConstant(0));
  EXPECT_EQ(p.tape[2].saved_output, 2);
  EXPECT_EQ(p.writes[0], (Program::Write{3, {1, {Link::Kind::kMade, 2}}}));
  EXPECT_EQ(p.outputs[0], (Content{2, {Link::Kind::kMade, 0}}));
  EXPECT_EQ(p.outputs[2], Content());
}

// The error of the program `lines` over f32[2].
std::string Wrong(std::string_view lines) {
  const auto program = ParseProgram(StrCat("program (f32[2]) {\n", lines));
  EXPECT_FALSE(program.ok());
  return std::string(program.status().message());
}

TEST(ProgramText, WhatIsWrongIsNamed) {
  EXPECT_EQ(Wrong(""), "[program] line 1: 'return' is missing at the end.");
  EXPECT_EQ(Wrong("return p0"), "[program] line 2: '}' is missing at the end.");
  EXPECT_EQ(Wrong("return p1 }"), "[program] line 2: 'p1' names no earlier value.");
  EXPECT_EQ(Wrong("\nreturn %0 }"), "[program] line 3: '%0' names no earlier value.");
  EXPECT_EQ(Wrong("%0 = exp %0 : f32[2] return }"),
            "[program] line 2: '%0' names no earlier value.");
  EXPECT_EQ(Wrong("%1 = exp p0 : f32[2] return }"), "[program] line 2: '%0' is needed, not '%1'.");
  EXPECT_EQ(Wrong("%0 = silu p0 : f32[2] return }"), "[program] line 2: 'silu' is no op.");
  EXPECT_EQ(Wrong("%0 = call exp p0 : f32[2] return }"),
            "[program] line 2: 'exp' is no composite.");
  EXPECT_EQ(Wrong("%0 = add p0 : f32[2] return }"),
            "[program] line 2: 'add' takes 2 operands, not 1.");
  EXPECT_EQ(Wrong("%0, %1 = exp p0 : f32[2], f32[2] return }"),
            "[program] line 2: an op has one result, and no body.");
  EXPECT_EQ(Wrong("%0 = call silu p0 : f32[2] = program () { return } return }"),
            "[program] line 2: the body of 'silu' is over other values than its call.");
  EXPECT_EQ(Wrong("%0 = call silu p0 : f32[2] = program (f32[2]) { return p0 } return }"),
            "[program] line 2: the body of 'silu' does more than return its results.");
  EXPECT_EQ(Wrong("%0 = call silu p0 : f32[2] = program (f32[2]) { %0 = exp p0 : f32[2] cut return "
                  "%0 } return }"),
            "[program] line 2: the body of 'silu' does more than return its results.");
  EXPECT_EQ(Wrong("jump return }"), "[program] line 2: 'jump' begins no line of a program.");
  EXPECT_EQ(Wrong("number p0 is x return }"), "[program] line 2: 'x' is no hexadecimal number.");
  EXPECT_EQ(Wrong("write %0 = p0 return }"), "[program] line 2: '%0' names no earlier value.");
  EXPECT_EQ(Wrong("write none = p0 return }"), "[program] line 2: only parameters are written.");
  EXPECT_EQ(Wrong("return p0 by made 0 }"), "[program] line 2: there is no node 'made 0'.");
  EXPECT_EQ(Wrong("return p0 by cell 1 }"), "[program] line 2: there is no node 'cell 1'.");
  EXPECT_EQ(Wrong("cut with precision odd return }"), "[program] line 2: 'odd' is no precision.");
  EXPECT_EQ(Wrong("constant c0 = i32[2] \"01\" return }"),
            "[program] line 2: c0 needs 8 bytes, two hexadecimal digits each.");
  EXPECT_EQ(Wrong("constant c0 = i32[1] \"0100000g\" return }"),
            "[program] line 2: c0 needs 4 bytes, two hexadecimal digits each.");
  EXPECT_EQ(Wrong("constant c0 = i32[1] \"01 return }"),
            "[program] line 2: a quoted text does not end.");
  EXPECT_EQ(Wrong("constant c1 = i32[1] return }"), "[program] line 2: 'c0' is needed, not 'c1'.");
  EXPECT_EQ(Wrong("tape odd () return }"), "[program] line 2: 'odd' is no op.");
  EXPECT_EQ(Wrong("tape add () saves (p0, p0, p0, p0) return }"),
            "[program] line 2: a node saves 3 tensors at most.");
  EXPECT_EQ(Wrong("return } x"), "[program] line 2: 'x' follows the program.");
}

TEST(ProgramText, BodiesStandSoDeepInEachOtherAndNoDeeper) {
  const auto nested = [](int depth) {
    std::string text = "program () { return }";
    for (int i = 0; i < depth; ++i)
      text = StrCat("program () { %0 = call silu : f32[] = ", text, " return }");
    return std::string(ParseProgram(text).status().message());
  };
  EXPECT_EQ(nested(1), "[program] line 1: the body of 'silu' is over other values than its call.");
  EXPECT_NE(nested(20).find("16 deep"), std::string::npos);
}

}  // namespace
}  // namespace frazil::tracer
