#include "autograd/grad.h"

#include <algorithm>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "autograd/tape.h"
#include "core/check.h"
#include "core/functions/ops.h"

namespace frazil::autograd {

using namespace ops;  // NOLINT: operators on tensors

namespace {

// What a walk visits: tape nodes and variables, by falling sequence number; leaves end it.
uint64_t SequenceOf(GradNode* node) {
  if (auto* tape = dynamic_cast<TapeNode*>(node)) return tape->sequence;
  if (auto* variable = dynamic_cast<VariableNode*>(node)) return variable->sequence;
  return 0;
}

// Sums over the axes that broadcasting added or stretched.
Tensor SumTo(const Tensor& g, const Layout* shape) {
  if (!g.ok() || g.shape() == shape) return g;
  Axes axes;
  axes.emplace();
  const int shift = g.rank() - shape->rank;
  for (int i = 0; i < g.rank(); ++i) {
    if (i < shift || (shape->extents[i - shift] == 1 && g.dims()[i] != 1)) axes->push_back(i);
  }
  const Tensor reduced = axes->empty() ? g : ops::sum(g, axes, true);
  // A gradient smaller than its input (a 0-d factor) is spread.
  if (reduced.ok() && reduced.size() != shape->size)
    return ops::broadcast_to(reduced, shape->dims());
  return ops::reshape(reduced, shape->dims());
}

class Walk {
 public:
  // targets: variables of one function-style scope; empty: every leaf.
  explicit Walk(const std::vector<VariableNode*>& targets)
      : targets_(targets.begin(), targets.end()) {}

  Status Run(const Tensor& root, const Tensor& seed) {
    if (!root.node()) return absl::OkStatus();
    Collect(root.node());
    grads_[root.node()] = seed;
    for (GradNode* node : order_) {
      auto it = grads_.find(node);
      if (it == grads_.end()) continue;
      const Tensor g = std::move(it->second);
      grads_.erase(it);
      FZ_RETURN_IF_ERROR(Step(node, g));
    }
    return absl::OkStatus();
  }

  // The gradient that arrived at a target; undefined if none did.
  Tensor Arrived(VariableNode* variable) const {
    auto it = arrived_.find(variable);
    return it == arrived_.end() ? Tensor() : it->second;
  }

  const std::vector<std::pair<LeafNode*, Tensor>>& leaves() const { return leaves_; }

 private:
  bool IsTarget(GradNode* node) const {
    auto* variable = dynamic_cast<VariableNode*>(node);
    return variable && targets_.contains(variable);
  }

  // Reachable nodes that lead to a target, newest first.
  void Collect(GradNode* root) {
    std::vector<GradNode*> stack = {root};
    std::vector<GradNode*> found;
    while (!stack.empty()) {
      GradNode* node = stack.back();
      stack.pop_back();
      if (!seen_.insert(node).second) continue;
      found.push_back(node);
      if (IsTarget(node)) continue;
      if (auto* tape = dynamic_cast<TapeNode*>(node)) {
        for (const auto& in : tape->inputs) {
          if (in.edge) stack.push_back(in.edge.get());
        }
      } else if (auto* variable = dynamic_cast<VariableNode*>(node)) {
        if (variable->outer) stack.push_back(variable->outer.get());
      }
    }
    std::sort(found.begin(), found.end(),
              [](GradNode* x, GradNode* y) { return SequenceOf(x) > SequenceOf(y); });
    // Oldest first: does the node lead to where a gradient is wanted?
    for (auto it = found.rbegin(); it != found.rend(); ++it) {
      if (Leads(*it)) useful_.insert(*it);
    }
    for (GradNode* node : found) {
      if (useful_.contains(node)) order_.push_back(node);
    }
  }

  bool Leads(GradNode* node) const {
    if (IsTarget(node)) return true;
    if (auto* tape = dynamic_cast<TapeNode*>(node)) {
      return std::any_of(tape->inputs.begin(), tape->inputs.end(), [&](const auto& in) {
        return in.edge && useful_.contains(in.edge.get());
      });
    }
    if (auto* variable = dynamic_cast<VariableNode*>(node)) {
      return variable->outer && useful_.contains(variable->outer.get());
    }
    return targets_.empty();  // a leaf
  }

  void Add(GradNode* node, const Tensor& g) {
    auto [it, fresh] = grads_.try_emplace(node, g);
    if (!fresh) it->second = it->second + g;
  }

  Status Step(GradNode* node, const Tensor& g) {
    if (!g.ok()) return g.status();
    if (IsTarget(node)) {
      arrived_[static_cast<VariableNode*>(node)] = g;
    } else if (auto* variable = dynamic_cast<VariableNode*>(node)) {
      Add(variable->outer.get(), g);
    } else if (auto* leaf = dynamic_cast<LeafNode*>(node)) {
      leaves_.push_back({leaf, g});
    } else {
      return StepTape(static_cast<TapeNode*>(node), g);
    }
    return absl::OkStatus();
  }

  Status StepTape(TapeNode* node, const Tensor& g) {
    const Tensor output =
        node->saved_output ? Tensor(node->saved_output, GradNodeRef::Share(node)) : Tensor();
    for (size_t i = 0; i < node->inputs.size(); ++i) {
      const auto& in = node->inputs[i];
      if (!in.edge || !useful_.contains(in.edge.get())) continue;
      const Tensor raw = ApplyRule(*node, static_cast<int>(i), g, output);
      if (!raw.defined()) continue;
      const Tensor grad = SumTo(raw, in.shape);
      if (!grad.ok()) return grad.status();
      Add(in.edge.get(), grad);
    }
    return absl::OkStatus();
  }

