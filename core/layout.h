// Shapes and layouts as interned words: equal layouts are one object, so comparing shapes is
// comparing pointers. Called by inference, views, kernels' argument set-up and every guard.
// Invariant: records are immutable and live for the process; strides count elements; an axis of
// extent 1 has stride 0; a layout without elements is its dense one.
#pragma once

#include <cstdint>
#include <string>

#include "absl/types/span.h"
#include "core/status.h"

namespace frazil {

inline constexpr int kMaxRank = 16;
using Dims = absl::Span<const int64_t>;

struct Layout {
  int rank;
  bool dense;    // row-major without gaps
  int64_t size;  // number of elements
  uint32_t id;   // small integer, for hashing
  const Layout*
      shape;  // the dense layout of the same extents: shape equality is `a->shape == b->shape`
  int64_t extents[kMaxRank];
  int64_t strides_[kMaxRank];

  Dims dims() const { return {extents, static_cast<size_t>(rank)}; }
  Dims strides() const { return {strides_, static_cast<size_t>(rank)}; }
  // Extent of an axis that may be negative (already checked).
  int64_t dim(int axis) const { return extents[axis < 0 ? axis + rank : axis]; }
};

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

std::string ToString(Dims dims);  // "[2,3]"

}  // namespace frazil
