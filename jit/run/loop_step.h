// Steps of a plan that run several times: the body of a loop is a schedule of its own, whose slots
// move with the iterations. Put together by the planner (jit/plan/plan_builder_loop.cc), run by
// plans. Invariant: the effect is that of the iterations' steps one after another; nothing is
// written but the loop's results and its part of the arena.
#pragma once

#include "jit/run/steps.h"

namespace frazil::jit {

// Where a slot of the body lies, among the slots of the plan.
struct LoopSlot {
  Pointer first;                   // in the first iteration
  Pointer even, odd;               // behind it
  int64_t step = 0;                // bytes for each iteration, added to `even` and `odd`
  std::vector<Pointer> list = {};  // if any: in each iteration
  // Numbers: the plan's input of each iteration, or one of all.
  std::vector<int32_t> numbers = {};

  bool moves() const { return !list.empty() || numbers.size() > 1 || step != 0 || !Stays(); }

 private:
  bool Stays() const {
    const auto same = [&](const Pointer& p) {
      return p.slot == first.slot && p.offset == first.offset;
    };
    return same(even) && same(odd);
  }
};

struct StepLoop {
  int64_t times = 0;
  Schedule body;
  std::vector<LoopSlot> slots;  // inputs of the body, its arena, its results
};

Status RunLoop(const StepLoop& loop, char* const* slots, absl::Span<Value* const> inputs);

int64_t BytesOf(const StepLoop& loop);

}  // namespace frazil::jit
