// Whether two calls did the same, and the sentence that says how they differ.
#include "tracer/same_program.h"

#include "gtest/gtest.h"
#include "tests/tracer/programs.h"

namespace frazil::tracer {
namespace {

// Cell 0 plus constant 0, which is written to cell 1 and returned; then negated if a number is 1.
Program Known() {
  return Parsed(R"(program (i32[2], i32[2]) {
    constant c0 = i32[2] "0300000004000000"
    %0 = add p0, c0 : i32[2]  # f.py:1
    number p1 is 1  # f.py:2
    %1 = negative %0 : i32[2]
    cut
    tape add (cell 0 f32[2]) output %0
    write p1 = %0
    return %1
  })");
}

// What SameProgram says of the known program after `change`; "" if it is the same.
template <typename F>
std::string After(const F& change, bool outcomes = true) {
  Program now = Known();
  change(&now);
  bool same_outcomes = false;
  const Status status = SameProgram(Known(), now, &same_outcomes);
  EXPECT_TRUE(!status.ok() || same_outcomes == outcomes);
  return std::string(status.message());
}

// After a change to the record of call i.
template <typename F>
std::string AfterCall(size_t i, const F& change) {
  return After([&](Program* now) {
    CallRecord record = *now->calls[i].record;
    change(&record);
    now->calls[i].record = std::make_shared<const CallRecord>(std::move(record));
  });
}

bool Says(const std::string& message, std::string_view part) {
  return message.find(part) != std::string::npos;
}

TEST(SameProgram, AlikeInAllParts) {
  EXPECT_EQ(After([](Program*) {}), "");
}

TEST(SameProgram, WhereTheUserWroteItDoesNotCount) {
  EXPECT_EQ(AfterCall(0, [](CallRecord* call) { call->origin = "elsewhere.py:3"; }), "");
  EXPECT_EQ(After([](Program* now) { now->marks[0].origin = "elsewhere.py:3"; }), "");
}

TEST(SameProgram, AnotherOutcomeEndsTheComparison) {
  EXPECT_EQ(After(
                [](Program* now) {
                  now->marks[0].outcome = 2;
                  now->marks.pop_back();
                  now->calls.pop_back();
                  now->outputs.clear();
                },
                /*outcomes=*/false),
            "");
}

TEST(SameProgram, AnotherCall) {
  EXPECT_EQ(AfterCall(0, [](CallRecord* call) { call->op = uint32_t(OpId::k_subtract); }),
            "'add' (f.py:1) became 'subtract' (f.py:1)");
  EXPECT_EQ(AfterCall(0, [](CallRecord* call) { call->attrs = {5}; }),
            "'add' (f.py:1): attributes [] -> [5]");
  EXPECT_EQ(After([](Program* now) { now->calls[0].operands = {-1}; }),
            "'add' (f.py:1): 2 operands -> 1");
}

TEST(SameProgram, ACompositeIsNoOpOfItsNumber) {
  EXPECT_NE(AfterCall(0, [](CallRecord* call) { call->composite = true; }), "");
  bool same_outcomes = false;
  Program composite = Known();
  CallRecord record = *composite.calls[0].record;
  record.composite = true;
  composite.calls[0].record = std::make_shared<const CallRecord>(record);
  EXPECT_TRUE(SameProgram(composite, composite, &same_outcomes).ok());
}

TEST(SameProgram, MoreCallsOrFewer) {
  EXPECT_EQ(After([](Program* now) {
              now->calls.insert(now->calls.begin(), now->calls[0]);
              for (Mark& mark : now->marks) ++mark.at;
            }),
            "'add' (f.py:1) was called, which was not there before");
  EXPECT_EQ(After([](Program* now) {
              now->calls.pop_back();
              --now->marks[1].at;
            }),
            "'negative' was not called, as it was before");
}

TEST(SameProgram, MoreMarksOrFewer) {
  EXPECT_EQ(After([](Program* now) { now->marks.pop_back(); }),
            "'negative' was not called, as it was before");
  EXPECT_EQ(After([](Program* now) {
              Mark& read = now->marks.emplace_back();
              read.kind = Mark::Kind::kNumber;
              read.at = 2;
              read.read = -1;
            }),
            "a read from data was called, which was not there before");
}

TEST(SameProgram, AnOperandFromElsewhere) {
  EXPECT_EQ(After([](Program* now) { now->calls[0].operands[0] = -2; }),
            "'add' (f.py:1) read argument tensor 0 -> argument tensor 1");
  EXPECT_EQ(After([](Program* now) { now->calls[1].operands[0] = -1; }),
            "'negative' read result 0 of the call -> argument tensor 0");
  EXPECT_EQ(After([](Program* now) { now->calls[1].operands[0] = -3; }),
            "'negative' read result 0 of the call -> i32[2] [3, 4]");
}

TEST(SameProgram, ConstantsByTheirElements) {
  const auto with = [](const Tensor& t) {
    return After([&](Program* now) { now->constants = {t.value_ref()}; });
  };
  EXPECT_EQ(with(Ints({3, 4})), "");
  EXPECT_NE(with(Ints({3, 5})), "");
  EXPECT_NE(with(Ints({3, 4, 4})), "") << "another layout";
  EXPECT_NE(with(Floats({3, 4})), "") << "another dtype";
  EXPECT_EQ(After([](Program* now) {
              now->constants.push_back(Ints({3, 4}).value_ref());
              now->calls[0].operands[1] = -4;
            }),
            "")
      << "which of equal ones does not count";
}

TEST(SameProgram, WhatIsReadFromData) {
  const auto with = [](const auto& change) {
    return After([&](Program* now) { change(&now->marks[0]); });
  };
  EXPECT_EQ(with([](Mark* m) { m->read = -1; }),
            "a number that is read (f.py:2) is of argument tensor 1 -> argument tensor 0");
  EXPECT_EQ(with([](Mark* m) { m->kind = Mark::Kind::kCut; }),
            "a number that is read became the end of a segment (f.py:2)");
  EXPECT_EQ(with([](Mark* m) { m->kind = Mark::Kind::kIndexCheck; }),
            "a number that is read became a check of indices (f.py:2)");
  EXPECT_EQ(with([](Mark* m) {
              m->range = {0, 5};
            }),
            "indices (f.py:2) have to lie in [0, 0) for '' -> in [0, 5) for ''");
  EXPECT_NE(with([](Mark* m) { m->check = "put"; }), "");
  EXPECT_EQ(with([](Mark* m) { m->precision = Precision::kBlas; }),
            "the precision changed: default -> blas");
}

TEST(SameProgram, TheResult) {
  const std::string_view changed = "the result, or which tensors are written, changed";
  EXPECT_EQ(After([](Program* now) { now->outputs[0].value = 0; }), changed);
  EXPECT_EQ(After([](Program* now) { now->outputs[0].node = {Link::Kind::kMade, 0}; }), changed);
  EXPECT_EQ(After([](Program* now) { now->outputs.push_back({}); }), changed);
  EXPECT_EQ(After([](Program* now) { now->writes.clear(); }), changed);
}

TEST(SameProgram, WhatIsWritten) {
  EXPECT_TRUE(Says(After([](Program* now) { now->writes[0].cell = 0; }),
                   "what is written to argument tensor 0 changed"));
  EXPECT_TRUE(Says(After([](Program* now) { now->writes[0].content.value = 1; }),
                   "to argument tensor 1 changed: result 0 of the call -> result 1"));
}

TEST(SameProgram, WhatIsLeftOnTheTape) {
  const auto with = [](const auto& change) {
    return After([&](Program* now) { change(&now->tape[0]); });
  };
  EXPECT_NE(with([](TapeRecord* n) { n->op = OpId::k_multiply; }), "");
  EXPECT_NE(with([](TapeRecord* n) { n->attrs = {1}; }), "");
  EXPECT_NE(with([](TapeRecord* n) { n->variable = true; }), "");
  EXPECT_NE(with([](TapeRecord* n) { n->spent = true; }), "");
  EXPECT_NE(with([](TapeRecord* n) { n->saved_output = 1; }), "");
  EXPECT_NE(with([](TapeRecord* n) { n->saved[0].value = -1; }), "");
  EXPECT_NE(with([](TapeRecord* n) { n->edges[0].node.index = 1; }), "");
  EXPECT_NE(with([](TapeRecord* n) { n->edges[0].dtype = DType::kI32; }), "");
  EXPECT_NE(with([](TapeRecord* n) { n->edges[0].shape = Dense({3}); }), "");
  EXPECT_NE(with([](TapeRecord* n) { n->edges.clear(); }), "");
}

}  // namespace
}  // namespace frazil::tracer
