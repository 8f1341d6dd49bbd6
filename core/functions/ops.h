// The primitive ops as functions over tensors, with promotion, scalars, axis lists and index checks
// resolved. Called by composites, gradient rules, frazil.h and the Python door. Invariant: each
// function resolves its arguments to strictly typed calls of Apply; errors travel inside the
// returned tensor.
#pragma once

#include <array>
#include <optional>

#include "absl/types/span.h"
#include "core/apply.h"
#include "core/promote.h"

#pragma GCC visibility push(default)
namespace frazil {

// An operand: a tensor or a Python-like number (weak in promotion).
class Arg {
 public:
  Arg(const Tensor& t) : tensor_(&t) {}          // NOLINT
  Arg(double v) : scalar_(Scalar::Float(v)) {}   // NOLINT
  Arg(float v) : scalar_(Scalar::Float(v)) {}    // NOLINT
  Arg(bool v) : scalar_(Scalar::Bool(v)) {}      // NOLINT
  Arg(int v) : scalar_(Scalar::Int(v)) {}        // NOLINT
  Arg(long v) : scalar_(Scalar::Int(v)) {}       // NOLINT
  Arg(long long v) : scalar_(Scalar::Int(v)) {}  // NOLINT
  Arg(const Scalar& s) : scalar_(s) {}           // NOLINT
  template <typename T>
  Arg(std::complex<T> v) : scalar_(Scalar::Complex(v.real(), v.imag())) {}  // NOLINT

  const Tensor* tensor() const { return tensor_; }
  // Of a tensor the number 0.
  const Scalar& scalar() const { return tensor_ ? kNone : scalar_; }

 private:
  static constexpr Scalar kNone{};

  const Tensor* tensor_ = nullptr;
  union {  // not made of nothing for each tensor that an op is called with
    Scalar scalar_;
  };
};

// Axes of a reduction: none given means all.
using Axes = std::optional<absl::InlinedVector<int64_t, 4>>;

// One index of x[...].
struct Index {
  enum class Kind : uint8_t { kInt, kSlice, kNewAxis, kEllipsis, kTensor } kind;
  int64_t i = 0;                             // kInt
  std::optional<int64_t> start, stop, step;  // kSlice
  Tensor tensor;                             // kTensor: integer or bool array
  bool normal = false;                       // kTensor: known to be in range and not negative
};

namespace ops {

// Every elementwise row of the table: one, two or three operands. Names are the rows'.
Tensor Unary(OpId op, const Tensor& a);
Tensor Binary(OpId op, const Arg& a, const Arg& b);
// Binary of a tensor and a number, the first or the second operand, by TryApplyNumber. Null: Binary
// has to be called.
Value* TryNumber(OpId op, const Tensor& a, double number, bool first);
#define FZ_OP(name, ...)
#define FZ_UNARY(name, ...) Tensor name(const Tensor& a);
#define FZ_BINARY(name, ...) Tensor name(const Arg& a, const Arg& b);
#define FZ_REDUCE(name, ...) \
  Tensor name(const Tensor& x, const Axes& axes = {}, bool keepdims = false);
#include "core/ops.def"

// Parts of complex numbers, which share their memory: of real ones the number itself, and 0. complex
// makes float32 or float64 of what it is given.
Tensor real(const Tensor& x);
Tensor imag(const Tensor& x);
Tensor complex(const Arg& re, const Arg& im);
Tensor where(const Arg& condition, const Arg& a, const Arg& b);
Tensor astype(const Tensor& x, DType dtype);

// Movement. One extent of a reshape may be -1.
Tensor reshape(const Tensor& x, Dims dims);
Tensor permute_dims(const Tensor& x, Dims axes);
Tensor broadcast_to(const Tensor& x, Dims dims);
// attrs as of the op: start, step, size per axis.
Tensor slice(const Tensor& x, Dims start_step_size);
// The slice that is all of `dims`, to be narrowed along an axis.
Attrs WholeSlice(Dims dims);
Tensor concat(absl::Span<const Tensor> arrays, int64_t axis);
Tensor pad(const Tensor& x, Dims low_high, const Scalar& value);
// Negative indices count from the end.
Tensor take(const Tensor& x, const Tensor& indices, int64_t axis);
Tensor put(const Tensor& x, const Tensor& indices, const Tensor& updates, int64_t axis, bool add);
// NumPy's rules for rank 1 and batches.
Tensor matmul(const Arg& a, const Arg& b);
// x [n, height, width, in], w [kernel height, kernel width, in / groups, out]; channels first:
// x [n, in, height, width], w [out, in / groups, kernel height, kernel width].
struct Conv2dOptions {
  std::array<int64_t, 2> stride = {1, 1}, padding = {0, 0}, dilation = {1, 1};
  int64_t groups = 1;
  bool channels_first = false;
};
Tensor conv2d(const Tensor& x, const Tensor& w, const Conv2dOptions& options = {});

// Sources.
Tensor scalar(const Scalar& value, DType dtype);  // 0-d: an immediate, or a complex number of two
Tensor full(Dims dims, const Scalar& value, DType dtype,
            Device device = Device());  // a broadcast view of one element until written
Tensor iota(int64_t n, DType dtype, Device device = Device());
// x itself if it is there already.
Tensor to_device(const Tensor& x, Device device);
inline Tensor to_device(const Tensor& x, int64_t word) {
  Device device;
  device.word = static_cast<uint8_t>(word);
  return to_device(x, device);
}
Tensor random_bits(const Tensor& state, Dims dims);

// Arithmetic for code inside frazil (`using namespace ops`); frazil.h has the operators that throw.
Tensor operator+(const Tensor& a, const Arg& b);
Tensor operator-(const Tensor& a, const Arg& b);
Tensor operator*(const Tensor& a, const Arg& b);
Tensor operator/(const Tensor& a, const Arg& b);
Tensor operator+(double a, const Tensor& b);
Tensor operator-(double a, const Tensor& b);
Tensor operator*(double a, const Tensor& b);
Tensor operator/(double a, const Tensor& b);
Tensor operator-(const Tensor& a);

}  // namespace ops

}  // namespace frazil
#pragma GCC visibility pop
