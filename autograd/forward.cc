#include "autograd/forward.h"

#include <algorithm>

#include "absl/algorithm/container.h"
#include "autograd/custom.h"
#include "core/check.h"
#include "core/functions/ops.h"

namespace frazil::autograd {
namespace {

// The scopes that this thread is in, innermost last.
struct Open {
  uint64_t scope;
  int level;
};
FZ_HOT_TLS absl::InlinedVector<Open, 4>* t_open = nullptr;

bool IsOpen(uint64_t scope) {
  return t_open && absl::c_any_of(*t_open, [&](const Open& o) { return o.scope == scope; });
}

const DualNode* Dual(const GradNode* node) {
  return node && node->kind == GradNode::Kind::kDual ? static_cast<const DualNode*>(node) : nullptr;
}

// The tangent that `node` carries of the scope, or null.
const DualNode* DualOf(const GradNode* node, uint64_t scope) {
  for (const DualNode* dual = ForwardOf(node); dual; dual = ForwardOf(dual->below.get()))
    if (dual->scope == scope) return dual;
  return nullptr;
}

GradNodeRef NodeBelow(const GradNodeRef& node, int level) {
  const DualNode* dual = ForwardOf(node.get());
  if (!dual || dual->scope_level < level) return node;
  return NodeBelow(dual->below, level);
}

// Only scopes below `level` see what is done in here.
class LevelScope {
 public:
  explicit LevelScope(int level) : saved_(State().grad_limit) {
    State().grad_limit = std::min(saved_, level);
  }
  ~LevelScope() { State().grad_limit = saved_; }

