// Functions over tensors besides ops and composites, under their names in Python. Part of frazil.h.
// Invariants: as in frazil.h; of several results that cannot be made the error is thrown.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "bindings/cpp/error.h"
#include "bindings/cpp/indexing.h"
#include "core/default_dtype.h"
#include "core/functions/einsum.h"
#include "core/functions/functions.h"
#include "core/functions/joining.h"

#pragma GCC visibility push(default)
namespace frazil {

using Shape = std::vector<int64_t>;
using ops::ArgSpan;
using ops::Bins;
using ops::Interval;
using ops::Ints;
using ops::Levels;
using ops::Number;
using ops::Order;
using ops::Sections;
using ops::Tensors;
using ops::TensorSpan;

namespace cpp_internal {
inline Tensors CheckedAll(Tensors results, std::string_view op) {
  for (const Tensor& t : results) frazil::Checked(t, op);
  return results;
}
template <typename T>
T Value(StatusOr<T> made, std::string_view op) {
  if (!made.ok()) throw Error(made.status(), op);
  return *std::move(made);
}
bool IsAll(const Tensor& mask, std::string_view op);  // reads it
}  // namespace cpp_internal

// -- The rows of core/functions/functions.def, in the namespace of their module.
#define FZ_CPP_IN_frazil(...) __VA_ARGS__
#define FZ_CPP_IN_inside(...) __VA_ARGS__
#define FZ_CPP_IN_linalg(...) \
  namespace linalg {          \
  __VA_ARGS__                 \
  }
#define FZ_FUNCTION(home, name, parameters, arguments, ...) \
  FZ_CPP_IN_##home(                                         \
      inline Tensor name parameters { return Initialize(), Checked(ops::name arguments, #name); })
#define FZ_SEVERAL(home, name, parameters, arguments, ...)                     \
  FZ_CPP_IN_##home(inline Tensors name parameters {                            \
    return Initialize(), cpp_internal::CheckedAll(ops::name arguments, #name); \
  })
#include "core/functions/functions.def"

// A function of core/functions with the parameters that its C++ form has.
#define FZ_CPP_FUNCTION(name, parameters, arguments) \
  inline Tensor name parameters { return Initialize(), Checked(ops::name arguments, #name); }
#define FZ_CPP_SEVERAL(name, parameters, arguments)                            \
  inline Tensors name parameters {                                             \
    return Initialize(), cpp_internal::CheckedAll(ops::name arguments, #name); \
  }
FZ_CPP_FUNCTION(reshape, (const Tensor& x, const Shape& shape), (x, shape))
FZ_CPP_FUNCTION(permute_dims, (const Tensor& x, const Shape& axes), (x, axes))
FZ_CPP_FUNCTION(broadcast_to, (const Tensor& x, const Shape& shape), (x, shape))
FZ_CPP_FUNCTION(squeeze, (const Tensor& x, const Axes& axes = {}), (x, axes))
FZ_CPP_FUNCTION(flip, (const Tensor& x, const Axes& axes = {}), (x, axes))
FZ_CPP_FUNCTION(moveaxis, (const Tensor& x, const Ints& source, const Ints& destination),
                (x, source, destination))
FZ_CPP_FUNCTION(tile, (const Tensor& x, const Ints& repetitions), (x, repetitions))
FZ_CPP_FUNCTION(tril, (const Tensor& x, int64_t k = 0), (x, k))
FZ_CPP_FUNCTION(triu, (const Tensor& x, int64_t k = 0), (x, k))
// `widths`: how much to add before and after each axis, in turn.
FZ_CPP_FUNCTION(pad, (const Tensor& x, const Shape& widths, const Number& value = 0),
                (x, widths, value))
FZ_CPP_FUNCTION(concat, (TensorSpan parts, int64_t axis = 0), (parts, axis))
FZ_CPP_FUNCTION(stack, (TensorSpan parts, int64_t axis = 0), (parts, axis))
// NumPy's joins: core/functions/joining.h says along which axis each.
FZ_CPP_FUNCTION(hstack, (TensorSpan parts), (parts))
FZ_CPP_FUNCTION(vstack, (TensorSpan parts), (parts))
FZ_CPP_FUNCTION(dstack, (TensorSpan parts), (parts))
FZ_CPP_FUNCTION(column_stack, (TensorSpan parts), (parts))
// Equal parts of an axis, or parts that begin at places; array_split: parts of about one length.
FZ_CPP_SEVERAL(split, (const Tensor& x, const Sections& sections, int64_t axis = 0),
               (x, sections, axis))
FZ_CPP_SEVERAL(array_split, (const Tensor& x, const Sections& sections, int64_t axis = 0),
               (x, sections, axis))
FZ_CPP_SEVERAL(hsplit, (const Tensor& x, const Sections& sections), (x, sections))
FZ_CPP_SEVERAL(vsplit, (const Tensor& x, const Sections& sections), (x, sections))
FZ_CPP_SEVERAL(dsplit, (const Tensor& x, const Sections& sections), (x, sections))
FZ_CPP_SEVERAL(nonzero, (const Tensor& x), (x))
FZ_CPP_FUNCTION(take_along_axis, (const Tensor& x, const Tensor& indices, int64_t axis = -1),
                (x, indices, axis))
FZ_CPP_FUNCTION(sort, (const Tensor& x, int64_t axis = -1, bool descending = false),
                (x, axis, descending))
FZ_CPP_FUNCTION(argsort, (const Tensor& x, int64_t axis = -1, bool descending = false),
                (x, axis, descending))
FZ_CPP_FUNCTION(searchsorted, (const Tensor& sorted, const Tensor& values, bool right = false),
                (sorted, values, right))
FZ_CPP_FUNCTION(unique_values, (const Tensor& x, bool equal_nan = false), (x, equal_nan))
FZ_CPP_FUNCTION(bincount, (const Tensor& x, const Tensor& weights = Tensor(), int64_t least = 0),
                (x, weights, least))
FZ_CPP_FUNCTION(diff,
                (const Tensor& x, int64_t n = 1, int64_t axis = -1,
                 const Tensor& prepend = Tensor(), const Tensor& append = Tensor()),
                (x, n, axis, prepend, append))
FZ_CPP_FUNCTION(cumulative_sum,
                (const Tensor& x, int64_t axis = 0, std::optional<DType> dtype = {},
                 bool include_initial = false),
                (x, axis, dtype, include_initial))
FZ_CPP_FUNCTION(cumulative_prod,
                (const Tensor& x, int64_t axis = 0, std::optional<DType> dtype = {},
                 bool include_initial = false),
                (x, axis, dtype, include_initial))
// Without an axis, of x flattened.
inline Tensor cumsum(const Tensor& x, std::optional<int64_t> axis = {},
                     std::optional<DType> dtype = {}) {
  Initialize();
  return Checked(ops::cumulative_sum(axis ? x : ops::flatten(x), axis.value_or(0), dtype),
                 "cumsum");
}
inline Tensor cumprod(const Tensor& x, std::optional<int64_t> axis = {},
                      std::optional<DType> dtype = {}) {
  Initialize();
  return Checked(ops::cumulative_prod(axis ? x : ops::flatten(x), axis.value_or(0), dtype),
                 "cumprod");
}
inline Tensor detach(const Tensor& x) { return x.Detach(); }
inline Tensor positive(const Tensor& x) { return x; }
inline Tensor operator+(const Tensor& a) { return a; }
inline Tensor operator~(const Tensor& a) {
  return Initialize(), Checked(ops::bitwise_invert(a), "bitwise_invert");
}

// NumPy's names of ops.
#define FZ_CPP_UNARY(theirs, name) \
  inline Tensor theirs(const Tensor& x) { return Initialize(), Checked(ops::name(x), #theirs); }
#define FZ_CPP_BINARY(theirs, name)                         \
  inline Tensor theirs(const Arg& a, const Arg& b) {        \
    return Initialize(), Checked(ops::name(a, b), #theirs); \
  }
FZ_CPP_UNARY(absolute, abs)
FZ_CPP_UNARY(invert, bitwise_invert)
FZ_CPP_BINARY(left_shift, bitwise_left_shift)
FZ_CPP_BINARY(mod, remainder)
FZ_CPP_BINARY(power, pow)
FZ_CPP_BINARY(right_shift, bitwise_right_shift)
FZ_CPP_BINARY(true_divide, divide)

// -- Creation
FZ_CPP_FUNCTION(linspace,
                (double start, double stop, int64_t num = 50, bool endpoint = true,
                 DType dtype = DType::kF32),
                (start, stop, num, endpoint, dtype))
inline Tensor eye(int64_t rows, std::optional<int64_t> columns = {}, int64_t k = 0,
                  DType dtype = DType::kF32) {
  return Initialize(), Checked(ops::eye(rows, columns.value_or(rows), k, dtype), "eye");
}
inline Tensor full_like(const Tensor& x, const Number& value, std::optional<DType> dtype = {}) {
  Initialize();
  const Tensor like = Checked(x, "full_like");
  return Checked(ops::filled(like.dims(), value, dtype.value_or(like.dtype()), like.device()),
                 "full_like");
}
inline Tensor zeros_like(const Tensor& x, std::optional<DType> dtype = {}) {
  return full_like(x, 0, dtype);
}
inline Tensor ones_like(const Tensor& x, std::optional<DType> dtype = {}) {
  return full_like(x, 1, dtype);
}
inline Tensor empty_like(const Tensor& x, std::optional<DType> dtype = {}) {
  return full_like(x, 0, dtype);
}

// -- Sums of products over the last `n` axes of x1 and the first of x2, or over axes in turn.
inline Tensor tensordot(const Tensor& x1, const Tensor& x2, const Ints& axes1, const Ints& axes2) {
  return Initialize(), Checked(ops::tensordot(x1, x2, axes1, axes2), "tensordot");
}
inline Tensor tensordot(const Tensor& x1, const Tensor& x2, int64_t n = 2) {
  return Initialize(), Checked(ops::tensordot(x1, x2, n), "tensordot");
}

// Sums of products by a formula (core/functions/einsum.h): einsum("ij,jk->ik", {a, b}).
inline Tensor einsum(std::string_view formula, TensorSpan operands,
                     const ops::EinsumPath& path = {}) {
  return Initialize(), Checked(ops::einsum(formula, operands, path), "einsum");
}

// The mean over axes, weighted if weights are given: of x's shape, or of the axes' extents.
inline Tensor average(const Tensor& x, const Axes& axes = {}, const Tensor* weights = nullptr,
                      bool keepdims = false) {
  return averages(x, axes, weights, keepdims)[0];
}

struct UniqueCounts {
  Tensor values, counts;
};
struct UniqueInverse {
  Tensor values, inverse_indices;
};
inline UniqueCounts unique_counts(const Tensor& x) {
  const Tensors all = unique_all(x);
  return {all[0], all[3]};
}
inline UniqueInverse unique_inverse(const Tensor& x) {
  const Tensors all = unique_all(x);
  return {all[0], all[2]};
}

// x without what stands at places of an axis, or with values before them; without an axis of x
// flattened. Places are an integer, a Slice, a vector of integers or a mask, which are read.
template <typename Where>
Tensor delete_(const Tensor& x, const Where& where, std::optional<int64_t> axis = {}) {
  Initialize();
  return Checked(ops::delete_(x, cpp_internal::ToIndex(where), axis), "delete");
}
template <typename Where>
Tensor insert(const Tensor& x, const Where& where, const Arg& values,
              std::optional<int64_t> axis = {}) {
  Initialize();
  const Tensor v = values.tensor() ? *values.tensor() : ops::scalar(values.scalar(), x.dtype());
  return Checked(ops::insert(x, cpp_internal::ToIndex(where), v, axis), "insert");
}

inline Shape broadcast_shapes(const std::vector<Shape>& shapes) {
  return cpp_internal::Value(ops::broadcast_shapes(shapes), "broadcast_shapes");
}
// Whether all elements are close, or equal: read.
bool allclose(const Tensor& x1, const Tensor& x2, double rtol = 1e-5, double atol = 1e-8,
              bool equal_nan = false);
bool array_equal(const Tensor& x1, const Tensor& x2, bool equal_nan = false);

// -- Linear algebra of several results, and what has a name of frazil, too.
namespace linalg {
inline Tensor diagonal(const Tensor& x, int64_t offset = 0) {
  return Initialize(), Checked(ops::diagonal(x, offset, -2, -1), "diagonal");
}
inline ops::LstsqResult lstsq(const Tensor& a, const Tensor& b, std::optional<double> rcond = {}) {
  Initialize();
  ops::LstsqResult out = ops::lstsq(a, b, rcond);
  Checked(out.x, "lstsq");
  return out;
}
using frazil::cross;
using frazil::outer;
using frazil::tensordot;
using frazil::vecdot;
}  // namespace linalg

}  // namespace frazil
#pragma GCC visibility pop
