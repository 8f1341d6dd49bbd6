// Small kernels of a plan that do not wait for each other (the update of each of a hundred
// parameters) as one step: their calls are a list that threads share out. Put together by the
// planner, run by plans. Invariant: no entry writes what another touches.
#pragma once

#include "absl/functional/function_ref.h"
#include "jit/run/step_group.h"
#include "jit/run/touch.h"

namespace frazil::jit {

// Puts runs of neighbouring steps into lists. `touches(i)` is what step i touches. `now[i]` becomes
// the new number of step i.
std::vector<Step> MakeLists(std::vector<Step> steps,
                            absl::FunctionRef<std::vector<Touch>(size_t)> touches,
                            std::vector<int32_t>* now);

void RunList(const ListStep& list, char* const* slots, absl::Span<Value* const> inputs);

}  // namespace frazil::jit
