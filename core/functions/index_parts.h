// What the entries of x[...] say. Called by getitem and setitem. Invariants: NumPy's rules, and its
// errors before anything is computed; masks are left as they are until FindMasked reads them.
#pragma once

#include <vector>

#include "core/functions/indices.h"

namespace frazil::ops {

struct IndexParts {
  std::vector<Index> basic;  // slices, integers and new axes; where arrays stand, whole slices
  std::vector<ArrayIndex> arrays;        // by axes of x[basic]; of masks the bool arrays
  absl::InlinedVector<int64_t, 8> box;   // of basic: start, step and size for each axis of x
  absl::InlinedVector<int64_t, 8> dims;  // of x[basic]
};

StatusOr<IndexParts> PartsOf(const Tensor& x, absl::Span<const Index> index);

// Makes masks among the arrays positions, which reads how many there are.
Status FindMasked(IndexParts* parts);

// Whether a box is all of x.
bool IsWhole(const Tensor& x, Dims box);

// Whether the arrays' axes follow each other.
bool AreAdjacent(const std::vector<ArrayIndex>& arrays);

}  // namespace frazil::ops
