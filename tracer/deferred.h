// The deferred results of a segment, in the order in which its calls made them. Called by
// tracer/session alone. Invariants: each is held once, so that its holder count is 1 exactly when
// nobody else wants it; what nobody wanted when the segment ended is handed out again by the next
// one, so a call that was made before allocates no value; every value kept is still deferred.
#pragma once

#include <vector>

#include "absl/types/span.h"
#include "core/value.h"
#include "tracer/node.h"
#include "tracer/segment_end.h"

namespace frazil::tracer {

class DeferredValues {
 public:
  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  const ValueRef* data() const { return values_.data(); }
  const ValueRef& operator[](size_t i) const { return values_[i]; }
  absl::Span<const ValueRef> span() const { return {values_.data(), size_}; }

  // One more, which the caller holds as well.
  Value* Add(uint32_t kind, const Layout* layout, Pending* owner, uint64_t tag) {
    if (__builtin_expect(size_ < values_.size(), 1)) {
      Value* const kept = values_.data()[size_].get();
      if (kept && kept->layout == layout && kept->kind() == kind) {
        ++size_;
        kept->DeferAgain(tag);
        return kept;
      }
    }
    return AddNew(kind, layout, owner, tag);
  }

  // Those that are wanted.
  bool FindLive(LiveMask* live) const;  // true if any is
  uint64_t LiveWord() const {           // of at most 64
    uint64_t word = 0;
    for (size_t i = size_; i-- > 0;) word = word << 1 | uint64_t{values_.data()[i]->holders() > 1};
    return word;
  }
  bool AnyWaitedFor() const;  // by somebody, and not there

  // Some may have been filled, though the segment goes on.
  void FillPartly() { partly_filled_ = true; }
  bool partly_filled() const { return partly_filled_; }
  // The segment is over. `live`: those that have been filled; nobody holds the others.
  void Recycle(const LiveMask& live);
  void RecycleBut(size_t wanted) {  // one has been filled
    values_.data()[wanted].Reset();
    size_ = 0;
  }
  // The same if others may hold any.
  void Clear() {
    values_.clear();
    size_ = 0;
    partly_filled_ = false;
  }

 private:
  Value* AddNew(uint32_t kind, const Layout* layout, Pending* owner, uint64_t tag);

  std::vector<ValueRef> values_;  // behind size_: kept, or null
  size_t size_ = 0;
  bool partly_filled_ = false;
};

}  // namespace frazil::tracer
