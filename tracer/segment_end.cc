#include "tracer/segment_end.h"

#include <algorithm>
#include <bit>
#include <vector>

#include "absl/types/span.h"
#include "core/op.h"

namespace frazil::tracer {
namespace {

using Path = absl::Span<const Node* const>;

// For each number of calls at the end, how many calls before those are like them, call by call, and
// the ends alike (the Z function of the calls, read backwards).
std::vector<int> LikeTheEnd(absl::Span<const uint64_t> calls) {
  const int n = static_cast<int>(calls.size());
  const auto at = [&](int i) { return calls[n - 1 - i]; };
  std::vector<int> like(n, 0);
  for (int i = 1, begin = 0, end = 0; i < n; ++i) {
    if (i < end) like[i] = std::min(end - i, like[i - begin]);
    while (i + like[i] < n && at(like[i]) == at(i + like[i])) ++like[i];
    if (i + like[i] > end) {
      begin = i;
      end = i + like[i];
    }
  }
  return like;
}

// Of the first calls of the path: as many as are whole kLoopSegments, and then twice as many again
// and again, so that the answer stays the same while a body goes on.
int LookedAt(int depth) {
  if (depth < kLongSegment) return depth / kLoopSegment * kLoopSegment;
  return static_cast<int>(std::bit_floor(static_cast<unsigned>(depth)));
}

std::vector<const Node*> FirstOf(const Node& last, int length) {
  std::vector<const Node*> path(static_cast<size_t>(length));
  for (const Node* n = &last; n->parent; n = n->parent) {
    if (n->depth <= length) path[n->depth - 1] = n;
  }
  return path;
}

// Whether the last body takes something that the one before it did not take: an array met there
// first, or a result from long before that is another one.
bool TakesItsOwn(Path path, const Bodies& bodies) {
  const Path body = path.last(static_cast<size_t>(bodies.length));
  const Path before = path.subspan(path.size() - 2 * body.size(), body.size());
  const size_t recent =
      std::min<size_t>(path.size() - bodies.first, size_t{kFewBodies} * body.size());
  const int known = path[path.size() - recent]->first_result;
  for (size_t i = 0; i < body.size(); ++i) {
    const Node& call = *body[i];
    for (const Parameter& fresh : call.slots) {
      if (!fresh.immediate) return true;
    }
    for (size_t k = 0; k < call.operands.size(); ++k) {
      const int32_t ref = call.operands[k];
      if (ref < known && ref >= -call.first_slot && ref != before[i]->operands[k]) return true;
    }
  }
  return false;
}

// The bodies that the first calls of the path are cut by; length 0: by none.
Bodies LoopOf(Path path) {
  std::vector<uint64_t> calls;
  for (const Node* n : path) calls.push_back(n->hash);
  const Bodies bodies = FindBodies(calls);
  if (bodies.length == 0) return bodies;
  const int length = static_cast<int>(path.size()), repeated = length - bodies.first;
  if (repeated >= kManyBodies * bodies.length) return bodies;
  const bool enough = length >= kLongSegment || repeated >= kFewBodies * bodies.length;
  return enough && !TakesItsOwn(path, bodies) ? bodies : Bodies{0, 0};
}

Bodies BodiesOf(const Node& last) {
  const int length = LookedAt(last.depth);
  if (last.depth > length &&
      last.parent->end.load(std::memory_order_acquire) != Node::End::kUnknown)
    return last.parent->bodies.load(std::memory_order_relaxed);
  return LoopOf(FirstOf(last, length));
}

// Whether the arrays that the path takes are too many to wait for a longer segment.
bool HoldsMuch(const Node& last) {
  if (last.depth < kLongSegment || last.depth % kLoopSegment != 0) return false;
  int64_t held = 0;
  for (const Node* n = &last; n->parent; n = n->parent) {
    for (const Parameter& p : n->slots) held += p.layout->size * SizeOf(p.dtype);
  }
  return held > kMostHeld;
}

bool Decide(const Node& last, const Bodies& bodies) {
  if (bodies.length > 0) return (last.depth - bodies.first) % bodies.length == 0;
  return last.depth >= kMaxSegment || HoldsMuch(last);
}

}  // namespace

Bodies FindBodies(absl::Span<const uint64_t> calls) {
  const int n = static_cast<int>(calls.size());
  const std::vector<int> like = LikeTheEnd(calls);
  for (int length = 1; length <= n / 2; ++length) {
    const int first = n - length - like[length];
    if (first <= n / 2 && n - first >= 2 * length) return {first, length};
  }
  return {0, 0};
}

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
