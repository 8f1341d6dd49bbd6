#include "core/anomaly.h"

#include <utility>

#include "absl/cleanup/cleanup.h"
#include "core/backend.h"
#include "core/config.h"
#include "core/functions/composite.h"
#include "core/functions/ops.h"
#include "core/infer.h"
#include "core/kept.h"
#include "core/operand_scope.h"

namespace frazil {
namespace {

class WithoutTable final : public Door {
 public:
  Tensor Call(const OpCall& call) override { return GlobalRuntime().eager->Call(call); }
  void Composite(const CompositeCall& call, CompositeBody body,
                 absl::Span<Tensor> outputs) override {
    GlobalRuntime().eager->Composite(call, body, outputs);
  }
};

// Results are not looked at while this lives.
class Unchecked {
 public:
  Unchecked() { State().checks = false; }
  ~Unchecked() { State().checks = true; }
};

struct Bad {
  bool nan = false, infinite = false;
};

// The only element of x, of type T.
template <typename T>
StatusOr<T> Only(const Tensor& x) {
  FZ_RETURN_IF_ERROR(x.status());
  FZ_RETURN_IF_ERROR(Read(*x.value(), Reading::kInside));
  FZ_ASSIGN_OR_RETURN(const ValueRef host, OnHost(*x.value()));
  return *reinterpret_cast<const T*>(host->data);
}

StatusOr<Bad> Look(const Tensor& x) {
  if (!IsInexact(x.dtype()) || x.size() == 0) return Bad{};
  Bad bad;
  FZ_ASSIGN_OR_RETURN(bad.nan, Only<bool>(ops::any(ops::isnan(x))));
  FZ_ASSIGN_OR_RETURN(bad.infinite, Only<bool>(ops::any(ops::isinf(x))));
  return bad;
}

// "[1, 0]": the first element of a mask that is true.
StatusOr<std::string> FirstOf(const Tensor& mask) {
  FZ_ASSIGN_OR_RETURN(int64_t flat, Only<int64_t>(ops::argmax(mask)));
  std::string text;
  for (int i = mask.rank() - 1; i >= 0; --i) {
    text = StrCat(flat % mask.dims()[i], text.empty() ? "" : ", ", text);
    flat /= mask.dims()[i];
  }
  return StrCat("[", text, "]");
}

Status Check(std::string_view name, absl::Span<const Tensor* const> inputs, const Tensor& output) {
  ThreadState& state = State();
  const bool grad = std::exchange(state.grad_enabled, false);
  const absl::Cleanup enable = [&state, grad] { state.grad_enabled = grad; };
  const Tensor x(Behind(output.value_ref()));
  FZ_ASSIGN_OR_RETURN(const Bad bad, Look(x));
  if (!bad.nan && !bad.infinite) return absl::OkStatus();
  Bad given;
  for (const Tensor* input : inputs) {
    FZ_ASSIGN_OR_RETURN(const Bad one, Look(Tensor(Behind(input->value_ref()))));
    given.nan |= one.nan;
    given.infinite |= one.infinite;
  }
  const bool nan = bad.nan && !given.nan;
  if (!nan && state.anomaly && !state.anomaly->infinities()) return absl::OkStatus();
  if (!nan && (!bad.infinite || given.nan || given.infinite)) return absl::OkStatus();
  FZ_ASSIGN_OR_RETURN(const std::string at, FirstOf(nan ? ops::isnan(x) : ops::isinf(x)));
  std::string operands;
  for (const Tensor* input : inputs)
    StrAppend(&operands, operands.empty() ? "" : ", ", Describe(*input));
  return FloatingPointError("[", name, "] makes the first ", nan ? "NaN" : "infinity", ": element ",
                            at, " of ", Describe(x), ", from ", operands, ".");
}

}  // namespace

Door* SlowDoor() {
  static Door* const door = new WithoutTable;  // for ever: nothing runs before or after main
  return door;
}

AnomalyScope::AnomalyScope(bool infinities) : infinities_(infinities), before_(State()) {
  ThreadState& state = State();
  state.anomaly = this;
  state.checks = true;
  if (!state.door || !state.door->rewrites()) state.door = SlowDoor();
  state.mode = kModeEager;
}

AnomalyScope::~AnomalyScope() {
  ThreadState& state = State();
  state.anomaly = before_.anomaly;
  state.checks = before_.checks;
  state.door = before_.door;
  state.mode = before_.mode;
}

void AnomalyScope::Made(uint64_t sequence) {
  const auto locate = GlobalRuntime().locate;
  made_[sequence] = locate ? locate() : std::string();
}

Status AnomalyScope::Explain(const Status& status, uint64_t sequence, std::string_view op) const {
  const auto made = made_.find(sequence);
  if (KindOf(status) != ErrorKind::kFloatingPoint || made == made_.end()) return status;
  return FloatingPointError(std::string(status.message()), " It is part of the gradient of ", op,
                            made->second.empty() ? "" : StrCat(" at ", made->second), ".");
}

Tensor ApplyChecked(const OpCall& call) {
  if (OperandScope* scope = OperandScope::Current()) return OperandScope::Call(scope, call);
  KeepScope* const scope = KeepScope::Current();
  return scope ? KeepScope::Call(scope, call) : ApplyLookedAt(call);
}

Tensor ApplyLookedAt(const OpCall& call) {
  const Unchecked unchecked;
  const Tensor out = Apply(call);
  if (!out.ok()) return out;
  Status status = Check(Info(call.op).name, call.inputs, out);
  return status.ok() ? out : Tensor(std::move(status));
}

void ApplyCompositeChecked(const CompositeCall& call, CompositeBody body,
                           absl::Span<Tensor> outputs) {
  // Some of its ops may be kept, or take other operands.
  if (KeepScope::Current() || OperandScope::Current()) return body(outputs);
  const Unchecked unchecked;
  ApplyComposite(call, body, outputs);
  for (Tensor& out : outputs) {
    if (!out.ok()) continue;
    const auto id = static_cast<CompositeId>(call.id);  // an op on complex numbers names itself
    const std::string_view name =
        id == CompositeId::k_on_parts ? Info(static_cast<OpId>(call.attrs[0])).name : NameOf(id);
    if (Status s = Check(name, call.inputs, out); !s.ok()) out = Tensor(std::move(s));
  }
}

Status CheckResults(std::string_view name, absl::Span<const Tensor> operands,
                    absl::Span<const Tensor> results) {
  if (!State().anomaly || !State().checks) return absl::OkStatus();
  const Unchecked unchecked;
  absl::InlinedVector<const Tensor*, 3> inputs;
  for (const Tensor& t : operands) inputs.push_back(&t);
  for (const Tensor& t : results) FZ_RETURN_IF_ERROR(Check(name, inputs, t));
  return absl::OkStatus();
}

}  // namespace frazil
