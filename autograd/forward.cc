#include "autograd/forward.h"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <utility>

#include "absl/algorithm/container.h"
#include "autograd/custom.h"
#include "autograd/level.h"
#include "core/check.h"
#include "core/functions/ops.h"
#include "core/threads/spin_lock.h"

namespace frazil::autograd {
namespace {

// The scopes that this thread is in, innermost last.
struct Open {
  uint64_t scope;
  int level;
};
using Scopes = absl::InlinedVector<Open, 4>;
FZ_HOT_TLS Scopes* t_open = nullptr;
// State().grad_depth before each level that this thread has entered.
FZ_HOT_TLS absl::InlinedVector<int, 8>* t_depths = nullptr;

// Those of all threads: a function may hand a value with a tangent to a thread that it waits for.
std::atomic<int> g_count{0};
struct Everywhere {
  SpinLock lock;
  std::vector<Open> open;
};
Everywhere& AllOpen() {
  static auto* const all = new Everywhere;
  return *all;
}
bool OthersAreOpen() {
  return g_count.load(std::memory_order_relaxed) > (t_open ? static_cast<int>(t_open->size()) : 0);
}

bool Has(absl::Span<const Open> open, uint64_t scope) {
  return absl::c_any_of(open, [&](const Open& o) { return o.scope == scope; });
}
bool IsOpen(uint64_t scope) {
  if (t_open && Has(*t_open, scope)) return true;
  if (!OthersAreOpen()) return false;
  std::lock_guard lock(AllOpen().lock);
  return Has(AllOpen().open, scope);
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

int EnterLevel() {
  if (!t_depths) t_depths = new absl::InlinedVector<int, 8>;
  int depth = State().grad_depth;
  t_depths->push_back(depth);
  if (OthersAreOpen()) {
    std::lock_guard lock(AllOpen().lock);
    for (const Open& open : AllOpen().open) depth = std::max(depth, open.level);
  }
  return State().grad_depth = depth + 1;
}
void LeaveLevel() {
  State().grad_depth = t_depths->back();
  t_depths->pop_back();
  if (t_depths->empty()) delete std::exchange(t_depths, nullptr);
}

ForwardScope::ForwardScope()
    : level_(EnterLevel()), scope_(NextSequence()), outer_enabled_(State().grad_enabled) {
  if (!t_open) t_open = new Scopes;
  t_open->push_back({scope_, level_});
  {
    std::lock_guard lock(AllOpen().lock);
    AllOpen().open.push_back({scope_, level_});
  }
  g_count.fetch_add(1, std::memory_order_relaxed);
  ++State().transforms;
  State().grad_enabled = true;
}

ForwardScope::~ForwardScope() {
  t_open->pop_back();
  if (t_open->empty()) delete std::exchange(t_open, nullptr);
  {
    std::lock_guard lock(AllOpen().lock);
    std::erase_if(AllOpen().open, [&](const Open& o) { return o.scope == scope_; });
  }
  g_count.fetch_sub(1, std::memory_order_relaxed);
  LeaveLevel();
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

bool InOneForward() {
  const ThreadState& state = State();
  if (!t_open) return state.grad_depth == 0 && state.transforms == 0;
  return t_open->size() == 1 && state.grad_depth == t_open->back().level && state.transforms == 1;
}

Tensor InnermostTangent(const Tensor& t) {
  const DualNode* dual = t_open ? DualOf(t.node(), t_open->back().scope) : nullptr;
  return dual ? dual->tangent : Tensor();
}

Tensor WithTangent(const Tensor& t, const Tensor& tangent) {
  const Tensor own = InnermostTangent(t);
  const Tensor sum = own.defined() && tangent.defined() ? ops::add(own, tangent)
                     : own.defined()                    ? own
                                                        : tangent;
  if (!sum.defined()) return t;
  const auto [scope, level] = t_open->back();
  return Tensor(t.value_ref(), GradNodeRef::Adopt(new DualNode(scope, level, sum, nullptr)));
}

bool InForwardMode() { return t_open || OthersAreOpen(); }
bool InnermostIsReverse() { return State().grad_depth > (t_open ? t_open->back().level : 0); }

// What lies below the tangent of an open scope was recorded there.
GradNodeRef ReverseOf(const GradNodeRef& node) {
  GradNodeRef open = WithoutClosed(node);
  return Dual(open.get()) ? nullptr : open;
}

bool AnyTangent(absl::Span<const Tensor* const> inputs) {
  if (!t_open && !OthersAreOpen()) return false;
  const ThreadState& state = State();
  return absl::c_any_of(inputs, [&](const Tensor* t) {
    if (!NeedsGrad(state, *t) || !IsInexact(t->dtype())) return false;
    for (const DualNode* dual = ForwardOf(t->node()); dual; dual = ForwardOf(dual->below.get()))
      if (dual->scope_level < state.grad_limit && IsOpen(dual->scope)) return true;
    return false;
  });
}

namespace {

// This thread's scopes, and of others those of which these have tangents, from the outermost on. A
// copy: rules open scopes of their own.
Scopes OpenFor(absl::Span<const Tensor> operands) {
  Scopes open = t_open ? *t_open : Scopes();
  if (!OthersAreOpen()) return open;
  for (const Tensor& t : operands) {
    for (const DualNode* dual = ForwardOf(t.node()); dual; dual = ForwardOf(dual->below.get())) {
      if (!Has(open, dual->scope) && IsOpen(dual->scope))
        open.push_back({dual->scope, dual->scope_level});
    }
  }
  absl::c_sort(open, [](const Open& a, const Open& b) {
    return std::pair(a.level, a.scope) < std::pair(b.level, b.scope);
  });
  return open;
}

}  // namespace

Status ForEachForward(
    absl::Span<const Tensor> operands,
    absl::FunctionRef<Status(uint64_t, int, absl::Span<const Tensor>, absl::Span<const Tensor>)>
        visit) {
  const int limit = State().grad_limit;
  const Scopes open = OpenFor(operands);
  for (const Open& scope : open) {
    if (scope.level >= limit) break;
    absl::InlinedVector<Tensor, 3> seen, tangents;
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
