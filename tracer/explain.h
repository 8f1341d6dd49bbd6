// The sentences of explain() and FRAZIL_LOG=guard. Called by the session when something is worth
// saying. Invariant: every sentence names the user's file and line and what changed, old and new.
#pragma once

#include <string>

#include "tracer/recording.h"

namespace frazil::tracer {

// The user's file and line now, or "".
std::string Here();

// Why a call fits no recorded child of `at`.
std::string ExplainMismatch(const Node& at, bool composite, uint32_t op,
                            absl::Span<const Tensor* const> inputs, AttrSpan attrs);
std::string ExplainPlan(const Node& end, int kernels, int compiled);

}  // namespace frazil::tracer
