// Ops of a program's own, part of frazil.h: a body over memory, with a rule for shapes, a gradient
// and a rule for vmap.
//
//     FRAZIL_OP(cube, {
//       .shape = [](fz::Specs in) { return std::vector{in[0]}; },
//       .body = [](fz::HostArrays in, fz::HostResults out) {
//         const std::span<const float> x = in[0].data<float>();
//         const std::span<float> y = out[0].data<float>();
//         for (size_t i = 0; i < x.size(); ++i) y[i] = x[i] * x[i] * x[i];
//       },
//       .vjp = [](fz::Operands in, fz::Operands, fz::Operands g) {
//         return std::vector{g[0] * in[0] * in[0] * 3.0};
//       },
//     });
//     fz::Tensor y = fz::vmap(fz::grad(cube))(x);
//
// Or a body written with frazil's functions, `compute`, which fuses like theirs: rules that are given
// replace those that follow from its ops (custom_vjp and custom_jvp of Python).
//
// In a traced call the body runs each time, between the kernels of what comes before and after.
// Invariants: a body sees elements in row-major order, in the CPU's memory, and fills its results;
// rules are functions of tensors. What a body or a rule throws arrives at the caller as it is.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "batch/custom_op.h"
#include "bindings/cpp/error.h"

#pragma GCC visibility push(default)
namespace frazil {

struct ArraySpec {
  std::vector<int64_t> shape;
  DType dtype = DType::kF32;
  bool operator==(const ArraySpec&) const = default;
};

// An operand, of const elements, or a result of a body.
template <typename Bytes>
class HostBuffer {
 public:
  HostBuffer(std::string_view op, const ArraySpec* spec, Bytes* bytes, int64_t size)
      : op_(op), spec_(spec), bytes_(bytes), size_(static_cast<size_t>(size)) {}

  Bytes* bytes() const { return bytes_; }
  const std::vector<int64_t>& shape() const { return spec_->shape; }
  DType dtype() const { return spec_->dtype; }
  size_t size() const { return size_; }
  // Throws if these are no elements of the C++ type.
  template <typename T>
  auto data() const {
    using Element = std::conditional_t<std::is_const_v<Bytes>, const T, T>;
    if (DTypeOf<T>::value != dtype()) {
      throw Error(TypeError("[", op_, "] the body asks an array of ", Name(dtype()), " for ",
                            Name(DTypeOf<T>::value), "."));
    }
    return std::span<Element>(reinterpret_cast<Element*>(bytes_), size_);
  }

 private:
  std::string_view op_;
  const ArraySpec* spec_;
  Bytes* bytes_;
  size_t size_;
};

using Specs = std::span<const ArraySpec>;
using HostArrays = std::span<const HostBuffer<const char>>;
using HostResults = std::span<const HostBuffer<char>>;
using Operands = std::span<const Tensor>;

struct OpRules {
  // Of the results, from those of the operands. Not for compute, whose results say it.
  std::function<std::vector<ArraySpec>(Specs)> shape = nullptr;
  std::function<void(HostArrays, HostResults)> body = nullptr;
  // The gradients of the operands, from (operands, results, gradients of the results); an undefined
  // tensor for none. Nothing: jvp, transposed.
  std::function<std::vector<Tensor>(Operands, Operands, Operands)> vjp = nullptr;
  // The tangents of the results, from (operands, tangents), in which they are linear.
  std::function<std::vector<Tensor>(Operands, Operands)> jvp = nullptr;
  // The results for `size` examples, along axis 0, as it is of those operands that are batched.
  // Nothing: the body is called for one example after the other.
  std::function<std::vector<Tensor>(int64_t size, Operands, const std::vector<bool>& batched)>
      batch = nullptr;
  // In the place of body: the results, by frazil's functions.
  std::function<std::vector<Tensor>(Operands)> compute = nullptr;
};

class Op {
 public:
  // The name is what errors begin with. Throws without compute, or shape and body.
  Op(std::string name, OpRules rules);

  // The result of an op that has one.
  template <typename... T>
  Tensor operator()(const T&... operands) const {
    return One(results({Tensor(operands)...}));
  }
  std::vector<Tensor> results(const std::vector<Tensor>& operands) const;

 private:
  Tensor One(std::vector<Tensor> results) const;

  Ref<batch::CustomOp> op_;
  bool ruled_;  // else it is what its ops are
};

// Defines `name`, an op at namespace scope that is made at its first call: name(x, y), or
// name.results({x, y}) for all results.
#define FRAZIL_OP(name, ...)                                                                     \
  inline constexpr struct name##_frazil_op {                                                     \
    static const ::frazil::Op& op() {                                                            \
      static const ::frazil::Op made(#name, ::frazil::OpRules __VA_ARGS__);                      \
      return made;                                                                               \
    }                                                                                            \
    template <typename... T>                                                                     \
    ::frazil::Tensor operator()(const T&... operands) const {                                    \
      return op()(operands...);                                                                  \
    }                                                                                            \
    std::vector<::frazil::Tensor> results(const std::vector<::frazil::Tensor>& operands) const { \
      return op().results(operands);                                                             \
    }                                                                                            \
  } name

}  // namespace frazil
#pragma GCC visibility pop
