// Functions that bring their own derivatives: custom_vjp, custom_jvp, checkpoint and ops that are
// made outside of the table. Called by batch/custom_op.h and batch/checkpoint.h, which compute the
// results first, from operands without history, and by the walk.
//
// All results of a call share one CustomNode; each has a PartNode, which hands what arrives at it to
// the shared one, and that asks the rule once. Tangents of scopes are made at once, as for ops
// (autograd/forward.h).
//
// Invariant: a rule is given and gives tensors of the operands' and results' shapes and dtypes, or
// undefined ones: no derivative.
#pragma once

#include <utility>
#include <vector>

#include "autograd/tape.h"

#pragma GCC visibility push(default)
namespace frazil::autograd {

// A rule is a program like any other: while it makes values, what it may see has been decided
// before, by the history that its operands have. Derivatives that it makes for others are recorded
// as far as outside.
class UnlimitedScope {
 public:
  UnlimitedScope() : limit_(std::exchange(State().grad_limit, kNobodys)) {}
  ~UnlimitedScope() { State().grad_limit = limit_; }
  UnlimitedScope(const UnlimitedScope&) = delete;

 private:
  const int limit_;
};

class CustomRule : public RefCounted {
 public:
  static void Free(CustomRule* rule) { rule->Destroy(); }
  // Of every operand, from those of the results. The operands have the history that gradients of
  // gradients follow.
  virtual StatusOr<std::vector<Tensor>> Gradients(absl::Span<const Tensor> operands,
                                                  absl::Span<const Tensor> gradients) = 0;
  // Of every result, at operands as the scope sees them that asks.
  virtual StatusOr<std::vector<Tensor>> Tangents(absl::Span<const Tensor> operands,
                                                 absl::Span<const Tensor> tangents) = 0;

 protected:
  virtual ~CustomRule() = default;
  virtual void Destroy() { delete this; }
};

class CustomNode final : public GradNode {
 public:
  // Level kNobodys if no reverse mode wants it.
  CustomNode(Ref<CustomRule> rule, absl::Span<const Tensor> operands, size_t results);

  const Ref<CustomRule> rule;
  const size_t results;
  const std::vector<Tensor> operands;
  std::vector<TapeNode::Input> inputs;

 protected:
  void Destroy() override {
    Bury(this, [](GradNode* node) { delete static_cast<CustomNode*>(node); });
  }
};

class PartNode final : public GradNode {
 public:
  PartNode(Ref<CustomNode> whole, size_t index, GradNodeRef forward);

  const Ref<CustomNode> whole;
  const size_t index;
  const GradNodeRef forward;  // as a TapeNode's
};

// What results that were made after `since` (NextSequence()) were made of besides constants:
// tensors of the same dtype, shape and history, without their elements.
std::vector<Tensor> MadeOf(absl::Span<const Tensor> results, uint64_t since);

// Gives the results of a call their history.
Status AttachCustom(const Ref<CustomRule>& rule, absl::Span<const Tensor> operands,
                    absl::Span<Tensor> results);

// Gradients of the operands, from what arrived at the results; undefined ones among them are
// zeros for the rule. Refuses what has not the operand's shape and dtype.
StatusOr<std::vector<Tensor>> CustomGradients(const CustomNode& node,
                                              absl::Span<const Tensor> gradients);

}  // namespace frazil::autograd
#pragma GCC visibility pop
