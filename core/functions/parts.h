// Parts of tensors for functions that are made of ops, and words for their messages. Called by the
// bodies in core/functions. Invariant: an operand that holds an error gives it.
#pragma once

#include <algorithm>
#include <initializer_list>
#include <string>

#include "core/functions/composites.h"

namespace frazil::ops {

using DimVec = absl::InlinedVector<int64_t, 8>;

// `size` slices of an axis from `start` on.
inline Tensor Narrow(const Tensor& x, int axis, int64_t start, int64_t size) {
  if (!x.ok() || x.dims()[axis] == size) return x;
  Attrs range = WholeSlice(x.dims());
  range[static_cast<size_t>(3 * axis)] = size > 0 ? start : 0;
  range[static_cast<size_t>(3 * axis + 2)] = size > 0 ? size : 0;
  return slice(x, range);
}
// One slice of an axis, without it.
inline Tensor Pick(const Tensor& x, int axis, int64_t i) {
  if (!x.ok()) return x;
  DimVec dims(x.dims().begin(), x.dims().end());
  dims.erase(dims.begin() + axis);
  return reshape(Narrow(x, axis, i < 0 ? i + x.dims()[axis] : i, 1), dims);
}
// All but the first `before` and the last `behind` slices of the last axis.
inline Tensor Within(const Tensor& x, int64_t before, int64_t behind) {
  if (!x.ok()) return x;
  const int axis = x.rank() - 1;
  return Narrow(x, axis, before, std::max<int64_t>(x.dims()[axis] - before - behind, 0));
}
inline Tensor MoveAxis(const Tensor& x, int64_t from, int64_t to) {
  return moveaxis(x, Dims(&from, 1), Dims(&to, 1));
}
inline Axes Over(std::initializer_list<int64_t> axes) {
  return Axes(std::in_place, axes.begin(), axes.end());
}
// An op that works along the last axis (sort, argsort), along another one.
Tensor Along(OpId op, const Tensor& x, int64_t axis, int64_t attr);
// Ready, dense data in row-major order, in memory that the CPU addresses.
StatusOr<Tensor> Data(const Tensor& x);
// Integers and bools as float64, as in a quotient.
inline Tensor Inexact(const Tensor& x) {
  return !x.ok() || IsInexact(x.dtype()) ? x : astype(x, DType::kF64);
}
// The first operand that holds an error, or null.
inline const Tensor* FirstError(std::initializer_list<const Tensor*> all) {
  for (const Tensor* t : all) {
    if (!t->ok()) return t;
  }
  return nullptr;
}

// A shape as Python shows it: "(2, 3)", "(3,)".
std::string Tuple(Dims dims);
inline std::string Tuple(const Tensor& x) { return Tuple(x.dims()); }
// The same as a list: "[2, 3]".
std::string List(Dims values);
// As Python writes a float: "1.0", "1e-07".
std::string FloatText(double v);
// A vector of these integers.
Tensor OfInts(absl::Span<const int64_t> values);
// Whether any element is true; reads it.
StatusOr<bool> IsAny(const Tensor& mask);
// The one int64 that x holds; reads it.
StatusOr<int64_t> Integer(const Tensor& x);
// The elements of a vector of integers or bools, as int64; reads them.
StatusOr<std::vector<int64_t>> Integers(const Tensor& x);

}  // namespace frazil::ops
