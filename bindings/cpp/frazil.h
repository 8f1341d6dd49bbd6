// frazil for C++: tensors, ops, gradients and traced functions.
//
//     #include <frazil/frazil.h>
//     namespace fz = frazil;
//     auto step = fz::jit::trace([](const fz::Tensor& x, const fz::Tensor& w) { return
//     fz::relu(fz::matmul(x, w)); }); fz::Tensor y = step(x, w);
//
// Functions have the names that they have in Python, those of its modules in namespaces: linalg, fft,
// special, random, nn (tests/python/test_cpp_names.py).
//
// Called by programs. Invariants: every function throws fz::Error (bindings/cpp/error.h) with the
// message that Python shows, and leaves its arguments as they were; copying a Tensor makes a new
// cell over the same value.
#pragma once

#include <cstring>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "autograd/grad.h"
#include "bindings/cpp/control_flow.h"
#include "bindings/cpp/distributed.h"
#include "bindings/cpp/error.h"
#include "bindings/cpp/functions.h"
#include "bindings/cpp/indexing.h"
#include "bindings/cpp/load.h"
#include "bindings/cpp/op.h"
#include "bindings/cpp/profile.h"
#include "bindings/cpp/promised.h"
#include "bindings/cpp/random.h"
#include "bindings/cpp/structure.h"
#include "bindings/cpp/transforms.h"
#include "core/files/tensor_file.h"
#include "core/functions/composites.h"
#include "core/functions/linalg.h"
#include "core/functions/sparse.h"
#include "core/threads/parallel.h"
#include "tracer/trace.h"

