// Paths of calls as the tests of scripts write them. Invariant: calls are over i32[2]; a call's
// operands < 0 are slots of its segment, which are first met in order.
#pragma once

#include <utility>
#include <vector>

#include "tests/tracer/fakes.h"
#include "tracer/script.h"

namespace frazil::tracer {

// A segment of `calls`, each with one result, and where its slots come from.
inline SegmentRecord MadeSegment(std::vector<CallRecord> calls, std::vector<Source> slots) {
  SegmentRecord segment;
  segment.results = static_cast<int>(calls.size());
  segment.content = std::make_shared<const std::vector<CallRecord>>(std::move(calls));
  segment.slots = std::move(slots);
  return segment;
}

// Ends with a read of `read`, which was `outcome`.
inline SegmentRecord Reading(SegmentRecord segment, Source read, uint64_t outcome) {
  segment.end = SegmentRecord::End::kNumber;
  segment.read = read;
  segment.outcome = outcome;
  return segment;
}

// Ends with a check that `indices` lie in [0, high).
inline SegmentRecord Checking(SegmentRecord segment, Source indices, int64_t high) {
  segment.end = SegmentRecord::End::kIndexCheck;
  segment.read = indices;
  segment.range = {0, high};
  segment.check = "take";
  segment.of = "elements";
  return segment;
}

inline PathRecord MadePath(std::vector<SegmentRecord> segments, std::vector<Source> outputs) {
  PathRecord path;
  path.segments = std::move(segments);
  for (const Source& s : outputs) path.outputs.push_back({s, {}});
  return path;
}

}  // namespace frazil::tracer
