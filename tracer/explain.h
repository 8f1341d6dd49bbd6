// What fills the sentences of explain() and FRAZIL_LOG=guard. Called by the session when something
// is worth saying. Invariant: old and new are both named.
#pragma once

#include <string>

#include "tracer/recording.h"

namespace frazil::tracer {

// The user's file and line now, or "".
std::string Here();

// The call that fits nothing, as the session sees it: `slots` and `values` are what the segment has
// met and made so far.
struct Departure {
  bool composite;
  uint32_t op;
  absl::Span<const Tensor* const> inputs;
  AttrSpan attrs;
  absl::Span<const ValueRef> slots, values;
};
// Why it fits no recorded child of `at`.
Explanation ExplainDeparture(const Node& at, const Departure& call);

// {calls} and {origin} of a segment that ends here, and more.
Explanation ExplainSegment(Cause cause, const Node& end, std::vector<Field> more = {});
// {kernels} and {compiled}.
std::vector<Field> PlanFields(const SegmentPlan& plan);
// "result of 'exp' (train.py:12)", for {old} and {new} of Cause::kWanted.
std::string DescribeLive(absl::Span<const Node* const> path, const LiveMask& live);

// Of the op or composite.
std::string NameOf(bool composite, uint32_t op);
// "f32[3] [1, 2, 3]": at most the first four elements.
std::string DescribeData(const Value& value);

}  // namespace frazil::tracer