#pragma GCC visibility push(default)
namespace frazil {

// -- Ops: the table's rows and the functions made of them, throwing.
#define FZ_OP(name, ...)
#define FZ_UNARY(name, ...)              \
  inline Tensor name(const Tensor& x) {  \
    Initialize();                        \
    return Checked(ops::name(x), #name); \
  }
#define FZ_BINARY(name, ...)                       \
  inline Tensor name(const Arg& a, const Arg& b) { \
    Initialize();                                  \
    return Checked(ops::name(a, b), #name);        \
  }
#define FZ_REDUCE(name, ...)                                                          \
  inline Tensor name(const Tensor& x, const Axes& axes = {}, bool keepdims = false) { \
    Initialize();                                                                     \
    return Checked(ops::name(x, axes, keepdims), #name);                              \
  }
#include "core/ops.def"

namespace cpp_internal {
// Results of `op`, one of which holds the error if there is one.
template <typename R>
R Checked(R results, Tensor R::*part, std::string_view op) {
  frazil::Checked(results.*part, op);
  return results;
}
}  // namespace cpp_internal

// Forwards to ops::name and throws its error.
#define FZ_CPP_FORWARD(name)                                                                    \
  template <typename... A>                                                                      \
  auto name(A&&... args)                                                                        \
      ->std::enable_if_t<std::is_same_v<decltype(ops::name(std::forward<A>(args)...)), Tensor>, \
                         Tensor> {                                                              \
    Initialize();                                                                               \
    return Checked(ops::name(std::forward<A>(args)...), #name);                                 \
  }
FZ_CPP_FORWARD(complex)
FZ_CPP_FORWARD(where)
FZ_CPP_FORWARD(astype)
FZ_CPP_FORWARD(take)
FZ_CPP_FORWARD(matmul)
FZ_CPP_FORWARD(conv2d)
FZ_CPP_FORWARD(expand_dims)
FZ_CPP_FORWARD(flatten)
FZ_CPP_FORWARD(swapaxes)
FZ_CPP_FORWARD(matrix_transpose)
FZ_CPP_FORWARD(sparse_matmul)
// In frazil what Python has there and in nn, and linear algebra.
#define FZ_CPP_LINALG(name) \
  FZ_CPP_FORWARD(name)      \
  namespace linalg {        \
  using frazil::name;       \
  }
#define FZ_CPP_FFT(name) \
  namespace fft {        \
  FZ_CPP_FORWARD(name)   \
  }
FZ_CPP_LINALG(matrix_power)
FZ_CPP_FFT(fftfreq)
FZ_CPP_FFT(rfftfreq)
#define FZ_CPP_HOME_frazil FZ_CPP_FORWARD
#define FZ_CPP_HOME_nn FZ_CPP_FORWARD
#define FZ_CPP_HOME_linalg FZ_CPP_LINALG
#define FZ_CPP_HOME_fft FZ_CPP_FFT
#define FZ_COMPOSITE(home, name, ...) FZ_CPP_HOME_##home(name)
#define FZ_INNER(...)
#include "core/functions/composites.def"

// -- Linear algebra of several results (core/functions/linalg.h); the rest are rows above.
inline ops::SlogdetResult slogdet(const Tensor& x) {
  return Initialize(), cpp_internal::Checked(ops::slogdet(x), &ops::SlogdetResult::sign, "slogdet");
}
inline ops::QrResult qr(const Tensor& x, std::string_view mode = "reduced") {
  return Initialize(), cpp_internal::Checked(ops::qr(x, mode), &ops::QrResult::q, "qr");
}
inline ops::SvdResult svd(const Tensor& x, bool full_matrices = true) {
  return Initialize(), cpp_internal::Checked(ops::svd(x, full_matrices), &ops::SvdResult::s, "svd");
}
inline ops::EigResult eig(const Tensor& x) {
  return Initialize(), cpp_internal::Checked(ops::eig(x), &ops::EigResult::eigenvalues, "eig");
}
inline ops::EigResult eigh(const Tensor& x, std::string_view uplo = "L") {
  return Initialize(),
         cpp_internal::Checked(ops::eigh(x, uplo), &ops::EigResult::eigenvalues, "eigh");
}

inline Tensor multi_dot(TensorSpan arrays) {
  return Initialize(), Checked(ops::multi_dot(arrays), "multi_dot");
}
namespace linalg {
using frazil::eig;
using frazil::eigh;
using frazil::matmul;
using frazil::matrix_transpose;
using frazil::multi_dot;
using frazil::qr;
using frazil::slogdet;
using frazil::svd;
}  // namespace linalg
// What is in nn, and in scipy.special.
namespace nn {
#define FZ_CPP_NN_frazil(name)
#define FZ_CPP_NN_linalg(name)
#define FZ_CPP_NN_fft(name)
#define FZ_CPP_NN_nn(name) using frazil::name;
#define FZ_COMPOSITE(home, name, ...) FZ_CPP_NN_##home(name)
#define FZ_INNER(...)
#include "core/functions/composites.def"
using frazil::conv2d;
using frazil::sigmoid;
}  // namespace nn
#define FZ_SPECIAL(name) using frazil::name;
namespace special {
FZ_SPECIAL(beta)
FZ_SPECIAL(betainc)
FZ_SPECIAL(betaln)
FZ_SPECIAL(cbrt)
FZ_SPECIAL(digamma)
FZ_SPECIAL(erf)
FZ_SPECIAL(erfc)
FZ_SPECIAL(erfcinv)
FZ_SPECIAL(erfinv)
FZ_SPECIAL(exp2)
FZ_SPECIAL(expm1)
FZ_SPECIAL(gamma)
FZ_SPECIAL(gammainc)
FZ_SPECIAL(gammaincc)
FZ_SPECIAL(gammaln)
FZ_SPECIAL(i0)
FZ_SPECIAL(i0e)
FZ_SPECIAL(i1)
FZ_SPECIAL(i1e)
FZ_SPECIAL(j0)
FZ_SPECIAL(j1)
FZ_SPECIAL(log1p)
FZ_SPECIAL(log_ndtr)
FZ_SPECIAL(log_softmax)
FZ_SPECIAL(logit)
FZ_SPECIAL(logsumexp)
FZ_SPECIAL(ndtr)
FZ_SPECIAL(ndtri)
FZ_SPECIAL(polygamma)
FZ_SPECIAL(sinc)
FZ_SPECIAL(softmax)
FZ_SPECIAL(xlog1py)
FZ_SPECIAL(xlogy)
FZ_SPECIAL(y0)
FZ_SPECIAL(y1)
FZ_SPECIAL(zeta)
#undef FZ_SPECIAL
inline Tensor psi(const Tensor& x) { return digamma(x); }
inline Tensor expit(const Tensor& x) { return sigmoid(x); }
}  // namespace special

// Rows [start, stop) of the first axis.
Tensor rows(const Tensor& x, int64_t start, int64_t stop);

inline Tensor operator+(const Tensor& a, const Arg& b) { return add(a, b); }
inline Tensor operator-(const Tensor& a, const Arg& b) { return subtract(a, b); }
inline Tensor operator*(const Tensor& a, const Arg& b) { return multiply(a, b); }
inline Tensor operator/(const Tensor& a, const Arg& b) { return divide(a, b); }
inline Tensor operator+(double a, const Tensor& b) { return add(a, b); }
inline Tensor operator-(double a, const Tensor& b) { return subtract(a, b); }
inline Tensor operator*(double a, const Tensor& b) { return multiply(a, b); }
inline Tensor operator/(double a, const Tensor& b) { return divide(a, b); }
inline Tensor operator-(const Tensor& a) { return negative(a); }

// -- Creation and data
Tensor full(const Shape& shape, const Scalar& value, DType dtype = DType::kF32);
inline Tensor zeros(const Shape& shape, DType dtype = DType::kF32) {
  return full(shape, Scalar::Int(0), dtype);
}
inline Tensor ones(const Shape& shape, DType dtype = DType::kF32) {
  return full(shape, Scalar::Int(1), dtype);
}
inline Tensor empty(const Shape& shape, DType dtype = DType::kF32) {
  return full(shape, Scalar::Int(0), dtype);
}
Tensor arange(int64_t n, DType dtype = DType::kI64);
// start, start + step, ... below stop.
inline Tensor arange(const Number& start, const Number& stop, const Number& step = 1,
                     std::optional<DType> dtype = {}) {
  return Initialize(), Checked(ops::arange(start, stop, step, dtype), "arange");
}

// Copies `data` (row-major, as many elements as `shape` has).
template <typename T>
Tensor tensor(const std::vector<T>& data, const Shape& shape);
// The same of an array that is no vector: std::span(pointer, elements).
template <typename T>
Tensor tensor(std::span<const T> data, const Shape& shape);
// Copies the elements out in row-major order; T must be the tensor's element type.
template <typename T>
std::vector<T> to_vector(const Tensor& t);
// The same elements in the memory of a device, "cpu", "cuda" ...: Python's x.to_device().
Tensor to_device(const Tensor& t, std::string_view device);
// The one element of a tensor as a double, or as a complex number.
double item(const Tensor& t);
std::complex<double> complex_item(const Tensor& t);

// Files of tensors, safetensors (core/files/tensor_file.h), and remarks in them. Files are mapped
// when they are loaded, and written whole or not at all.
NamedTensors load(const std::string& path, Remarks* metadata = nullptr);
void save(const std::string& path, const NamedTensors& tensors, const Remarks& metadata = {});
// The tensor of that name. Throws if there is none.
const Tensor& get(const NamedTensors& tensors, const std::string& name);

// -- Gradients
class NoGrad {
 public:
  NoGrad() : saved_(State().grad_enabled) { State().grad_enabled = false; }
  ~NoGrad() { State().grad_enabled = saved_; }
  NoGrad(const NoGrad&) = delete;

 private:
  bool saved_;
};

inline void set_requires_grad(Tensor& t, bool on = true) {
  ThrowIf(autograd::SetRequiresGrad(&t, on));
}
// A root that is given away loses its history on the way: memory that only it held is free for the
// rest of the pass.
inline void backward(Tensor&& root) { ThrowIf(autograd::Backward(&root, nullptr, false)); }
inline void backward(const Tensor& root) {
  Tensor copy = root;
  ThrowIf(autograd::Backward(&copy));
}
inline Tensor grad_of(const Tensor& leaf) { return autograd::Grad(leaf); }

// One step of gradient descent with momentum: replaces the content of both cells.
void sgd_step(Tensor& parameter, const Tensor& gradient, Tensor& velocity, double lr,
              double momentum);

namespace jit {

// A traced callable: the body runs again at every call and its ops are matched with what was
// recorded, so captured references may change and every side effect happens. Copies share what they
// recorded.
template <typename F>
class Traced {
 public:
  Traced(F fn, std::string name)
      : fn_(std::move(fn)), trace_(std::make_shared<tracer::Trace>(std::move(name))) {}

  template <typename... A>
  auto operator()(A&&... args) {
    Initialize();
    tracer::Call call(trace_.get());
    if constexpr (std::is_void_v<std::invoke_result_t<F&, A...>>) {
      fn_(std::forward<A>(args)...);
      ThrowIf(call.Finish());
    } else {
      auto result = fn_(std::forward<A>(args)...);
      ThrowIf(call.Finish());
      return result;
    }
  }

  std::string explain() const { return trace_->Explain(); }
  tracer::TraceStats stats() const { return trace_->stats(); }
  void clear() { trace_->Clear(); }  // forgets everything recorded

 private:
  F fn_;
  std::shared_ptr<tracer::Trace> trace_;
};

template <typename F>
Traced<F> trace(F fn, std::string name = "function") {
  return Traced<F>(std::move(fn), std::move(name));
}
// The same for a function that depends on its arguments only: its body is skipped where it can be.
template <typename F>
Promised<F> trace(F fn, Pure policy, std::string name = "function") {
  return Promised<F>(std::move(fn), std::move(name), policy);
}

}  // namespace jit

// -- Templates
namespace cpp_internal {
Tensor FromBytes(const void* data, size_t elements, const Shape& shape, DType dtype);
Tensor DenseReady(const Tensor& t, DType expected);
}  // namespace cpp_internal

template <typename T>
Tensor tensor(const std::vector<T>& data, const Shape& shape) {
  return cpp_internal::FromBytes(data.data(), data.size(), shape, DTypeOf<T>::value);
}

template <typename T>
Tensor tensor(std::span<const T> data, const Shape& shape) {
  return cpp_internal::FromBytes(data.data(), data.size(), shape, DTypeOf<T>::value);
}

template <typename T>
std::vector<T> to_vector(const Tensor& t) {
  const Tensor dense = cpp_internal::DenseReady(t, DTypeOf<T>::value);
  std::vector<T> out(dense.size());
  if (!out.empty()) std::memcpy(out.data(), dense.value()->data, out.size() * sizeof(T));
  return out;
}

}  // namespace frazil
#pragma GCC visibility pop
