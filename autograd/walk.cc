#include "autograd/walk.h"

#include <algorithm>

#include "absl/algorithm/container.h"
#include "autograd/custom.h"
#include "autograd/forward.h"
#include "core/anomaly.h"
#include "core/functions/composites.h"
#include "core/functions/ops.h"

namespace frazil::autograd {
namespace {

// Calls visit(next) for the nodes that `node` depends on.
template <typename F>
void ForEachEdge(const GradNode& node, const F& visit) {
  if (node.kind == GradNode::Kind::kOp) {
    for (const auto& in : static_cast<const TapeNode&>(node).inputs) {
      if (in.edge) visit(in.edge.get());
    }
  } else if (node.kind == GradNode::Kind::kVariable) {
    const auto& outer = static_cast<const VariableNode&>(node).outer.edge;
    if (outer) visit(outer.get());
  } else if (node.kind == GradNode::Kind::kDual) {
    const auto& below = static_cast<const DualNode&>(node).below;
    if (below) visit(below.get());
  } else if (node.kind == GradNode::Kind::kPart) {
    visit(static_cast<const PartNode&>(node).whole.get());
  } else if (node.kind == GradNode::Kind::kCustom) {
    for (const auto& in : static_cast<const CustomNode&>(node).inputs) {
      if (in.edge) visit(in.edge.get());
    }
  }
}

// What detect_anomaly says of an error in the gradient of `node`.
Status Blame(const GradNode& node, const Status& status) {
  const AnomalyScope* scope = State().anomaly;
  if (!scope || node.kind != GradNode::Kind::kOp) return status;
  const auto& op = static_cast<const TapeNode&>(node);
  const std::string_view name =
      op.composite ? NameOf(static_cast<CompositeId>(*op.composite)) : Info(op.op).name;
  return scope->Explain(status, op.sequence, name);
}

}  // namespace

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

Status Walk::Run(GradNodeRef root, const Tensor& seed) {
  if (!root) return absl::OkStatus();
  std::vector<Root> roots;
  roots.push_back({std::move(root), seed});
  return Run(std::move(roots));
}

Status Walk::Run(std::vector<Root> roots) {
  FZ_RETURN_IF_ERROR(Collect(roots));
  for (const Root& root : roots) Add(root.node.get(), root.seed);
  roots.clear();
  for (Visit& visit : visits_) {
    if (visit.waiting) Add(&visit, visit.waiting->Take());
    if (visit.useful && (visit.grad.defined() || !visit.parts.empty())) {
      if (Status s = Step(&visit); !s.ok()) return Blame(*visit.node, s);
    }
    const GradNode::Kind kind = visit.node->kind;
    if (visit.merged)
      static_cast<TapeNode*>(visit.node.get())->passes.fetch_add(1, std::memory_order_relaxed);
    if (kind == GradNode::Kind::kOp || kind == GradNode::Kind::kPart ||
        kind == GradNode::Kind::kCustom)
      visit.node = nullptr;
  }
  return absl::OkStatus();
}

Tensor Walk::Arrived(const GradNode* variable) const {
  const auto it = index_.find(variable);
  return it == index_.end() ? Tensor() : visits_[it->second].grad;
}

bool Walk::Wanted(const GradNode& node) const {
  if (scope_ == 0) return node.leaf();
  if (node.kind == GradNode::Kind::kVariable &&
      static_cast<const VariableNode&>(node).scope == scope_)
    return true;
  return absl::c_any_of(others_, [&](const Tensor& t) { return t.node() == &node; });
}

Status Walk::Collect(absl::Span<const Root> roots) {
  std::vector<GradNode*> stack;
  std::vector<std::pair<uint64_t, GradNode*>> found;
  for (const Root& root : roots) stack.push_back(root.node.get());
  while (!stack.empty()) {
    GradNode* node = stack.back();
    stack.pop_back();
    if (!index_.try_emplace(node, 0).second) continue;
    if (node->kind == GradNode::Kind::kOp && static_cast<TapeNode*>(node)->spent) {
      return RuntimeError(
          "[backward] an earlier backward(retain_graph=False) has let go of this history.");
    }
    found.emplace_back(node->sequence, node);
    if (!Wanted(*node)) ForEachEdge(*node, [&](GradNode* next) { stack.push_back(next); });
  }
  std::sort(found.begin(), found.end(),
            [](const auto& x, const auto& y) { return x.first > y.first; });
  visits_.reserve(found.size());
  for (const auto& [sequence, node] : found) {
    index_.find(node)->second = static_cast<int32_t>(visits_.size());
    visits_.push_back({GradNodeRef::Share(node)});
  }
  for (auto id = static_cast<int32_t>(visits_.size()); --id >= 0;) {
    Visit& visit = visits_[id];
    visit.useful = Leads(*visit.node);
    if (!visit.useful || visit.node->kind != GradNode::Kind::kOp) continue;
    const auto& op = static_cast<const TapeNode&>(*visit.node);
    if (op.composite) continue;
    if (Merge(id)) {
      visit.useful = false;
    } else if (op.op == OpId::k_matmul) {
      CountProducts(op);
    }
  }
  return absl::OkStatus();
}

// Whether an older node makes the same view of the same tensor, as `w.T` in every step of a loop
// does: that one gets the gradients of both then. It comes later in the walk than whatever reads
// either.
bool Walk::Merge(int32_t id) {
  const auto& node = static_cast<const TapeNode&>(*visits_[id].node);
  if (Info(node.op).klass != OpClass::kView || Wanted(node)) return false;
  const int32_t edge = index_.find(node.inputs[0].edge.get())->second;
  int32_t& oldest = visits_[edge].view;
  if (oldest < 0) {
    oldest = id;
    return false;
  }
  const auto key = [&](const TapeNode& of) {
    return ViewKey{edge, of.op, of.attrs, of.inputs[0].shape.get()};
  };
  views_.try_emplace(key(static_cast<const TapeNode&>(*visits_[oldest].node)), oldest);
  const auto [same, fresh] = views_.try_emplace(key(node), id);
  if (fresh) return false;
  index_[&node] = same->second;
  return visits_[id].merged = true;
}

void Walk::CountProducts(const TapeNode& node) {
  for (int i = 0; i < 2; ++i) {
    const GradNode* edge = node.inputs[i].edge.get();
    if (edge && At(edge).useful && MayWait(node, i)) ++At(edge).products;
  }
}

// Asked oldest first, so that what the node depends on has its answer.
bool Walk::Leads(const GradNode& node) const {
  if (Wanted(node)) return true;
  bool leads = false;
  ForEachEdge(node, [&](const GradNode* next) { leads = leads || At(next).useful; });
  return leads;
}

void Walk::Add(Visit* visit, const Tensor& g) {
  if (g.defined()) visit->grad = visit->grad.defined() ? ops::add(visit->grad, g) : g;
}

// The gradient of a product's operand, which others may follow. With the last one none waits any
// more.
void Walk::Wait(const TapeNode& node, int input, Visit* edge, const Tensor& g) {
  if (!edge->waiting) edge->waiting = std::make_unique<WaitingProducts>();
  Add(edge, edge->waiting->Add(node, input, g));
  if (--edge->products > 0) return;
  Add(edge, edge->waiting->Take());
  edge->waiting = nullptr;
}

Status Walk::Step(Visit* visit) {
  GradNode* node = visit->node.get();
  if (node->kind == GradNode::Kind::kCustom) {
    const std::vector<Tensor> parts = std::exchange(visit->parts, {});
    return StepCustom(*static_cast<CustomNode*>(node), parts);
  }
  FZ_RETURN_IF_ERROR(visit->grad.status());
  if (node->leaf() && scope_ == 0) {
    leaves_.push_back({static_cast<LeafNode*>(node), visit->grad});
    return absl::OkStatus();
  }
  if (Wanted(*node)) return absl::OkStatus();  // a variable keeps what arrived
  const Tensor g = std::move(visit->grad);     // and nothing else outlives its use
  visit->grad = Tensor();
  if (node->kind == GradNode::Kind::kOp) return StepOp(static_cast<TapeNode*>(node), g);
  if (node->kind == GradNode::Kind::kPart) {
    const auto* part = static_cast<const PartNode*>(node);
    std::vector<Tensor>& parts = At(part->whole.get()).parts;
    parts.resize(part->whole->results);
    Tensor& sum = parts[part->index];
    sum = sum.defined() ? ops::add(sum, g) : g;
    return sum.status();
  }
  ForEachEdge(*node, [&](const GradNode* next) { Add(next, g); });
  return absl::OkStatus();
}

Status Walk::StepOp(TapeNode* node, const Tensor& g) {
  node->passes.fetch_add(1, std::memory_order_relaxed);
  if (node->composite) return StepComposite(*node, g);
  const Tensor output =
      node->saved_output ? Tensor(node->saved_output, GradNodeRef::Share(node)) : Tensor();
  Ref<TapeNode> filled;
  if (absl::c_any_of(node->inputs, [](const auto& in) { return CompositeOf(in.edge.get()); })) {
    FZ_ASSIGN_OR_RETURN(filled, WithSaved(*node));
    node = filled.get();
  }
  Tensor shared;
  for (size_t i = 0; i < node->inputs.size(); ++i) {
    const auto& in = node->inputs[i];
    if (!in.edge || !At(in.edge.get()).useful) continue;
    Visit& edge = At(in.edge.get());
    if (node->op == OpId::k_matmul && (edge.waiting || edge.products > 1) &&
        MayWait(*node, static_cast<int>(i))) {
      Wait(*node, static_cast<int>(i), &edge, g);
      if (edge.grad.defined()) FZ_RETURN_IF_ERROR(edge.grad.status());
      continue;
    }
    const Tensor raw = ApplyRule(*node, static_cast<int>(i), g, output, &shared);
    if (!raw.defined()) continue;
    const Tensor grad = SumTo(raw, in.shape);
    FZ_RETURN_IF_ERROR(grad.status());
    Add(in.edge.get(), grad);
  }
  return absl::OkStatus();
}

// The node with what its rule reads of composites' results.
StatusOr<Ref<TapeNode>> Walk::WithSaved(const TapeNode& node) {
  auto filled = Ref<TapeNode>::Adopt(TapeNode::New());
  filled->op = node.op;
  filled->attrs = node.attrs;
  filled->inputs = node.inputs;
  filled->saved = node.saved;
  filled->saved_output = node.saved_output;
  filled->level = node.level;
  filled->sequence = node.sequence;
  for (const char c : Info(node.op).saves) {
    const TapeNode* made = c == 'y' ? nullptr : CompositeOf(node.inputs[c - 'a'].edge.get());
    if (!made) continue;
    const auto [it, fresh] = again_.try_emplace(made);
    if (fresh) it->second = MakeAgain(*made);
    FZ_RETURN_IF_ERROR(it->second.status());
    filled->saved[c - 'a'] = it->second;
  }
  return filled;
}

Status Walk::StepCustom(const CustomNode& node, absl::Span<const Tensor> gradients) {
  FZ_ASSIGN_OR_RETURN(const std::vector<Tensor> made, CustomGradients(node, gradients));
  for (size_t i = 0; i < made.size(); ++i) {
    const GradNode* edge = node.inputs[i].edge.get();
    if (edge && made[i].defined() && At(edge).useful) Add(edge, made[i]);
  }
  return absl::OkStatus();
}

Status Walk::StepComposite(const TapeNode& node, const Tensor& g) {
  again_.erase(&node);
  uint64_t wanted = 0;
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    const GradNode* edge = node.inputs[i].edge.get();
    if (edge && At(edge).useful) wanted |= uint64_t{1} << i;
  }
  FZ_ASSIGN_OR_RETURN(const std::vector<Tensor> gradients, CompositeGradients(node, wanted, g));
  auto next = gradients.begin();
  for (size_t i = 0; i < node.inputs.size(); ++i)
    if (wanted >> i & 1) Add(node.inputs[i].edge.get(), *next++);
  return absl::OkStatus();
}

}  // namespace frazil::autograd
