// Steps of a plan that run several times: the body of a loop is a schedule of its own, whose slots
// move with the iterations. Put together by the planner (jit/plan/plan_builder_loop.cc), run by
// plans. Invariant: the effect is that of the iterations' steps one after another; nothing is
// written but the loop's results and its part of the arena.
#pragma once

#include "core/cost.h"
#include "core/str.h"
#include "jit/run/schedule.h"

namespace frazil::jit {

// Where a slot of the body lies, among the slots of the plan.
struct LoopSlot {
  Pointer first{};                 // in the first iteration
  Pointer even{}, odd{};           // behind it
  int64_t step = 0;                // bytes for each iteration, added to `even` and `odd`
  std::vector<Pointer> list = {};  // if any: in each iteration
  // Numbers: the plan's input of each iteration, or one of all.
  std::vector<int32_t> numbers = {};

  bool moves() const {
    return !list.empty() || numbers.size() > 1 || step != 0 || even != first || odd != first;
  }
};

// A result of a loop that ends when it wants to: what the last iteration made is where its slot was,
// and belongs at `to`.
struct LoopResult {
  size_t slot;
  Pointer to;
  int64_t bytes;
};

struct LoopStep final : public Step {
  Status Run(char* const* slots, absl::Span<Value* const> inputs) const override;
  std::vector<Pointer> touches() const override;
  // A loop with a condition may take any time: others go on meanwhile, and it can be interrupted.
  int64_t work() const override { return condition < 0 ? times * body.stats.work : cost::kLong; }
  std::string text() const override {
    return condition < 0 ? StrCat("loop of ", times) : "loop while";
  }
  int64_t bytes() const override;

  int64_t times = 0;
  Schedule body;
  std::vector<LoopSlot> slots;      // inputs of the body, its arena, its results
  int32_t condition = -1;           // a slot: a bool, whether there is another iteration
  std::vector<LoopResult> results;  // with a condition; without, they are made in their places
};

}  // namespace frazil::jit
