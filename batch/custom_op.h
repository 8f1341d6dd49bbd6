// Ops that a program brings: functions with derivatives of their own (custom_vjp, custom_jvp) and
// those whose body is code that frazil does not see (fz.op, FRAZIL_OP). Called by the bindings.
//
// A call computes the results from operands without history and gives them a rule
// (autograd/custom.h). In a vmap the call goes outside of it, as an op of all examples whose rules
// enter the vmap again, so that gradients of the vmap follow the rules as well. An op that brings
// its batching is asked for all examples at once; others are computed within the vmap.
//
// Invariants: an op is asked at the door that its operands are for; results and what is kept for
// the gradients of all examples have the examples along axis 0.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "core/tensor.h"

#pragma GCC visibility push(default)
namespace frazil::batch {

class CustomOp : public RefCounted {
 public:
  using Tensors = std::vector<Tensor>;
  using TensorSpan = absl::Span<const Tensor>;
  struct Made {
    Tensors results;
    Tensors kept;  // what Pull takes besides the operands
  };

  explicit CustomOp(std::string name) : name(std::move(name)) {}
  virtual ~CustomOp() = default;
  static void Free(CustomOp* op) { delete op; }

  const std::string name;  // for messages

  virtual StatusOr<Made> Compute(TensorSpan operands) = 0;
  // Made.kept once more, from operands with history: for gradients of gradients.
  virtual StatusOr<Tensors> Keep(TensorSpan operands) { return Tensors(); }
  // The gradients of the operands, undefined ones where there are none. By default Push, which is
  // linear in the tangents, transposed.
  virtual StatusOr<Tensors> Pull(TensorSpan operands, TensorSpan kept, TensorSpan gradients);
  // The tangents of the results.
  virtual StatusOr<Tensors> Push(TensorSpan operands, TensorSpan tangents) = 0;

  // Whether it brings its batching: Compute of `size` examples, which lie along axis 0 of those
  // operands that are batched. What was called outside of a vmap is computed outside then.
  virtual bool batches() const { return false; }
  virtual StatusOr<Made> ForAll(int64_t size, TensorSpan operands,
                                const std::vector<bool>& batched);
};

// The results with their history.
StatusOr<std::vector<Tensor>> Call(const Ref<CustomOp>& op, absl::Span<const Tensor> operands);

// A gradient through tensors that a function with a rule was not given is an error.
Status WithoutHistory(std::string_view name, absl::Span<const Tensor> results);

// What ops without such a rule say.
Status NoGradient(std::string_view name);
Status NoTangent(std::string_view name);

}  // namespace frazil::batch
#pragma GCC visibility pop
