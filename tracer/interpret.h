// Runs a program op by op through the thread's door, composites as it does: what the calls would
// have done untraced, holding no more at a time. Called by tracer/session, where the plan of a
// segment does not fit into memory or does not compile. Invariant: a result is let go of behind the
// last call that takes it.
#pragma once

#include <vector>

#include "absl/functional/function_ref.h"
#include "tracer/program.h"

namespace frazil::tracer {

struct Interpreted {
  // Which results are wanted; only what these need is run.
  std::vector<bool> wanted;
  // A result that is there already, or null.
  absl::FunctionRef<ValueRef(ValueId)> known;
  // Told of each result that is wanted.
  absl::FunctionRef<Status(ValueId, const Tensor&)> take;
};

Status Interpret(const Program& program, absl::Span<const Tensor> arguments,
                 const Interpreted& how);

}  // namespace frazil::tracer
