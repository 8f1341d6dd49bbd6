// Shapes and layouts as interned words: equal layouts are one object, so comparing shapes is
// comparing pointers. Called by inference, views, kernels' argument set-up and every guard.
// Invariant: records are immutable; strides count elements; an axis of extent 1 has stride 0; a
// layout without elements is its dense one.
//
// Lifetime. The first layouts of the process (setting layout_entries) live for ever and cost
// nothing to hold. Those beyond are counted: values hold theirs, and whatever else keeps one holds
// a LayoutRef. A plain pointer may be used as long as something holds the layout, and after Dense,
// Intern or the last holder's end for the next kRecent such events of the thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <utility>

#include "absl/types/span.h"
#include "core/status.h"

#pragma GCC visibility push(default)
namespace frazil {

inline constexpr int kMaxRank = 16;
using Dims = absl::Span<const int64_t>;

struct Layout {
  int rank;
  bool dense;                            // row-major without gaps
  bool counted;                          // freed when nothing holds it
  mutable std::atomic<int32_t> holders;  // if counted
  int64_t size;                          // number of elements
  uint64_t id;                           // never used twice; below 2^47
  // The dense layout of the same extents: shape equality is `a->shape == b->shape`.
  const Layout* shape;
  const int64_t* extents;  // rank of them, and then the strides, behind this object
  const int64_t* strides_;

  Dims dims() const { return {extents, static_cast<size_t>(rank)}; }
  Dims strides() const { return {strides_, static_cast<size_t>(rank)}; }
  // Extent of an axis that may be negative (already checked).
  int64_t dim(int axis) const { return extents[axis < 0 ? axis + rank : axis]; }
};

void RetainCounted(const Layout* layout);
void ReleaseCounted(const Layout* layout);
inline void Retain(const Layout* layout) {
  if (__builtin_expect(layout->counted, 0)) RetainCounted(layout);
}
inline void Release(const Layout* layout) {
  if (__builtin_expect(layout->counted, 0)) ReleaseCounted(layout);
}

// Keeps a layout; may be null.
class LayoutRef {
 public:
  LayoutRef() = default;
  LayoutRef(const Layout* layout) : layout_(layout) {
    if (layout_) Retain(layout_);
  }
  LayoutRef(const LayoutRef& o) : LayoutRef(o.layout_) {}
  LayoutRef(LayoutRef&& o) noexcept : layout_(std::exchange(o.layout_, nullptr)) {}
  LayoutRef& operator=(LayoutRef o) noexcept {
    std::swap(layout_, o.layout_);
    return *this;
  }
  ~LayoutRef() {
    if (layout_) Release(layout_);
  }
  operator const Layout*() const { return layout_; }
  const Layout* get() const { return layout_; }
  const Layout* operator->() const { return layout_; }
  const Layout& operator*() const { return *layout_; }
  friend bool operator==(const LayoutRef& a, const LayoutRef& b) { return a.layout_ == b.layout_; }
  friend bool operator==(const LayoutRef& a, const Layout* b) { return a.layout_ == b; }

 private:
  const Layout* layout_ = nullptr;
};

// How many layouts there are, and their bytes.
struct LayoutStats {
  int64_t entries, bytes;
};
LayoutStats GetLayoutStats();

// The dense layout of `dims`. Callers have checked rank <= kMaxRank and extents >= 0 (CheckDims).
const Layout* Dense(Dims dims);
const Layout* Intern(Dims dims, Dims strides);
const Layout* Scalar0d();

// Rank, negative extents and 64-bit overflow of the byte size: `[op] ...` errors.
Status CheckDims(std::string_view op, Dims dims, int item_size);

// NumPy broadcasting of two shapes; error names both.
StatusOr<const Layout*> BroadcastShapes(std::string_view op, const Layout* a, const Layout* b);

// Axis in [-rank, rank) -> [0, rank).
StatusOr<int> CheckAxis(std::string_view op, int64_t axis, int rank);

// The strides with which a value of layout `from` is read over shape `to` (broadcasting: stride 0).
const Layout* BroadcastLayout(const Layout* from, const Layout* to);

// The layout of a reshape of `from` without moving data, or null if elements must be copied.
const Layout* ReshapeView(const Layout* from, Dims dims);

// How far elements lie from the first one, in elements: from `low`, at most 0, to below `high`.
struct Reach {
  int64_t low = 0, high = 0;
};
Reach ReachOf(const Layout& layout);

std::string ToString(Dims dims);  // "[2,3]"

}  // namespace frazil
#pragma GCC visibility pop
