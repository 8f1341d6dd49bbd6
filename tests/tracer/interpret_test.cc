// Programs run op by op.
#include "tracer/interpret.h"

#include "absl/algorithm/container.h"
#include "gtest/gtest.h"
#include "tests/tracer/programs.h"

namespace frazil::tracer {
namespace {

class InterpretTest : public testing::Test {
 protected:
  using Elements = std::vector<std::vector<int32_t>>;

  // What it makes of [1, 2] and [10, 20]; empty where nothing was wanted.
  Elements Run(const Program& program, std::vector<bool> wanted, std::vector<ValueRef> there = {}) {
    there.resize(wanted.size());
    Elements made(wanted.size());
    const auto known = [&](ValueId r) { return there[r]; };
    const auto take = [&](ValueId r, const Tensor& t) {
      made[r] = ElementsOf(t);
      return absl::OkStatus();
    };
    const Tensor arguments[] = {Ints({1, 2}), Ints({10, 20})};
    const Status status = Interpret(program, arguments, {std::move(wanted), known, take});
    EXPECT_TRUE(status.ok()) << status;
    return made;
  }

  Fakes fakes_;
};

Program Chain() {
  return Parsed(R"(program (i32[2], i32[2]) {
    constant c0 = i32[2] "0300000004000000"
    %0 = add p0, p1 : i32[2]
    %1 = multiply %0, c0 : i32[2]
    %2 = negative %0 : i32[2]
    return
  })");
}

TEST_F(InterpretTest, WhatIsWantedIsMade) {
  EXPECT_EQ(Run(Chain(), {true, true, true}), Elements({{11, 22}, {33, 88}, {-11, -22}}));
}

TEST_F(InterpretTest, WhatNobodyNeedsIsNotRun) {
  EXPECT_EQ(Run(Chain(), {false, false, true}), Elements({{}, {}, {-11, -22}}));
  EXPECT_EQ(fakes_.door.calls, 2);
  EXPECT_EQ(Run(Chain(), {false, false, false}), Elements({{}, {}, {}}));
  EXPECT_EQ(fakes_.door.calls, 2);
}

TEST_F(InterpretTest, WhatIsThereIsNotMadeAgain) {
  EXPECT_EQ(Run(Chain(), {false, true, false}, {Ints({1, 1}).value_ref()}),
            Elements({{}, {3, 4}, {}}));
  EXPECT_EQ(fakes_.door.calls, 1);
}

TEST_F(InterpretTest, BodiesRunOverTheOperandsOfTheirCall) {
  const Program program = Parsed(R"(program (i32[2], i32[2]) {
    %0, %1 = call silu p1, p0 : i32[2], i32[2] = program (i32[2], i32[2]) {
      constant c0 = scalar i32 2
      %0 = subtract p0, p1 : i32[2]
      %1 = multiply %0, c0 : i32[2]
      return %1, %0
    }
    %2 = negative %0 : i32[2]
    return
  })");
  EXPECT_EQ(Run(program, {true, true, true}), Elements({{18, 36}, {9, 18}, {-18, -36}}));
}

TEST_F(InterpretTest, AnErrorEndsIt) {
  const Program program = Parsed(R"(program (i32[2], i32[3]) {
    %0 = add p0, p1 : i32[2]
    return
  })");
  const Tensor arguments[] = {Ints({1, 2}), Ints({1, 2, 3})};
  const auto known = [](ValueId) { return ValueRef(); };
  const auto take = [](ValueId, const Tensor&) { return absl::OkStatus(); };
  EXPECT_FALSE(Interpret(program, arguments, {{true}, known, take}).ok());
}

// Runs ops and looks how many of their results somebody else still holds.
class WatchingDoor final : public Door {
 public:
  explicit WatchingDoor(Door* inner) : inner_(inner) {}
  Tensor Call(const OpCall& call) override {
    const auto held = absl::c_count_if(made_, [](const ValueRef& v) { return v->holders() > 1; });
    most = std::max(most, static_cast<int64_t>(held));
    Tensor out = inner_->Call(call);
    made_.push_back(out.value_ref());
    return out;
  }
  int64_t most = 0;

 private:
  Door* const inner_;
  std::vector<ValueRef> made_;
};

TEST_F(InterpretTest, ResultsGoBehindTheirLastReader) {
  WatchingDoor door(&fakes_.door);
  GlobalRuntime().eager = &door;
  Run(Parsed(R"(program (i32[2], i32[2]) {
    %0 = negative p0 : i32[2]
    %1 = negative %0 : i32[2]
    %2 = negative %1 : i32[2]
    %3 = negative %2 : i32[2]
    return
  })"),
      {false, false, false, true});
  GlobalRuntime().eager = &fakes_.door;
  EXPECT_EQ(door.most, 1);
}

}  // namespace
}  // namespace frazil::tracer