  absl::flat_hash_set<VariableNode*> targets_;
  absl::flat_hash_set<GradNode*> seen_, useful_;
  std::vector<GradNode*> order_;
  absl::flat_hash_map<GradNode*, Tensor> grads_;
  absl::flat_hash_map<VariableNode*, Tensor> arrived_;
  std::vector<std::pair<LeafNode*, Tensor>> leaves_;
};

// Ops of a backward pass are recorded only for nodes below `limit`.
class LimitScope {
 public:
  explicit LimitScope(int limit) : saved_(State().grad_limit) {
    State().grad_limit = std::min(saved_, limit);
  }
  ~LimitScope() { State().grad_limit = saved_; }

 private:
  int saved_;
};

LeafNode* LeafOf(const Tensor& cell) { return dynamic_cast<LeafNode*>(cell.node()); }

}  // namespace

void RegisterTape() {
  static Tape* tape = new Tape;
  GlobalRuntime().tape = tape;
}

Status SetRequiresGrad(Tensor* cell, bool on) {
  if (!on) {
    if (cell->node() && !LeafOf(*cell)) {
      return RuntimeError(
          "[requires_grad] only a leaf can stop requiring a gradient; use detach().");
    }
    cell->SetNode(nullptr);
    return absl::OkStatus();
  }
  if (!IsFloat(cell->dtype())) {
    return RuntimeError("[requires_grad] only floating-point arrays have gradients, got ",
                        Describe(*cell), ".");
  }
  if (!cell->node()) cell->SetNode(GradNodeRef::Adopt(new LeafNode));
  return absl::OkStatus();
}

bool RequiresGrad(const Tensor& cell) { return cell.node() != nullptr; }
bool IsLeaf(const Tensor& cell) { return !cell.node() || cell.node()->leaf; }

Tensor Grad(const Tensor& leaf) {
  const LeafNode* node = LeafOf(leaf);
  return node ? node->grad : Tensor();
}

Status SetGrad(Tensor* leaf, const Tensor& grad) {
  LeafNode* node = LeafOf(*leaf);
  if (!node) {
    if (!grad.defined()) return absl::OkStatus();
    return RuntimeError("[grad] only a leaf that requires a gradient has .grad.");
  }
  if (grad.defined() && grad.shape() != leaf->shape()) {
    return ValueError("[grad] gradient is ", Describe(grad), ", the tensor is ", Describe(*leaf),
                      ".");
  }
  node->grad = grad;
  return absl::OkStatus();
}

Status Backward(const Tensor& root, const Tensor* seed) {
  if (!root.ok()) return root.status();
  if (!root.node()) {
    return RuntimeError("[backward] ", Describe(root),
                        " does not depend on a tensor that requires a gradient.");
  }
  if (!seed && root.size() != 1) {
    return RuntimeError("[backward] a gradient can be made for one number only, got ",
                        Describe(root), "; pass the gradient of the result.");
  }
  if (seed && seed->shape() != root.shape()) {
    return ValueError("[backward] gradient is ", Describe(*seed), ", the tensor is ",
                      Describe(root), ".");
  }
  LimitScope limit(-1);
  const Tensor ones =
      seed ? seed->Detach() : ops::full(root.dims(), Scalar::Float(1), root.dtype());
  Walk walk({});
  FZ_RETURN_IF_ERROR(walk.Run(root, ones));
  // .grad changes only when every gradient has been computed. Sums are made first, then stored.
  std::vector<Tensor> sums;
  for (const auto& [leaf, g] : walk.leaves()) {
    sums.push_back(leaf->grad.defined() ? leaf->grad + g : g);
    FZ_RETURN_IF_ERROR(sums.back().status());
  }
  for (size_t i = 0; i < sums.size(); ++i) walk.leaves()[i].first->grad = sums[i];
  return absl::OkStatus();
}

GradScope::GradScope() : level_(++State().grad_depth), outer_enabled_(State().grad_enabled) {
  State().grad_enabled = true;
}

GradScope::~GradScope() {
  --State().grad_depth;
  State().grad_enabled = outer_enabled_;
}

Tensor GradScope::Variable(const Tensor& argument) {
  auto* node = new VariableNode;
  node->scope_level = level_;
  node->level = level_;
  node->sequence = NextSequence();
  if (outer_enabled_ && NeedsGrad(State(), argument)) {
    node->outer = argument.node_ref();
    node->level = std::min(level_, argument.node()->level);
  }
  return variables_.emplace_back(argument.value_ref(), GradNodeRef::Adopt(node));
}

StatusOr<std::vector<Tensor>> GradScope::Gradients(const Tensor& root) {
  if (!root.ok()) return root.status();
  if (!IsFloat(root.dtype()) || root.rank() != 0) {
    return TypeError("[grad] the function must return one floating-point number (0-d), got ",
                     Describe(root), ".");
  }
  std::vector<VariableNode*> targets;
  for (const Tensor& v : variables_) targets.push_back(static_cast<VariableNode*>(v.node()));
  LimitScope limit(level_);
  Walk walk(targets);
  FZ_RETURN_IF_ERROR(walk.Run(root, ops::scalar(Scalar::Float(1), root.dtype())));
  std::vector<Tensor> grads;
  for (const Tensor& v : variables_) {
    Tensor g = walk.Arrived(static_cast<VariableNode*>(v.node()));
    if (!g.defined()) {
      const Tensor zeros = ops::full(v.dims(), Scalar::Float(0), v.dtype());
      g = Apply(OpId::k_copy, {&zeros});
    }
    FZ_RETURN_IF_ERROR(g.status());
    grads.push_back(Outside(g));
  }
  return grads;
}

Tensor GradScope::Outside(const Tensor& t) const {
  return t.node() && (!outer_enabled_ || t.node()->level >= level_) ? t.Detach() : t;
}

}  // namespace frazil::autograd
