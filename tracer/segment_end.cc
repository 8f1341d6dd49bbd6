#include "tracer/segment_end.h"

#include <algorithm>
#include <vector>

#include "absl/hash/hash.h"
#include "core/op.h"

namespace frazil::tracer {

Bodies FindBodies(absl::Span<const uint64_t> calls) {
  const int n = static_cast<int>(calls.size());
  for (int length = 1; length <= n / 2; ++length) {
    int first = n - length;
    while (first > 0 && calls[first - 1] == calls[first - 1 + length]) --first;
    if (first <= n / 2 && n - first >= 2 * length) return {first, length};
  }
  return {0, 0};
}

namespace {

// Of the first calls of the path: as many as are whole kLoopSegments, so that the answer stays the
// same while a body goes on.
int LookedAt(const Node& last) {
  return std::min(last.depth / kLoopSegment * kLoopSegment, kMaxSegment);
}

Bodies BodiesOf(const Node& last) {
  const int length = LookedAt(last);
  if (last.depth > length &&
      last.parent->end.load(std::memory_order_acquire) != Node::End::kUnknown)
    return last.parent->bodies.load(std::memory_order_relaxed);
  std::vector<uint64_t> calls(static_cast<size_t>(length));
  for (const Node* n = &last; n->parent; n = n->parent) {
    if (n->depth <= length) calls[n->depth - 1] = n->hash;
  }
  return FindBodies(calls);
}

uint64_t WhatOf(const Node& n) {
  return absl::HashOf(n.composite, n.op, n.operands.size(), n.results[0].dtype,
                      n.results[0].layout->id, AttrsInBody(n));
}

bool RepeatsManyBodies(absl::Span<const uint64_t> calls) {
  const Bodies bodies = FindBodies(calls);
  return bodies.length > 0 &&
         static_cast<int>(calls.size()) - bodies.first >= kManyBodies * bodies.length;
}

// Whether a path that has become as long as others may goes on: while it repeats a body, and for as
// many calls as others have behind that. It is asked again and again.
bool GoesOn(const Node& last) {
  if (last.depth % kLoopSegment != 0) return true;
  if (last.depth >= kMaxSliced) return false;
  std::vector<uint64_t> calls(static_cast<size_t>(std::min(last.depth, 2 * kMaxSegment)));
  const Node* n = &last;
  for (size_t i = calls.size(); i-- > 0; n = n->parent) calls[i] = WhatOf(*n);
  for (size_t end = calls.size(); end >= kMaxSegment; end -= kLoopSegment) {
    if (RepeatsManyBodies({&calls[end - kMaxSegment], kMaxSegment})) return true;
  }
  return false;
}

bool Decide(const Node& last, const Bodies& bodies) {
  const int length = LookedAt(last);
  const bool loop = length == kMaxSegment || length - bodies.first >= kFewBodies * bodies.length;
  if (bodies.length == 0 || !loop) return last.depth >= kMaxSegment && !GoesOn(last);
  return (last.depth - bodies.first) % bodies.length == 0;
}

}  // namespace

const Attrs& AttrsInBody(const CallRecord& call) {
  static const Attrs* const none = new Attrs;
  const bool slice = !call.composite && call.primitive() == OpId::k_slice;
  return slice ? *none : call.attrs;
}

bool EndsSegment(Node* last) {
  if (last->depth < kLoopSegment) return false;
  Node::End end = last->end.load(std::memory_order_relaxed);
  if (end == Node::End::kUnknown) {
    const Bodies bodies = BodiesOf(*last);
    last->bodies.store(bodies, std::memory_order_relaxed);
    end = Decide(*last, bodies) ? Node::End::kYes : Node::End::kNo;
    last->end.store(end, std::memory_order_release);
  }
  return end == Node::End::kYes;
}

}  // namespace frazil::tracer