 private:
  const int saved_;
};

}  // namespace

DualNode::DualNode(uint64_t scope, int scope_level, Tensor tangent, GradNodeRef below)
    : GradNode(Kind::kDual),
      scope(scope),
      scope_level(scope_level),
      tangent(std::move(tangent)),
      below(std::move(below)) {
  level = this->below ? std::min(scope_level, this->below->level) : scope_level;
  sequence = NextSequence();
}

const DualNode* ForwardOf(const GradNode* node) {
  while (node) {
    switch (node->kind) {
      case GradNode::Kind::kDual:
        return static_cast<const DualNode*>(node);
      case GradNode::Kind::kOp:
        return Dual(static_cast<const TapeNode*>(node)->forward.get());
      case GradNode::Kind::kVariable:
        node = static_cast<const VariableNode*>(node)->outer.edge.get();
        break;
      case GradNode::Kind::kPart:
        return Dual(static_cast<const PartNode*>(node)->forward.get());
      case GradNode::Kind::kLeaf:
      case GradNode::Kind::kCustom:
        return nullptr;
    }
  }
  return nullptr;
}

Tensor Below(const Tensor& t, int level) {
  return Tensor(t.value_ref(), NodeBelow(t.node_ref(), level));
}

ForwardScope::ForwardScope()
    : level_(++State().grad_depth), scope_(NextSequence()), outer_enabled_(State().grad_enabled) {
  if (!t_open) t_open = new absl::InlinedVector<Open, 4>;
  t_open->push_back({scope_, level_});
  ++State().transforms;
  State().grad_enabled = true;
}

ForwardScope::~ForwardScope() {
  t_open->pop_back();
  if (t_open->empty()) delete std::exchange(t_open, nullptr);
  --State().grad_depth;
  --State().transforms;
  State().grad_enabled = outer_enabled_;
}

StatusOr<Tensor> ForwardScope::Variable(const Tensor& argument, const Tensor& tangent) {
  FZ_RETURN_IF_ERROR(argument.status());
  FZ_RETURN_IF_ERROR(tangent.status());
  if (tangent.shape() != argument.shape() || tangent.dtype() != argument.dtype()) {
    return ValueError("[jvp] a tangent has the shape and dtype of its primal: ", Describe(tangent),
                      " for ", Describe(argument), ".");
  }
  const bool known = outer_enabled_ && NeedsGrad(State(), argument);
  return Tensor(
      argument.value_ref(),
      GradNodeRef::Adopt(new DualNode(scope_, level_, outer_enabled_ ? tangent : tangent.Detach(),
                                      known ? argument.node_ref() : nullptr)));
}

Tensor ForwardScope::Tangent(const Tensor& t) const {
  const DualNode* dual = DualOf(t.node(), scope_);
  if (!dual) return Tensor();
  return outer_enabled_ ? dual->tangent : dual->tangent.Detach();
}

Tensor ForwardScope::Outside(const Tensor& t) const {
  if (!t.node() || !outer_enabled_) return t.Detach();
  const Tensor below = Below(t, level_);
  return below.node() && below.node()->level >= level_ ? below.Detach() : below;
}

GradNodeRef WithoutClosed(const GradNodeRef& node) {
  if (!node || node->kind == GradNode::Kind::kVariable) return node;
  const DualNode* dual = ForwardOf(node.get());
  return !dual || IsOpen(dual->scope) ? node : WithoutClosed(dual->below);
}

bool InForwardMode() { return t_open != nullptr; }
bool InnermostIsReverse() { return State().grad_depth > (t_open ? t_open->back().level : 0); }

// What lies below the tangent of an open scope was recorded there.
GradNodeRef ReverseOf(const GradNodeRef& node) {
  GradNodeRef open = WithoutClosed(node);
  return Dual(open.get()) ? nullptr : open;
}

bool AnyTangent(absl::Span<const Tensor* const> inputs) {
  if (!t_open) return false;
  const ThreadState& state = State();
  return absl::c_any_of(inputs, [&](const Tensor* t) {
    if (!NeedsGrad(state, *t) || !IsInexact(t->dtype())) return false;
    for (const DualNode* dual = ForwardOf(t->node()); dual; dual = ForwardOf(dual->below.get()))
      if (dual->scope_level < state.grad_limit && IsOpen(dual->scope)) return true;
    return false;
  });
}

Status ForEachForward(
    absl::Span<const Tensor> operands,
    absl::FunctionRef<Status(uint64_t, int, absl::Span<const Tensor>, absl::Span<const Tensor>)>
        visit) {
  if (!t_open) return absl::OkStatus();
  const int limit = State().grad_limit;
  const absl::InlinedVector<Open, 4> open = *t_open;  // rules open scopes of their own
  for (const Open& scope : open) {
    if (scope.level >= limit) break;
    std::vector<Tensor> seen, tangents;
    bool any = false;
    for (const Tensor& t : operands) {
      const DualNode* dual = IsInexact(t.dtype()) ? DualOf(t.node(), scope.scope) : nullptr;
      tangents.push_back(dual ? dual->tangent : Tensor());
      seen.push_back(Below(t, scope.level));
      any |= dual != nullptr;
    }
    if (!any) continue;
    const LevelScope below(scope.level);
    FZ_RETURN_IF_ERROR(visit(scope.scope, scope.level, seen, tangents));
  }
  return absl::OkStatus();
}

// Each scope makes a node over what those before it made.
void AttachForward(GradNodeRef node, Tensor* output) {
  auto* op = static_cast<TapeNode*>(node.get());
  const std::vector<Tensor> operands = std::exchange(op->operands, {});
  GradNodeRef forward;
  const Status status =
      ForEachForward(operands,
                     [&](uint64_t scope, int level, absl::Span<const Tensor> seen,
                         absl::Span<const Tensor> tangents) -> Status {
                       absl::InlinedVector<const Tensor*, 3> inputs;
                       for (const Tensor& t : seen) inputs.push_back(&t);
                       const Ref<TapeNode> lower = Record(op->op, inputs, op->attrs);
                       if (lower->wants_output()) lower->saved_output = output->value_ref();
                       lower->forward = forward;
                       const GradNodeRef made =
                           lower->level == kNobodys ? forward : GradNodeRef::Share(lower.get());
                       const Tensor below(output->value_ref(), made);
                       const Tensor tangent = TangentOf(*lower, seen, below, tangents);
                       if (!tangent.defined()) return absl::OkStatus();
                       FZ_RETURN_IF_ERROR(tangent.status());
                       forward = GradNodeRef::Adopt(new DualNode(scope, level, tangent, made));
                       return absl::OkStatus();
                     });
  if (!status.ok()) return output->Set(Value::Error(status), nullptr);
  if (op->level == kNobodys) return output->SetNode(std::move(forward));
  if (forward) op->level = std::min(op->level, forward->level);
  op->forward = std::move(forward);
  output->SetNode(std::move(node));
}

}  // namespace frazil::autograd
