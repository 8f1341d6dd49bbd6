// The rows of functions.def: functions made of ops that are recorded as the ops they are made of.
// Called by bindings, frazil.h and each other. Invariants: as in composites.h; of several results
// that there are none the error is the only one.
#pragma once

#include <string_view>
#include <vector>

#include "core/functions/linalg.h"

#pragma GCC visibility push(default)
namespace frazil::ops {

using Tensors = std::vector<Tensor>;
using TensorSpan = absl::Span<const Tensor>;

using ArgSpan = absl::Span<const Arg>;
// Bins of a histogram: how many equal ones there are, or their edges.
struct Bins {
  Bins(int64_t count = 10) : count(count) {}   // NOLINT
  Bins(int count) : count(count) {}            // NOLINT
  Bins(const Tensor& edges) : edges(edges) {}  // NOLINT
  int64_t count = 10;
  Tensor edges;
};
// From a number to another, if given.
using Interval = std::optional<std::pair<double, double>>;

// One integer or several.
struct Ints : absl::InlinedVector<int64_t, 4> {
  Ints(int64_t value) : InlinedVector({value}) {}  // NOLINT
  Ints(int value) : InlinedVector({value}) {}      // NOLINT
  Ints(std::initializer_list<int64_t> values) : InlinedVector(values) {}
  explicit Ints(Dims values) : InlinedVector(values.begin(), values.end()) {}
};
// Of an axis: a number of equal parts, or the places where parts begin.
struct Sections {
  Sections(int64_t parts) : parts(parts) {}  // NOLINT
  Sections(int parts) : parts(parts) {}      // NOLINT
  Sections(std::initializer_list<int64_t> places) : places(places) {}
  Sections(std::vector<int64_t> places) : places(std::move(places)) {}  // NOLINT

  std::optional<int64_t> parts;
  std::vector<int64_t> places;
};

// Which norm: a number, "fro" or "nuc", or the usual one of what it is asked for.
struct Order {
  Order() = default;
  Order(double value) : value(value) {}         // NOLINT
  Order(int value) : value(value) {}            // NOLINT
  Order(std::string_view text) : text(text) {}  // NOLINT
  Order(const char* text) : text(text) {}       // NOLINT
  std::optional<double> value;
  std::string_view text;
};
// An end of a range: a real or complex number.
struct Number : Scalar {
  Number(const Scalar& s) : Scalar(s) {}                                           // NOLINT
  Number(double v) : Scalar(Scalar::Float(v)) {}                                   // NOLINT
  Number(int v) : Scalar(Scalar::Int(v)) {}                                        // NOLINT
  Number(std::complex<double> v) : Scalar(Scalar::Complex(v.real(), v.imag())) {}  // NOLINT
};

#define FZ_FUNCTION(home, name, parameters, ...) Tensor name parameters;
#define FZ_SEVERAL(home, name, parameters, ...) Tensors name parameters;
#include "core/functions/functions.def"

// The shape that all of them broadcast to.
StatusOr<std::vector<int64_t>> broadcast_shapes(absl::Span<const std::vector<int64_t>> shapes);
// Parts along an axis, and of lengths that differ by one at most.
Tensors split(const Tensor& x, const Sections& sections, int64_t axis);
Tensors array_split(const Tensor& x, const Sections& sections, int64_t axis);
// Along the second axis (of vectors the only one), the first and the third.
Tensors hsplit(const Tensor& x, const Sections& sections);
Tensors vsplit(const Tensor& x, const Sections& sections);
Tensors dsplit(const Tensor& x, const Sections& sections);
// x without what stands at places along an axis, which are an integer, a slice, a vector of integers
// or a mask; and with values put before them. Without an axis x is flattened. Reads a vector.
Tensor delete_(const Tensor& x, const Index& where, std::optional<int64_t> axis);
Tensor insert(const Tensor& x, const Index& where, const Tensor& values,
              std::optional<int64_t> axis);
// Sums of products over axes of both, in turn.
Tensor tensordot(const Tensor& x1, const Tensor& x2, Dims axes1, Dims axes2);
// The same over the last n axes of x1 and the first n of x2.
Tensor tensordot(const Tensor& x1, const Tensor& x2, int64_t n);

// -- Linear algebra of several results (norms.cc); the rest are rows.
struct LstsqResult {
  Tensor x,
      residuals;  // the sums of squares of what is left, none if the solution is not the only one
  int64_t rank;
  Tensor singular_values;
};
// The shortest x that makes the sum of squares of b - a x least. Reads the rank.
LstsqResult lstsq(const Tensor& a, const Tensor& b, std::optional<double> rcond = {});
// svd of Hermitian matrices, of which the lower triangle is read.
SvdResult svd_hermitian(const Tensor& x);

}  // namespace frazil::ops
#pragma GCC visibility pop
