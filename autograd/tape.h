// The tape: a graph of nodes hanging off tensors. One node per differentiable op call; it holds the
// op's row and the tensors the row's rule reads. Called by core::Apply through TapeHook, by
// backward and by rules. Invariant: a node's sequence number is above those of the nodes it depends
// on; a node never holds its own output's tensor (only the value), so there are no cycles.
//
// Apply asks the tape to record a node if an input needs a gradient (autograd/tape.h). Nodes are
// made in eager and traced calls alike; deferred values that the tape holds are live like any
// other. Function-style gradients nest by levels: variables of an inner scope stay connected to
// their history, and the ops of an inner backward pass are recorded only as far as outer scopes
// need them.
#pragma once

#include <array>
#include <atomic>
#include <optional>
#include <vector>

#include "core/apply.h"
#include "core/memory/small_blocks.h"

#pragma GCC visibility push(default)
namespace frazil::autograd {

// Destroys a node, after those that wait: a chain of a million nodes must not recurse a million
// deep.
void Bury(GradNode* node, void (*destroy)(GradNode*));

class TapeNode final : public GradNode {
 public:
  struct Input {
    GradNodeRef edge;  // null: no gradient is wanted
    DType dtype;
    LayoutRef shape;
  };

  OpId op;
  Attrs attrs;
  absl::InlinedVector<Input, 3> inputs;
  std::array<Tensor, 3> saved;  // a, b, c where the row saves them, and no composite makes them
  ValueRef saved_output;
  // Of a composite that is one call; `op` says nothing then, `attrs` are its own.
  std::optional<uint32_t> composite;
  std::vector<Tensor> operands;
  std::atomic<uint32_t> passes{0};  // backward passes that went through it
  // Stands for history that a backward pass has let go of: an error for the next one.
  bool spent = false;
  // Of a result that has tangents too (autograd/forward.h): a DualNode.
  GradNodeRef forward;

  // Whether its rule reads the result.
  bool wants_output() const {
    return !composite && Info(op).saves.find('y') != std::string_view::npos;
  }

  // For the gradient expressions of the table.
  DType input_dtype(int i) const { return inputs[i].dtype; }
  Dims input_dims(int i) const { return inputs[i].shape->dims(); }
  int64_t attr(int i) const { return attrs[i]; }

  static TapeNode* New() { return new (TakeBlock(BlockClass(sizeof(TapeNode)))) TapeNode; }

 protected:
  void Destroy() override;

 private:
  TapeNode() : GradNode(Kind::kOp) {}
};

// A cell that collects .grad.
class LeafNode final : public GradNode {
 public:
  explicit LeafNode(bool of_example = false) : GradNode(Kind::kLeaf), of_example(of_example) {}
  Tensor grad;            // undefined until the first backward
  const bool of_example;  // its cell's elements differed between the examples of a vmap
};

// An argument of a function-style gradient: stops the walk of its own scope, passes gradients of
// outer ones on.
class VariableNode final : public GradNode {
 public:
  VariableNode(uint64_t scope, TapeNode::Input outer)
      : GradNode(Kind::kVariable), scope(scope), outer(std::move(outer)) {}

  const uint64_t scope;  // of the GradScope that made it
  TapeNode::Input outer;
};

class Tape final : public TapeHook {
 public:
  GradNodeRef Prepare(const OpCall& call) override;
  void Attach(GradNodeRef node, Tensor* output) override;
  GradNodeRef PrepareComposite(const CompositeCall& call) override;
};

// The node of a composite that is one call, or null.
inline const TapeNode* CompositeOf(const GradNode* node) {
  if (!node || node->kind != GradNode::Kind::kOp) return nullptr;
  const auto* op = static_cast<const TapeNode*>(node);
  return op->composite ? op : nullptr;
}
// Its result, from its operands.
Tensor MakeAgain(const TapeNode& composite);

uint64_t NextSequence();

inline constexpr int kNobodys = 1 << 30;  // level of what matters to no scope

// The tensor for a program inside of a rule, whose scopes are above grad_limit: without history
// that does not count out here.
inline Tensor Visible(const Tensor& t) {
  return t.defined() && t.node() && !NeedsGrad(State(), t) ? t.Detach() : t;
}

// The node of an op's call, with what its rule reads of the operands; of that level if no reverse
// mode wants it.
Ref<TapeNode> Record(OpId op, absl::Span<const Tensor* const> inputs, AttrSpan attrs);

// The gradients of a composite's operands, those with a bit in `wanted`, in order; from the
// operands and the gradient of its result (autograd/composite.cc).
StatusOr<std::vector<Tensor>> CompositeGradients(const TapeNode& node, uint64_t wanted,
                                                 const Tensor& g);

// The gradient of the op's output `g` with respect to input i, from the row's expression; undefined
// where the row says NOGRAD. Not yet summed over broadcast axes. `shared` is undefined before the
// first input of a node, and keeps what its rule makes for all of them at once.
Tensor ApplyRule(const TapeNode& node, int input, const Tensor& g, const Tensor& output,
                 Tensor* shared);

}  // namespace frazil::autograd
#pragma GCC visibility pop
