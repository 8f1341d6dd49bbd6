#include "tracer/deferred.h"

#include <algorithm>
#include <bit>

namespace frazil::tracer {

Value* DeferredValues::AddNew(uint32_t kind, const Layout* layout, Pending* owner, uint64_t tag) {
  Value* const value = Value::Deferred(kind, layout, owner, tag);
  if (size_ < values_.size()) {
    values_[size_] = ValueRef::Adopt(value);
  } else {
    values_.push_back(ValueRef::Adopt(value));
  }
  ++size_;
  return value;
}

bool DeferredValues::FindLive(LiveMask* live) const {
  const ValueRef* values = values_.data();
  uint64_t any = 0;
  for (size_t begin = 0; begin < size_; begin += 64) {
    const size_t end = std::min<size_t>(begin + 64, size_);
    uint64_t word = 0;
    for (size_t i = end; i-- > begin;) word = word << 1 | uint64_t{values[i]->holders() > 1};
    live->push_back(word);
    any |= word;
  }
  return any != 0;
}

bool DeferredValues::AnyWaitedFor() const {
  const absl::Span<const ValueRef> made = span();
  return std::any_of(made.begin(), made.end(),
                     [](const ValueRef& v) { return v->holders() > 1 && !v->ready(); });
}

void DeferredValues::Recycle(const LiveMask& live) {
  if (__builtin_expect(partly_filled_, 0)) return Clear();
  ValueRef* const values = values_.data();
  for (size_t w = 0; w < live.size(); ++w) {
    for (uint64_t bits = live[w]; bits != 0; bits &= bits - 1)
      values[64 * w + std::countr_zero(bits)].Reset();
  }
  size_ = 0;
  if (__builtin_expect(values_.size() > kMaxSegment, 0)) values_.resize(kMaxSegment);
}

}  // namespace frazil::tracer
