// Which segments of a program become one plan.
#include "tracer/pieces.h"

#include "gtest/gtest.h"
#include "tests/tracer/programs.h"

namespace frazil::tracer {
namespace {

// Cell 0 plus cell 1; then that plus cell 0, negated.
Program TwoSegments(std::string_view first = "cut", std::string_view second = "cut",
                    std::string_view outputs = "%2") {
  return Parsed(StrCat(R"(program (i32[2], i32[2]) {
    %0 = add p0, p1 : i32[2]
    )",
                       first, R"(
    %1 = add %0, p0 : i32[2]
    %2 = negative %1 : i32[2]
    )",
                       second, "\nreturn ", outputs, "}"));
}

size_t CountOf(const Program& program) { return MergedSegmentsOf(program).size(); }

TEST(Pieces, AsTheyStand) {
  const auto pieces = SegmentsOf(TwoSegments());
  ASSERT_EQ(pieces.size(), 2u);
  EXPECT_EQ(pieces[0].calls, std::vector({0}));
  EXPECT_EQ(pieces[1].calls, std::vector({1, 2}));
  EXPECT_EQ(pieces[1].mark, 1);
  EXPECT_FALSE(pieces[0].merged || pieces[1].merged || pieces[0].ahead);
}

TEST(Pieces, CutsAreForgotten) {
  const auto pieces = MergedSegmentsOf(TwoSegments());
  ASSERT_EQ(pieces.size(), 1u);
  EXPECT_EQ(pieces[0].calls, std::vector({0, 1, 2}));
  EXPECT_EQ(pieces[0].mark, 1);
  EXPECT_TRUE(pieces[0].merged);
}

TEST(Pieces, AReadParts) { EXPECT_EQ(CountOf(TwoSegments("number %0 is 1")), 2u); }

TEST(Pieces, AReadBehindThemStays) {
  const auto pieces = MergedSegmentsOf(TwoSegments("cut", "number %1 is 5"));
  ASSERT_EQ(pieces.size(), 1u);
  EXPECT_EQ(pieces[0].mark, 1);
}

TEST(Pieces, AnotherPrecisionParts) {
  EXPECT_EQ(CountOf(TwoSegments("cut", "cut with precision blas")), 2u);
  EXPECT_EQ(CountOf(TwoSegments("cut with precision blas", "cut with precision blas")), 1u);
}

// The program of a part, with what its parameters are in the whole.
struct Taken {
  std::string text;
  std::vector<ValueId> from;
};
Taken Take(const Program& whole, std::vector<int32_t> calls, bool one_number = false) {
  const Parts::Part part = Parts(whole).Take(calls, one_number);
  return {Text(part.program), part.from};
}

TEST(Parts, OperandsAreNumberedAgain) {
  const Taken second = Take(TwoSegments(), {1, 2});
  EXPECT_EQ(second.text, R"(program (i32[2], i32[2]) {
  %0 = add p0, p1 : i32[2]
  %1 = negative %0 : i32[2]
  return
}
)");
  EXPECT_EQ(second.from, std::vector({0, -1})) << "a result, and a cell";
  const Taken both = Take(TwoSegments(), {0, 1, 2});
  EXPECT_EQ(both.from, std::vector({-1, -2}));
  EXPECT_NE(both.text.find("%1 = add %0, p0"), std::string::npos) << both.text;
}

TEST(Parts, OneCallMayBeLeftOut) {
  const Taken part = Take(TwoSegments(), {0, 2});
  EXPECT_EQ(part.from, std::vector({-1, -2, 1}));
  EXPECT_NE(part.text.find("%1 = negative p2"), std::string::npos) << part.text;
}

TEST(Parts, EachParameterKeepsItsType) {
  const Program whole = Parsed(R"(program (i32[2], f32[2,3] strides [1,2]) {
    constant c0 = scalar i64 7
    %0 = negative p1 : f32[2,3]
    cut
    %1 = multiply %0, p1 : f32[2,3]
    %2 = add p0, c0 : i32[2]
    return
  })");
  EXPECT_EQ(Take(whole, {1, 2}).text.substr(0, 72),
            "program (f32[2,3], f32[2,3] strides [1,2], i32[2], scalar i64) {\n  %0 = ");
}

