// Frozen programs from text: what they compute, and what no text may do.
#include "frozen/program.h"

#include <gtest/gtest.h>

#include "bindings/cpp/frazil.h"
#include "core/str.h"
#include "frozen/expression.h"
#include "frozen/run.h"

namespace frazil::frozen {
namespace {

int64_t Value(std::string_view text, std::vector<int64_t> sizes) {
  TextCursor cursor("test", text);
  const std::vector<std::string> symbols = {"n", "m"};
  return Expression::Take(&cursor, symbols).value().At(sizes).value();
}

TEST(Expression, Computes) {
  EXPECT_EQ(Value("n * 4 + m", {3, 5}), 17);
  EXPECT_EQ(Value("(n + -1) / 2 + 1", {7, 0}), 4);
  EXPECT_EQ(Value("n * -1 / 2", {3, 0}), -2);
  EXPECT_EQ(Value("2 * 3 + 1", {}), 7);
}

TEST(Expression, LeavesNoRange) {
  const std::vector<std::string> symbols = {"n"};
  for (const char* text : {"n * 4611686018427387904", "7 / (n + -4)", "9223372036854775807 + n"}) {
    TextCursor cursor("test", text);
    const auto e = Expression::Take(&cursor, symbols);
    ASSERT_TRUE(e.ok()) << e.status();
    EXPECT_FALSE(e->At({4}).ok()) << text;
  }
  for (const char* text :
       {"", "+", "n +", "x", "(n", "1 / 0", "((((((((((((((((((n))))))))))))))))))"}) {
    TextCursor cursor("test", text);
    EXPECT_FALSE(Expression::Take(&cursor, symbols).ok()) << text;
  }
}

std::vector<Tensor> Results(std::string_view text, std::vector<Tensor> inputs,
                            std::vector<Tensor> tensors = {}) {
  Initialize();
  const auto program = ParseProgram(text);
  EXPECT_TRUE(program.ok()) << program.status();
  if (!program.ok()) return {};
  std::vector<Tensor*> in, held;
  for (Tensor& t : inputs) in.push_back(&t);
  for (Tensor& t : tensors) held.push_back(&t);
  std::vector<Tensor> outputs;
  const Status status = frozen::Run(*program, "test", {in, held}, &outputs);
  EXPECT_TRUE(status.ok()) << status;
  return outputs;
}

TEST(Program, OpsNumbersAndSizes) {
  const auto out = Results(
      "frazil-program 1 symbol n from 1 to 9 input \"x\" f32[n,2] number f32 value n * 2\n"
      "number f32 bits 3f000000 program {\n"
      "  %0 = sum p0 {1, 0}\n  %1 = divide %0, n0\n  %2 = reshape p0 {n * 2}\n"
      "  %3 = multiply %2, n1\n  return %1, %3 }",
      {tensor<float>({1, 2, 3, 4}, {2, 2})});
  ASSERT_EQ(out.size(), 2);
  EXPECT_EQ(to_vector<float>(out[0]), (std::vector<float>{1, 1.5f}));
  EXPECT_EQ(to_vector<float>(out[1]), (std::vector<float>{0.5f, 1, 1.5f, 2}));
}

TEST(Program, LoopsAndBranches) {
  const char* text =
      "frazil-program 1 input \"x\" f32[] number f32 bits 40000000 number f32 bits 42c80000\n"
      "program {\n"
      "  %0 = repeat 3 of 1 states p0 { %0 = multiply p0, n0 return %0 }\n"
      "  %1 = less %0, n1\n"
      "  read %1 at \"a.py:1\" { case 1 {\n"
      "    %2, %3, %4 = while 1 of 1 states %0 { %0 = multiply p0, n0 %1 = less %0, n1 next %0 "
      "reads %1 }\n"
      "    return %2 } case 0 { return %0 } } }";
  EXPECT_EQ(item(Results(text, {tensor<float>({1}, {})})[0]), 128);
  EXPECT_EQ(item(Results(text, {tensor<float>({100}, {})})[0]), 800);
}

TEST(Program, AsksWhichInputsAreOne) {
  Initialize();
  const auto program = ParseProgram(
      "frazil-program 1 input \"x\" f32[] input \"y\" f32[] weight \"w\" f32[]\n"
      "number bool same p0, p1 number bool same p0, t0 number f32 bits 40000000 program {\n"
      "read n0 at \"a.py:1\" { case 1 { %0 = multiply p0, n2 return %0 } case 0 {\n"
      "read n1 at \"a.py:2\" { case 0 { %0 = subtract p0, p1 return %0 } } } } }");
  ASSERT_TRUE(program.ok()) << program.status();
  Tensor x = tensor<float>({3}, {}), y = tensor<float>({1}, {}), w = tensor<float>({5}, {});
  std::vector<Tensor> outputs;
  ASSERT_TRUE(frozen::Run(*program, "test", {{&x, &x}, {&w}}, &outputs).ok());
  ASSERT_TRUE(frozen::Run(*program, "test", {{&x, &y}, {&w}}, &outputs).ok());
  EXPECT_EQ(item(outputs[0]), 6);
  EXPECT_EQ(item(outputs[1]), 2);
  const Status status = frozen::Run(*program, "test", {{&w, &y}, {&w}}, &outputs);
  EXPECT_NE(std::string(status.message()).find("'x' and 'w' are one tensor"), std::string::npos)
      << status;
}

TEST(Program, WritesBehindAllElse) {
  Initialize();
  const auto program = ParseProgram(
      "frazil-program 1 input \"x\" f32[2] weight \"a\" f32[2] weight \"b\" f32[2] program {\n"
      "%0 = add t0, p0 write t0 = t1 write t1 = t0 return %0 }");
  ASSERT_TRUE(program.ok()) << program.status();
  Tensor x = tensor<float>({1, 1}, {2}), a = tensor<float>({2, 3}, {2}), b = zeros({2});
  std::vector<Tensor> outputs;
  ASSERT_TRUE(frozen::Run(*program, "test", {{&x}, {&a, &b}}, &outputs).ok());
  EXPECT_EQ(to_vector<float>(a), (std::vector<float>{0, 0}));
  EXPECT_EQ(to_vector<float>(b), (std::vector<float>{2, 3}));
}

TEST(Program, AnUnknownCompositeRunsItsBody) {
  const auto out = Results(
      "frazil-program 1 input \"x\" f32[2] program { %0 = call of_another_version p0 with {\n"
      "%0 = multiply p0, p0 return %0 } return %0 }",
      {tensor<float>({3, 4}, {2})});
  EXPECT_EQ(to_vector<float>(out[0]), (std::vector<float>{9, 16}));
}

TEST(Program, NoTextIsTooStrange) {
  for (const char* text :
       {"",
        "frazil-program",
        "frazil-program 1",
        "frazil-program 1 program",
        "frazil-program 1 program {",
        "frazil-program 1 program { return } }",
        "frazil-program 1 program { %1 = exp p0 return }",
        "frazil-program 1 input \"x\" f32[2] input \"x\" f32[2] program { return }",
        "frazil-program 1 input \"x\" f32[n] program { return }",
        "frazil-program 1 symbol 7 from 1 to 2 program { return }",
        "frazil-program 1 symbol n from 3 to 2 program { return }",
        "frazil-program 1 symbol n from 2 to 9 by 0 program { return }",
        "frazil-program 1 weight \"w\" f32[-1] program { return }",
        "frazil-program 1 number c64 bits 0 program { return }",
        "frazil-program 1 number f32 cube 8 program { return }",
        "frazil-program 1 input \"x\" f32[] number bool same p0 program { return }",
        "frazil-program 1 input \"x\" f32[] number i64 same p0, p0 program { return }",
        "frazil-program 1 input \"x\" f32[] number bool same p0, p1 program { return }",
        "frazil-program 1 input \"x\" f32[] program { next p0 reads p0 }",
        "frazil-program 1 input \"x\" f32[] program { write n0 = p0 return }",
        "frazil-program 1 input \"x\" f32[] program { read p0 at \"\" { case 0 { return p0 } "
        "case 1 { return } } }",
        "frazil-program 1 input \"x\" f32[] program { %0 = while 1 of 1 states p0 { next p0 reads "
        "p0 } return }",
        "frazil-program 1 input \"x\" f32[] program { %0 = call relu p0 with { read p0 at \"\" { "
        "} } return }",
        "frazil-program 1 input \"x\" f32[] program { %0 = call no_such p0 return %0 }"}) {
    const auto program = ParseProgram(text);
    EXPECT_FALSE(program.ok()) << text;
  }
  std::string deep = "frazil-program 1 input \"x\" i64[] program ";
  for (int i = 0; i < 5000; ++i) deep += "{ read p0 at \"\" { case 0 ";
  EXPECT_FALSE(ParseProgram(deep).ok());
}

}  // namespace
}  // namespace frazil::frozen
