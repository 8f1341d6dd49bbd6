#include "autograd/grad.h"

#include <algorithm>

#include "autograd/forward.h"
#include "autograd/level.h"
#include "autograd/walk.h"
#include "core/check.h"
#include "core/functions/ops.h"
#include "core/infer.h"

namespace frazil::autograd {

using namespace ops;  // NOLINT: operators on tensors

namespace {

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

LeafNode* LeafOf(const Tensor& cell) {
  return cell.node() && cell.node()->leaf() ? static_cast<LeafNode*>(cell.node()) : nullptr;
}

// Whether its elements differ between the examples of a vmap.
bool Differs(const Tensor& t) {
  const ValueRef value = t.value_ref();
  return Behind(value).get() != value.get();
}

// Puts in place of the cell's history a node that says that it is gone. A leaf stays.
void LetGoOfHistory(Tensor* cell) {
  if (cell->node()->kind != GradNode::Kind::kOp) return;
  auto spent = Ref<TapeNode>::Adopt(TapeNode::New());
  spent->op = static_cast<const TapeNode*>(cell->node())->op;
  spent->spent = true;
  spent->level = cell->node()->level;
  spent->sequence = cell->node()->sequence;
  cell->SetNode(GradNodeRef::Adopt(spent.release()));
}

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
  if (!IsInexact(cell->dtype())) {
    return RuntimeError("[requires_grad] only floating-point arrays have gradients, got ",
                        Describe(*cell), ".");
  }
  if (!cell->node()) cell->SetNode(GradNodeRef::Adopt(new LeafNode(Differs(*cell))));
  return absl::OkStatus();
}

bool RequiresGrad(const Tensor& cell) { return cell.node() != nullptr; }
bool IsLeaf(const Tensor& cell) { return !cell.node() || cell.node()->leaf(); }

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
  if (grad.defined() && !(grad.device() == leaf->device())) {
    return ValueError("[grad] the gradient is on ", Name(grad.device()), ", the tensor on ",
                      Name(leaf->device()), "; move one with x.to_device(...).");
  }
  // Without its history: a tensor that is its own gradient must not hold itself.
  if (ReadObserver* observer = State().observer) observer->OnGradient(*node);
  node->grad = grad.defined() ? grad.Detach() : grad;
  return absl::OkStatus();
}

Status Backward(Tensor* cell, const Tensor* seed, bool retain) {
  const Tensor root = cell->Detach();
  GradNodeRef history = WithoutClosed(cell->node_ref());
  if (!root.ok()) return root.status();
  if (ForwardOf(history.get())) {
    return RuntimeError("[backward] ", Describe(root),
                        " has a tangent of jvp, jacfwd or hessian, and .grad is a constant for "
                        "them: use grad.");
  }
  if (!history) {
    return RuntimeError("[backward] ", Describe(root),
                        " does not depend on a tensor that requires a gradient.");
  }
  if (!seed && root.size() != 1) {
    return RuntimeError("[backward] a gradient can be made for one number only, got ",
                        Describe(root), "; pass the gradient of the result.");
  }
  if (seed && !(seed->device() == root.device())) {
    return ValueError("[backward] the gradient is on ", Name(seed->device()), ", the tensor on ",
                      Name(root.device()), "; move one with x.to_device(...).");
  }
  if (seed && seed->shape() != root.shape()) {
    return ValueError("[backward] gradient is ", Describe(*seed), ", the tensor is ",
                      Describe(root), ".");
  }
  if (!seed && IsComplex(root.dtype())) {
    return TypeError("[backward] a complex tensor needs a gradient to begin with: ", Describe(root),
                     "; or take the real part or the absolute value first.");
  }
  LimitScope limit(-1);
  const Tensor ones =
      seed ? seed->Detach() : ops::full(root.dims(), Scalar::Float(1), root.dtype(), root.device());
  if (!retain) LetGoOfHistory(cell);
  Walk walk;
  FZ_RETURN_IF_ERROR(walk.Run(std::move(history), ones));
  // .grad changes only when every gradient has been computed. Sums are made first, then stored.
  std::vector<Tensor> sums;
  for (const auto& [leaf, g] : walk.leaves()) {
    if (!leaf->of_example && Differs(g)) {
      return RuntimeError("[backward] the gradient of a tensor that all examples of a vmap share, ",
                          Describe(g),
                          ", differs between them: use grad inside, or call backward outside.");
    }
    sums.push_back(leaf->grad.defined() ? leaf->grad + g : g);
    FZ_RETURN_IF_ERROR(sums.back().status());
  }
  ReadObserver* observer = State().observer;
  for (size_t i = 0; i < sums.size(); ++i) {
    if (observer) observer->OnGradient(*walk.leaves()[i].first);
    walk.leaves()[i].first->grad = sums[i];
  }
  return absl::OkStatus();
}

