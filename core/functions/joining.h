// Arrays joined side by side and taken apart, under NumPy's names. Called by bindings and frazil.h.
// Invariant: made of concat, reshapes and slices; errors travel inside the returned tensor, of
// several results in the only one.
#pragma once

#include <vector>

#include "core/functions/ops.h"

#pragma GCC visibility push(default)
namespace frazil::ops {

Tensor hstack(absl::Span<const Tensor> arrays);        // along the second axis, vectors end to end
Tensor vstack(absl::Span<const Tensor> arrays);        // along the first axis; vectors are rows
Tensor dstack(absl::Span<const Tensor> arrays);        // along the third axis
Tensor column_stack(absl::Span<const Tensor> arrays);  // along the second; vectors are columns

// Parts that begin at these places of an axis, which count as those of a slice do.
std::vector<Tensor> split_at(const Tensor& x, Dims places, int64_t axis);
// `sections` parts whose lengths differ by one at most, the longer ones first.
std::vector<Tensor> array_split(const Tensor& x, int64_t sections, int64_t axis);

}  // namespace frazil::ops
#pragma GCC visibility pop