TEST(Parts, EqualConstantsBecomeOneIfAsked) {
  const Program whole = Parsed(R"(program (i32[2]) {
    constant c0 = scalar i32 7
    constant c1 = scalar i32 8
    constant c2 = scalar i32 7
    constant c3 = scalar i64 7
    constant c4 = i32[1] "07000000"
    constant c5 = i32[1] "07000000"
    constant c6 = i32[1] "08000000"
    %0 = add p0, c0 : i32[2]
    %1 = add %0, c1 : i32[2]
    %2 = add %1, c2 : i32[2]
    %3 = add %2, c3 : i32[2]
    %4 = add %3, c4 : i32[2]
    %5 = add %4, c5 : i32[2]
    %6 = add %5, c6 : i32[2]
    return
  })");
  const std::vector<int32_t> all{0, 1, 2, 3, 4, 5, 6};
  EXPECT_EQ(Take(whole, all, true).from, std::vector({-1, -2, -3, -5, -6, -8}));
  EXPECT_EQ(Take(whole, all).from, std::vector({-1, -2, -3, -4, -5, -6, -7, -8}));
}

// Calls of `count` in each segment that repeat no body, each of the one before.
Program Chains(std::initializer_list<int> counts) {
  Program program = Parsed("program (i32[2]) { return }");
  for (const int count : counts) {
    for (int i = 0; i < count; ++i) {
      const auto n = static_cast<int32_t>(program.calls.size());
      program.calls.push_back(
          {std::make_shared<const CallRecord>(MadeCall(OpId::k_negative, {i})), {n - 1}});
    }
    program.marks.emplace_back().at = static_cast<int32_t>(program.calls.size());
  }
  program.outputs = {{static_cast<ValueId>(program.calls.size()) - 1, {}}};
  return program;
}

TEST(Pieces, UpToWhatOnePlanMayHave) {
  EXPECT_EQ(CountOf(Chains({2048, 2048})), 1u);
  EXPECT_EQ(CountOf(Chains({2048, 2049})), 2u);
}

// `segments` of `length` calls each, which repeat a body of two: an addition of cell 1, and
// `other`.
Program Loop(int segments, int length, OpId other = OpId::k_negative, Device device = Device()) {
  const auto record = [&](OpId op) {
    CallRecord call = MadeCall(op);
    call.results[0].device = device;
    return std::make_shared<const CallRecord>(call);
  };
  const auto add = record(OpId::k_add), rest = record(other);
  Program program = Parsed("program (i32[2], i32[2]) { return }");
  for (int32_t i = 0; i < segments * length; ++i) {
    Operands operands{i - 1};
    if (i % 2 == 0) operands.push_back(-2);
    program.calls.push_back({i % 2 == 0 ? add : rest, operands});
    if ((i + 1) % length == 0) program.marks.emplace_back().at = i + 1;
  }
  program.outputs = {{segments * length - 1, {}}};
  return program;
}

TEST(Pieces, LoopsOfElementwiseOpsAreOfAnyLength) {
  const auto pieces = MergedSegmentsOf(Loop(40, 1024));
  ASSERT_EQ(pieces.size(), 1u);
  EXPECT_EQ(pieces[0].calls.size(), 40u * 1024);
  EXPECT_EQ(pieces[0].mark, 39);
}

TEST(Pieces, LoopsOfOtherOpsHaveALimit) {
  EXPECT_EQ(CountOf(Loop(512, 1024, OpId::k_sum)), 1u);
  EXPECT_EQ(CountOf(Loop(520, 1024, OpId::k_sum)), 2u);
}

TEST(Pieces, SoHaveThoseOfWhichAMiddleValueIsWanted) {
  Program program = Loop(520, 1024);
  program.outputs.push_back({5, {}});
  EXPECT_EQ(CountOf(program), 2u);
  program.outputs.back().value = 519 * 1024 + 5;  // of the last piece
  EXPECT_EQ(CountOf(program), 1u);
}

TEST(Pieces, ValuesThatTheTapeSavesAreWanted) {
  Program program = Loop(520, 1024);
  program.tape.push_back({.op = OpId::k_add, .saved_output = 5});
  EXPECT_EQ(CountOf(program), 2u);
  program.tape[0] = {.op = OpId::k_add};
  EXPECT_EQ(CountOf(program), 1u);
  program.tape[0].saved[1].value = 5;
  EXPECT_EQ(CountOf(program), 2u);
}

