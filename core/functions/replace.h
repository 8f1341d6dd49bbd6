// The content of a cell replaced by a result, as `x += y` and `x[i] = v` do. Called by the in-place
// operators of Python and C++. Invariant: the cell keeps its shape and dtype, and an error leaves it
// as it was.
#pragma once

#include "core/apply.h"

#pragma GCC visibility push(default)
namespace frazil::ops {

// Whether the old content must stay: the tape keeps operands, and a leaf is refused.
bool IsKept(const Tensor& cell);
// `result` as it goes into the cell, converted to its dtype where no kind of number is lost.
// ValueError if the shapes differ, TypeError if the dtypes do not fit, RuntimeError for a leaf that
// requires a gradient.
StatusOr<Tensor> Fitted(std::string_view op, const Tensor& cell, Tensor result);
// Puts it there.
void Replace(Tensor* cell, const Tensor& fitted);

}  // namespace frazil::ops
#pragma GCC visibility pop
