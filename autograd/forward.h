// Forward mode: a tangent beside a value, made by each op as it runs. Called by frazil.jvp and
// frazil.h through ForwardScope, and by the tape, which Apply asks to record an op with an operand
// that has a tangent.
//
// A value with a tangent has a DualNode: the tangent of one scope, and below it the node that
// scopes outside of that one see, which may be a DualNode again. What reverse mode of an inner
// scope records is a TapeNode whose `forward` is the DualNode. The tangent of a scope is computed
// from what lies below it, so those of nested scopes never mix (what the literature calls
// perturbation confusion), and gradients of tangents are gradients of ordinary ops.
//
// Invariants: tangents have the dtype and shape of their values; a scope that was left is asked by
// nobody, so what escapes from it is a value without that tangent; no_grad() makes constants in
// forward mode, too.
#pragma once

#include "absl/functional/function_ref.h"
#include "autograd/tape.h"

#pragma GCC visibility push(default)
namespace frazil::autograd {

class DualNode final : public GradNode {
 public:
  DualNode(uint64_t scope, int scope_level, Tensor tangent, GradNodeRef below);

  const uint64_t scope;   // of the ForwardScope
  const int scope_level;  // its own, where `level` is the lowest of what is below
  const Tensor tangent;
  const GradNodeRef below;
};

// The innermost tangent that `node` carries, or null.
const DualNode* ForwardOf(const GradNode* node);
// The tensor without what scopes from `level` on made of it.
Tensor Below(const Tensor& t, int level);

class ForwardScope {
 public:
  ForwardScope();
  ~ForwardScope();
  ForwardScope(const ForwardScope&) = delete;

  // The argument with a tangent, which has its shape and dtype.
  StatusOr<Tensor> Variable(const Tensor& argument, const Tensor& tangent);
  // The tangent of what was computed inside; undefined: it depends on no variable.
  Tensor Tangent(const Tensor& t) const;
  // What was computed inside as it should be seen outside.
  Tensor Outside(const Tensor& t) const;

 private:
  const int level_;
  const uint64_t scope_;
  const bool outer_enabled_;  // gradients were wanted outside
};

// Whether this thread is in a scope of forward mode.
bool InForwardMode();
// Whether the innermost function-style scope of this thread is one of reverse mode.
bool InnermostIsReverse();

// -- For the tape.

// The node without what scopes that were left made of it.
GradNodeRef WithoutClosed(const GradNodeRef& node);
// What reverse mode follows of it: null for tangents alone.
GradNodeRef ReverseOf(const GradNodeRef& node);
// Whether an operand has a tangent that counts in this thread's state.
bool AnyTangent(absl::Span<const Tensor* const> inputs);
// Calls visit(scope, level, operands below, tangents) for every open scope that has tangents of
// these operands, from the outermost on, while only scopes below it count.
Status ForEachForward(
    absl::Span<const Tensor> operands,
    absl::FunctionRef<Status(uint64_t, int, absl::Span<const Tensor>, absl::Span<const Tensor>)>
        visit);
// Gives the result of the node's op, with operands kept in the node, its tangents and `node`.
void AttachForward(GradNodeRef node, Tensor* output);

// The tangent of an op's result from those of its operands, of which some may be undefined; and
// undefined if none arrives (autograd/tangent.cc). `node` has what the row saves.
Tensor TangentOf(const TapeNode& node, absl::Span<const Tensor> operands, const Tensor& output,
                 absl::Span<const Tensor> tangents);

}  // namespace frazil::autograd
#pragma GCC visibility pop