TEST(Pieces, AWrittenMiddleValueIsWanted) {
  Program program = Loop(520, 1024);
  program.writes = {{1, {5, {}}}};
  EXPECT_EQ(CountOf(program), 2u);
}

TEST(Pieces, LoopsOfOtherOpsElsewhereArePiecesAsOthersAre) {
  EXPECT_EQ(CountOf(Loop(5, 1024, OpId::k_sum, Device(DeviceKind::kNpu, 0))), 2u);
  EXPECT_EQ(CountOf(Loop(5, 1024, OpId::k_sum)), 1u);
}

TEST(Pieces, ALoopEndsWhereANumberIsRead) {
  Program program = Loop(6, 1024);
  program.marks[1].kind = Mark::Kind::kNumber;
  program.marks[1].read = -2;
  const auto pieces = MergedSegmentsOf(program);
  ASSERT_EQ(pieces.size(), 2u);
  EXPECT_EQ(pieces[0].calls.size(), 2u * 1024);
  EXPECT_EQ(pieces[0].mark, 1);
}

TEST(Pieces, AnotherBodyIsNoPartOfALoop) {
  Program program = Loop(6, 1024);
  const auto other = std::make_shared<const CallRecord>(MadeCall(OpId::k_add, {3}));
  for (size_t i = size_t{3} * 1024; i < program.calls.size(); ++i) program.calls[i].record = other;
  const auto pieces = MergedSegmentsOf(program);
  ASSERT_EQ(pieces.size(), 2u);
  EXPECT_EQ(pieces[0].calls.size(), 3u * 1024);
  EXPECT_EQ(pieces[1].calls.front(), 3 * 1024);
}

// A loop of two segments, and two that go back over it: each call reads what one of the loop made,
// or only every `step`-th does.
Program BackOver(int step, Device device = Device()) {
  Program program = Loop(2, 1024, OpId::k_negative, device);
  CallRecord call = MadeCall(OpId::k_multiply);
  call.results[0].device = device;
  const auto multiply = std::make_shared<const CallRecord>(call);
  for (int32_t i = 2048; i < 4096; ++i) {
    const int32_t kept = 4095 - i;
    program.calls.push_back({multiply, {i - 1, kept % step == 0 ? kept : -2}});
    if ((i + 1) % 1024 == 0) program.marks.emplace_back().at = i + 1;
  }
  program.outputs = {{4095, {}}};
  return program;
}

TEST(Pieces, ThePassBackOverALoopGoesWithIt) {
  EXPECT_EQ(CountOf(BackOver(1)), 1u);
  EXPECT_EQ(CountOf(BackOver(32)), 1u);
  EXPECT_EQ(CountOf(BackOver(128)), 2u);
  EXPECT_GT(CountOf(BackOver(1, Device(DeviceKind::kNpu, 0))), 1u);
  Program program = BackOver(1);
  program.marks[1].kind = Mark::Kind::kNumber;
  program.marks[1].read = 2047;
  EXPECT_EQ(CountOf(program), 2u);
}

TEST(Parts, OfZerosItIsKnownThatTheyAre) {
  const Program whole = Parsed(R"(program (f32[2]) {
    constant c0 = scalar f32 0
    constant c1 = scalar f32 80000000
    constant c2 = scalar f32 3f800000
    constant c3 = scalar i32 0
    %0 = add p0, c0 : f32[2]
    %1 = add %0, c1 : f32[2]
    %2 = add %1, c2 : f32[2]
    %3 = add %2, c3 : f32[2]
    return
  })");
  const std::vector<int32_t> all{0, 1, 2, 3};
  std::vector<bool> zeros;
  for (const Parameter& p : Parts(whole).Take(all, true).program.parameters)
    zeros.push_back(p.zero);
  EXPECT_EQ(zeros, std::vector({false, true, false, false, false}));
  for (const Parameter& p : Parts(whole).Take(all).program.parameters) EXPECT_FALSE(p.zero);
}

}  // namespace
}  // namespace frazil::tracer
