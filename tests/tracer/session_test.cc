// Sessions: what is recorded, what is deferred, what a plan is asked for, and when a call is no
// longer replayed. The ops are those of a fake door.
#include "tracer/session.h"

#include <functional>

#include "gtest/gtest.h"
#include "tests/tracer/fakes.h"

namespace frazil::tracer {
namespace {

Tensor Negate(const Tensor& x) { return Apply(OpId::k_negative, {&x}); }
Tensor Add(const Tensor& x, const Tensor& y) { return Apply(OpId::k_add, {&x, &y}); }

class SessionTest : public testing::Test {
 protected:
  using Body = std::function<Tensor(const Tensor&)>;

  // One traced call; the elements of what it returns.
  std::vector<int32_t> Run(const Body& body, const Tensor& x = Ints({1, 2})) {
    Call call(&trace_);
    const Tensor result = body(x);
    EXPECT_TRUE(call.Finish().ok());
    return ElementsOf(result);
  }
  const FakeCompiler::Request& Asked(size_t i) const { return fakes_.compiler.requests.at(i); }
  size_t asked() const { return fakes_.compiler.requests.size(); }
  int64_t Count(Cause cause) const { return trace_.stats().causes[static_cast<int>(cause)]; }

  Fakes fakes_;
  Trace trace_{"f"};
};

using Elements = std::vector<int32_t>;

TEST_F(SessionTest, TheFirstCallIsRecordedTheSecondPlannedTheThirdRuns) {
  const Body body = [](const Tensor& x) { return Negate(Add(x, x)); };
  EXPECT_EQ(Run(body), Elements({-2, -4}));
  EXPECT_EQ(fakes_.door.calls, 2);
  EXPECT_EQ(asked(), 0u);
  EXPECT_EQ(Run(body), Elements({-2, -4}));
  EXPECT_EQ(asked(), 1u);
  EXPECT_EQ(Run(body, Ints({5, 6})), Elements({-10, -12}));
  EXPECT_EQ(asked(), 1u);
  EXPECT_EQ(fakes_.door.calls, 2) << "no op by itself any more";
  EXPECT_EQ(fakes_.compiler.runs, 2);
  EXPECT_EQ(trace_.stats().recorded, 1);
  EXPECT_EQ(trace_.stats().replayed, 2);
}

TEST_F(SessionTest, OnlyWhatSomebodyHoldsIsWanted) {
  std::vector<Tensor> held;
  const Body body = [&](const Tensor& x) {
    const Tensor a = Negate(x), b = Add(a, x), c = Add(b, x);
    held.push_back(b);
    return Negate(c);
  };
  Run(body), Run(body);
  EXPECT_EQ(Asked(0).live, LiveMask({0b1010}));
  EXPECT_EQ(Asked(0).calls, 4u);
  EXPECT_TRUE(Asked(0).overwritable.all);
  EXPECT_EQ(ElementsOf(held[1]), Elements({0, 0}));
}

TEST_F(SessionTest, OtherResultsAreAnotherPlanOfTheSameSegment) {
  Tensor held;
  const auto body = [&](bool hold) {
    return [&, hold](const Tensor& x) {
      const Tensor a = Negate(x);
      held = hold ? a : Tensor();
      return Add(a, x);
    };
  };
  for (const bool hold : {false, false, true, false, true}) Run(body(hold));
  EXPECT_EQ(asked(), 2u);
  EXPECT_EQ(trace_.stats().segments, 1);
  EXPECT_EQ(Count(Cause::kWanted), 1);
}

TEST_F(SessionTest, AReadEndsASegment) {
  const Body body = [](const Tensor& x) {
    const Tensor a = Negate(x);
    EXPECT_TRUE(Read(*a.value(), Reading::kNumber).ok());
    return Add(a, x);
  };
  Run(body);
  EXPECT_EQ(Run(body), Elements({0, 0}));
  ASSERT_EQ(asked(), 2u);
  EXPECT_EQ(Asked(0).calls, 1u);
  EXPECT_EQ(Asked(1).calls, 1u);
}

TEST_F(SessionTest, AReadOfWhatWasThereBeforeDoesNot) {
  const Body body = [](const Tensor& x) {
    const Tensor a = Negate(x);
    EXPECT_TRUE(Read(*x.value(), Reading::kNumber).ok());
    return Add(a, x);
  };
  Run(body), Run(body);
  ASSERT_EQ(asked(), 1u);
  EXPECT_EQ(Asked(0).calls, 2u);
}

TEST_F(SessionTest, IterationsOfALoopThatReadsAreOneSegment) {
  const Body body = [](const Tensor& x) {
    Tensor y = x;
    for (int i = 0; i < 5; ++i) {
      y = Add(y, x);
      EXPECT_TRUE(Read(*y.value(), Reading::kNumber).ok());
    }
    return y;
  };
  Run(body);
  EXPECT_EQ(Run(body), Elements({6, 12}));
  EXPECT_EQ(trace_.stats().segments, 1) << "also the first, where two slots hold one value";
}

TEST_F(SessionTest, AnotherCallLeavesTheRecordingAndIsRecorded) {
  const auto body = [](bool other) {
    return [other](const Tensor& x) {
      const Tensor a = Negate(x);
      return other ? Add(a, a) : Add(a, x);
    };
  };
  Run(body(false)), Run(body(false));
  const int before = fakes_.door.calls;
  EXPECT_EQ(Run(body(true)), Elements({-2, -4}));
  EXPECT_EQ(fakes_.door.calls, before + 2) << "what was deferred and what is new, one by one";
  EXPECT_EQ(trace_.stats().fallbacks, 1);
  EXPECT_EQ(Run(body(true)), Elements({-2, -4}));
  EXPECT_EQ(Run(body(false)), Elements({0, 0}));
  EXPECT_EQ(trace_.stats().fallbacks, 1) << "both are known";
  EXPECT_EQ(fakes_.door.calls, before + 2);
}

TEST_F(SessionTest, OperandsAreToldByLayoutDtypeAndIdentity) {
  const Body twice = [](const Tensor& x) { return Add(x, x); };
  Run(twice);
  Run(twice, Ints({1, 2, 3}));
  EXPECT_EQ(trace_.stats().recorded, 2) << "another shape";
  Run(twice, Int(1));
  EXPECT_EQ(trace_.stats().recorded, 3);
  const Tensor other = Ints({3, 4});
  const Body with = [&](const Tensor& x) { return Add(x, other); };
  EXPECT_EQ(Run(with), Elements({4, 6}));
  EXPECT_EQ(trace_.stats().recorded, 4) << "two operands in place of one";
  EXPECT_EQ(Run(with, Ints({5, 6})), Elements({8, 10}));
  EXPECT_EQ(trace_.stats().recorded, 4) << "other elements";
}

TEST_F(SessionTest, NothingIsRunWhereNothingIsHeld) {
  const Body body = [](const Tensor& x) {
    Negate(x);
    return x;
  };
  for (int i = 0; i < 3; ++i) Run(body);
  EXPECT_EQ(fakes_.door.calls, 1) << "of the recording";
  EXPECT_EQ(asked(), 0u);
}

TEST_F(SessionTest, WhatCannotBeCompiledRunsOpByOp) {
  const Body body = [](const Tensor& x) { return Negate(Add(x, x)); };
  Run(body);
  fakes_.compiler.refuses = true;
  for (int i = 0; i < 4; ++i) EXPECT_EQ(Run(body), Elements({-2, -4}));
  EXPECT_EQ(asked(), 2u) << "then it waits for one call, and for two";
  EXPECT_EQ(fakes_.door.calls, 10);
  fakes_.compiler.refuses = false;
  for (int i = 0; i < 2; ++i) EXPECT_EQ(Run(body), Elements({-2, -4}));
  EXPECT_EQ(asked(), 3u);
  EXPECT_EQ(fakes_.compiler.runs, 1);
}

TEST_F(SessionTest, ALongLoopIsPiecesOfOnePath) {
  const Body body = [](const Tensor& x) {
    Tensor y = x;
    for (int i = 0; i < 3 * 700; ++i) y = i % 3 == 2 ? Negate(y) : Add(y, x);
    return y;
  };
  const Elements want = Run(body);
  EXPECT_EQ(Run(body), want);
  EXPECT_EQ(Run(body), want);
  ASSERT_EQ(asked(), 2u);
  EXPECT_EQ(Asked(0).calls, 2100u - 2 * 1026) << "the rest, which the first call found recorded";
  EXPECT_EQ(Asked(1).calls, 1026u) << "behind a whole number of bodies, for both pieces";
  EXPECT_EQ(trace_.stats().recorded, 1);
}

TEST_F(SessionTest, ANestedCallIsAPartOfTheOuterOne) {
  Trace inner("inner");
  const Body body = [&](const Tensor& x) {
    Call call(&inner);
    const Tensor y = Negate(Add(x, x));
    EXPECT_TRUE(call.Finish().ok());
    return Negate(y);
  };
  Run(body);
  EXPECT_EQ(Run(body), Elements({2, 4}));
  ASSERT_EQ(asked(), 1u);
  EXPECT_EQ(Asked(0).calls, 3u);
  EXPECT_EQ(inner.stats().calls, 2);
  EXPECT_EQ(inner.stats().recorded, 0);
}

TEST_F(SessionTest, ThreadsAndCallsAreToldApart) {
  // A value that a call left deferred is computed before the call ends.
  Tensor kept;
  const Body body = [&](const Tensor& x) { return kept = Negate(x); };
  Run(body), Run(body);
  EXPECT_TRUE(kept.value()->ready());
  const Tensor before = kept;
  Run(body, Ints({8, 9}));
  EXPECT_EQ(ElementsOf(before), Elements({-1, -2}));
  EXPECT_EQ(ElementsOf(kept), Elements({-8, -9}));
}

}  // namespace
}  // namespace frazil::tracer
