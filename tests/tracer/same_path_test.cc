// Whether two calls did the same, and the sentence that says how they differ.
#include "gtest/gtest.h"
#include "tests/tracer/paths.h"

namespace frazil::tracer {
namespace {

// Cell 0 plus constant 0, which is written to cell 1 and returned; then negated if a number is 1.
PathRecord Known() {
  PathRecord path =
      MadePath({Reading(MadeSegment({MadeCall(OpId::k_add, {-1, -2}, 2)}, {Cell(0), Constant(0)}),
                        Cell(1), 1),
                MadeSegment({MadeCall(OpId::k_negative, {-1}, 1)}, {MadeBy(0)})},
               {MadeBy(1)});
  path.constants = {Ints({3, 4}).value_ref()};
  path.writes = {{1, {MadeBy(0), {}}}};
  path.shape = {1, 2};
  TapeRecord& node = path.tape.emplace_back();
  node.op = OpId::k_add;
  node.saved_output = MadeBy(0);
  node.edges.push_back({{Link::Kind::kCell, 0}, DType::kF32, Pair()});
  return path;
}

// What SamePath says of the known path after `change`; "" if it is the same.
template <typename F>
std::string After(const F& change, bool outcomes = true) {
  PathRecord now = Known();
  change(&now);
  bool same_outcomes = false;
  const Status status = SamePath(Known(), now, &same_outcomes);
  EXPECT_TRUE(!status.ok() || same_outcomes == outcomes);
  return std::string(status.message());
}

// With another call in its place.
void Replace(SegmentRecord* segment, CallRecord call) {
  segment->content = std::make_shared<const std::vector<CallRecord>>(1, std::move(call));
}

bool Says(const std::string& message, std::string_view part) {
  return message.find(part) != std::string::npos;
}

TEST(SamePath, AlikeInAllParts) {
  EXPECT_EQ(After([](PathRecord*) {}), "");
}

TEST(SamePath, WhereTheUserWroteItDoesNotCount) {
  EXPECT_EQ(After([](PathRecord* now) {
              CallRecord call = MadeCall(OpId::k_add, {-1, -2}, 2);
              call.origin = "elsewhere.py:3";
              Replace(&now->segments[0], call);
              now->segments[0].origin = "elsewhere.py:3";
            }),
            "");
}

TEST(SamePath, AnotherOutcomeEndsTheComparison) {
  EXPECT_EQ(After(
                [](PathRecord* now) {
                  now->segments[0].outcome = 2;
                  now->segments.pop_back();
                  now->outputs.clear();
                },
                /*outcomes=*/false),
            "");
}

TEST(SamePath, AnotherCall) {
  const auto with = [](CallRecord call) {
    return After([&](PathRecord* now) { Replace(&now->segments[0], call); });
  };
  EXPECT_TRUE(Says(with(MadeCall(OpId::k_subtract, {-1, -2}, 2)), "'add' became 'subtract'"));
  EXPECT_NE(with(MadeCall(OpId::k_add, {-1, -2}, 2, {5})), "") << "attributes";
  EXPECT_NE(with(MadeCall(OpId::k_add, {-1}, 1)), "") << "as many operands";
  EXPECT_NE(with(MadeCall(OpId::k_add, {-1, 0}, 1)), "") << "a result for a slot";
}

TEST(SamePath, ACompositeIsNoOpOfItsNumber) {
  CallRecord call = MadeCall(OpId(), {-1}, 1);
  const PathRecord op = MadePath({MadeSegment({call}, {Cell(0)})}, {});
  call.composite = true;
  const PathRecord composite = MadePath({MadeSegment({call}, {Cell(0)})}, {});
  bool same_outcomes = false;
  EXPECT_TRUE(SamePath(op, op, &same_outcomes).ok());
  EXPECT_TRUE(SamePath(composite, composite, &same_outcomes).ok());
  EXPECT_FALSE(SamePath(op, composite, &same_outcomes).ok());
}

TEST(SamePath, MoreCallsOrFewer) {
  EXPECT_TRUE(Says(After([](PathRecord* now) {
                     now->segments[0].content = std::make_shared<const std::vector<CallRecord>>(
                         2, MadeCall(OpId::k_add, {-1, -2}, 2));
                   }),
                   "'add' was called, which was not there before"));
  EXPECT_TRUE(Says(After([](PathRecord* now) { now->segments[1].content = {}; }),
                   "'negative' was not called, as it was before"));
}

TEST(SamePath, MoreSegmentsOrFewer) {
  EXPECT_TRUE(Says(After([](PathRecord* now) { now->segments.pop_back(); }),
                   "'negative' was not called, as it was before"));
  EXPECT_TRUE(Says(After([](PathRecord* now) {
                     SegmentRecord& read = now->segments.emplace_back();
                     read.end = SegmentRecord::End::kNumber;
                     read.read = Cell(0);
                   }),
                   "a read from data was called, which was not there before"));
}

TEST(SamePath, AnOperandFromElsewhere) {
  EXPECT_TRUE(Says(After([](PathRecord* now) { now->segments[0].slots[0] = Cell(1); }),
                   "'add' read argument tensor 0 -> argument tensor 1"));
  EXPECT_TRUE(Says(After([](PathRecord* now) { now->segments[1].slots[0] = Cell(0); }),
                   "'negative' read result 0 of the call -> argument tensor 0"));
}

TEST(SamePath, SeveralSlotsOfOneSourceAreAsGoodAsOne) {
  EXPECT_EQ(After([](PathRecord* now) {
              now->segments[0].slots = {Constant(0), Cell(0), Constant(0)};
              Replace(&now->segments[0], MadeCall(OpId::k_add, {-2, -3}, 2));
            }),
            "");
}

TEST(SamePath, ConstantsByTheirElements) {
  const auto with = [](const Tensor& t) {
    return After([&](PathRecord* now) { now->constants = {t.value_ref()}; });
  };
  EXPECT_EQ(with(Ints({3, 4})), "");
  EXPECT_NE(with(Ints({3, 5})), "");
  EXPECT_NE(with(Ints({3, 4, 4})), "") << "another layout";
  EXPECT_NE(with(Floats({3, 4})), "") << "another dtype";
}

TEST(SamePath, WhatIsReadFromData) {
  const auto with = [](const auto& change) {
    return After([&](PathRecord* now) { change(&now->segments[0]); });
  };
  const std::string_view changed = "what is read from data changed";
  EXPECT_TRUE(Says(with([](SegmentRecord* s) { s->read = Cell(0); }), changed));
  EXPECT_TRUE(
      Says(with([](SegmentRecord* s) { s->end = SegmentRecord::End::kContinue; }), changed));
  EXPECT_TRUE(Says(with([](SegmentRecord* s) { s->range = {0, 5}; }), changed));
  EXPECT_TRUE(Says(with([](SegmentRecord* s) { s->check = "put"; }), changed));
  EXPECT_TRUE(Says(with([](SegmentRecord* s) { s->precision = Precision::kBlas; }), changed));
}

TEST(SamePath, TheResult) {
  const std::string_view changed = "the result, or which tensors are written, changed";
  EXPECT_TRUE(Says(After([](PathRecord* now) { now->outputs[0].value = MadeBy(0); }), changed));
  EXPECT_TRUE(Says(After([](PathRecord* now) {
                     now->outputs[0].node = {Link::Kind::kMade, 0};
                   }),
                   changed));
  EXPECT_TRUE(Says(After([](PathRecord* now) { now->outputs.push_back({}); }), changed));
  EXPECT_TRUE(Says(After([](PathRecord* now) { now->shape = {1}; }), changed));
  EXPECT_TRUE(Says(After([](PathRecord* now) { now->writes.clear(); }), changed));
}

TEST(SamePath, WhatIsWritten) {
  EXPECT_TRUE(Says(After([](PathRecord* now) { now->writes[0].first = 0; }),
                   "what is written to argument tensor 0 changed"));
  EXPECT_TRUE(Says(After([](PathRecord* now) { now->writes[0].second.value = MadeBy(1); }),
                   "to argument tensor 1 changed: result 0 of the call -> result 1"));
}

TEST(SamePath, WhatIsLeftOnTheTape) {
  const auto with = [](const auto& change) {
    return After([&](PathRecord* now) { change(&now->tape[0]); });
  };
  EXPECT_NE(with([](TapeRecord* n) { n->op = OpId::k_multiply; }), "");
  EXPECT_NE(with([](TapeRecord* n) { n->attrs = {1}; }), "");
  EXPECT_NE(with([](TapeRecord* n) { n->variable = true; }), "");
  EXPECT_NE(with([](TapeRecord* n) { n->spent = true; }), "");
  EXPECT_NE(with([](TapeRecord* n) { n->saved_output = MadeBy(1); }), "");
  EXPECT_NE(with([](TapeRecord* n) { n->saved[0].value = Cell(0); }), "");
  EXPECT_NE(with([](TapeRecord* n) { n->edges[0].node.index = 1; }), "");
  EXPECT_NE(with([](TapeRecord* n) { n->edges[0].dtype = DType::kI32; }), "");
  EXPECT_NE(with([](TapeRecord* n) { n->edges[0].shape = Dense({3}); }), "");
  EXPECT_NE(with([](TapeRecord* n) { n->edges.clear(); }), "");
}

}  // namespace
}  // namespace frazil::tracer
