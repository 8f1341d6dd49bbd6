#include "tracer/gain.h"

#include <bit>

#include "core/op.h"

namespace frazil::tracer {
namespace {

// From here on fused kernels, threads and memory plans count, which this does not estimate.
constexpr int64_t kSmall = 1 << 14;  // elements
constexpr int64_t kMuch = 1'000'000;

constexpr int64_t kQuickEnd = 45;  // a segment of which one small kernel makes the one result
constexpr int64_t kEnd = 150, kEndOfResult = 25;
constexpr int64_t kElementwise = 9, kOther = 30;  // what a call saves: it allocates nothing
constexpr int64_t kLongMatch = 17;  // what a call costs of which a node's head does not tell all
constexpr size_t kCached = 1024;    // calls of a path that stays in the cache between two visits
constexpr int64_t kFetched = 40;    // what each call costs of one that does not
constexpr int64_t kBytesPerNs = 32;

bool IsSmall(const Node& call) {
  for (const Parameter& s : call.slots) {
    if (s.layout->size >= kSmall || !(s.device == Device())) return false;
  }
  for (const Result& r : call.results) {
    if (r.layout->size >= kSmall || !(r.device == Device())) return false;
  }
  return true;
}

bool IsFused(const CallRecord& call) { return call.composite || IsPointwise(call.primitive()); }

}  // namespace

int64_t GainOf(absl::Span<const Node* const> path, const LiveMask& live) {
  int64_t wanted = 0, gain = 0;
  for (const uint64_t word : live) wanted += std::popcount(word);
  bool one_kernel = true;
  size_t result = 0;
  for (const Node* call : path) {
    if (!IsSmall(*call)) return kMuch;
    const bool fused = IsFused(*call);
    one_kernel &= fused;
    gain += fused ? kElementwise : kOther;
    if (!call->attrs.empty() || call->operands.size() > 2 || call->results.size() > 1)
      gain -= kLongMatch;
    for (const Result& r : call->results) {
      const bool kept = IsLive(live, result);
      ++result;
      if (fused && !kept) gain += r.layout->size * SizeOf(r.dtype) / kBytesPerNs;
    }
  }
  if (path.size() > kCached) gain -= static_cast<int64_t>(path.size()) * kFetched;
  return gain - (wanted == 1 && one_kernel ? kQuickEnd : kEnd + kEndOfResult * wanted);
}

}  // namespace frazil::tracer