GradScope::GradScope()
    : level_(EnterLevel()), scope_(NextSequence()), outer_enabled_(State().grad_enabled) {
  State().grad_enabled = true;
}

GradScope::~GradScope() { Leave(); }

void GradScope::Leave() {
  if (!std::exchange(open_, false)) return;
  LeaveLevel();
  State().grad_enabled = outer_enabled_;
}

Tensor GradScope::Variable(const Tensor& argument) {
  auto* node = new VariableNode(scope_, {nullptr, argument.dtype(), argument.shape()});
  node->level = level_;
  node->sequence = NextSequence();
  if (outer_enabled_ && NeedsGrad(State(), argument)) {
    node->outer.edge = argument.node_ref();
    node->level = std::min(level_, argument.node()->level);
  }
  return variables_.emplace_back(argument.value_ref(), GradNodeRef::Adopt(node));
}

StatusOr<std::vector<Tensor>> GradScope::Gradients(Tensor* cell, const Tensor* seed) {
  const Tensor root = cell->Detach();
  if (!root.ok()) return root.status();
  if (!seed && (!IsFloat(root.dtype()) || root.rank() != 0)) {
    return TypeError("[grad] the function must return one floating-point number (0-d), got ",
                     Describe(root), ".");
  }
  LimitScope limit(level_);
  Walk walk(scope_);
  GradNodeRef history = WithoutClosed(cell->node_ref());
  if (Hides(*cell)) cell->SetNode(nullptr);
  const Tensor one =
      seed ? *seed : ops::to_device(ops::scalar(Scalar::Float(1), root.dtype()), root.device());
  FZ_RETURN_IF_ERROR(walk.Run(std::move(history), one));
  return Arrived(walk);
}

StatusOr<std::vector<Tensor>> GradScope::Arrived(const Walk& walk, bool others) const {
  std::vector<Tensor> wanted = variables_, grads;
  if (others) wanted.insert(wanted.end(), others_.begin(), others_.end());
  for (const Tensor& v : wanted) {
    Tensor g = walk.Arrived(v.node());
    if (!g.defined()) {
      const Tensor zeros = ops::full(v.dims(), Scalar::Float(0), v.dtype(), v.device());
      g = Apply(OpId::k_copy, {&zeros});
    }
    FZ_RETURN_IF_ERROR(g.status());
    grads.push_back(open_ ? Outside(g) : g);
  }
  return grads;
}

StatusOr<std::vector<Tensor>> GradScope::Pull(absl::Span<const Tensor> roots,
                                              absl::Span<const Tensor> seeds) const {
  FZ_CHECK(roots.size() == seeds.size());
  LimitScope limit(open_ ? level_ : State().grad_depth + 1);
  std::vector<Walk::Root> from;
  for (size_t i = 0; i < roots.size(); ++i) {
    const Tensor &root = roots[i], &seed = seeds[i];
    FZ_RETURN_IF_ERROR(root.status());
    FZ_RETURN_IF_ERROR(seed.status());
    if (seed.shape() != root.shape() || seed.dtype() != root.dtype()) {
      return ValueError("[vjp] a gradient has the shape and dtype of its result: ", Describe(seed),
                        " for ", Describe(root), ".");
    }
    if (GradNodeRef node = WithoutClosed(root.node_ref())) from.push_back({std::move(node), seed});
  }
  Walk walk(scope_, others_);
  FZ_RETURN_IF_ERROR(walk.Run(std::move(from)));
  return Arrived(walk, true);
}

Tensor GradScope::Outside(const Tensor& t) const { return Hides(t) ? t.Detach() : t; }

// True if nothing outside of the scope may see t's history.
bool GradScope::Hides(const Tensor& t) const {
  return t.node() && (!outer_enabled_ || t.node()->level >= level_);
}

}  // namespace frazil::autograd
