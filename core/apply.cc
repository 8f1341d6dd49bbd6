#include "core/apply.h"

#include <cstring>

#include "absl/cleanup/cleanup.h"
#include "core/anomaly.h"
#include "core/check.h"
#include "core/functions/complex.h"
#include "core/infer.h"
#include "core/memory/transfers.h"

namespace frazil {

FZ_HOT_TLS ThreadState t_state;
constinit Runtime g_runtime;

namespace {

// An immediate's bits in a storage of their own.
Tensor Store(const Tensor& immediate) {
  const Value& v = *immediate.value();
  auto value = Value::Allocate(v.dtype, v.device, v.layout);
  if (!value.ok()) return Tensor(std::move(value).status());
  std::memcpy((*value)->data, v.data, SizeOf(v.dtype));
  return Tensor(*std::move(value));
}

inline Tensor CallDoor(Door* door, const OpInfo& info, const OpCall& call) {
  // A view needs memory to point into. Where somebody else holds the immediate, it may be the
  // content of an argument: a trace has to see that what the view is of comes from there.
  if (info.klass == OpClass::kView && call.inputs[0]->value()->immediate) {
    const bool seen = State().door && call.inputs[0]->value()->holders() > 1;
    const Tensor stored =
        seen ? door->Call({OpId::k_copy, call.inputs, {}}) : Store(*call.inputs[0]);
    const Tensor* input = &stored;
    return stored.ok() ? door->Call({call.op, {&input, 1}, call.attrs}) : stored;
  }
  return door->Call(call);
}

// Indices that were checked are those that are used, even if another thread replaces the content of
// their cell while something is waited for.
Tensor CallChecked(Door* door, const OpInfo& info, const OpCall& call) {
  absl::InlinedVector<const Tensor*, 3> inputs(call.inputs.begin(), call.inputs.end());
  Tensor indices;
  if (inputs.size() > 1) {
    indices = Tensor(inputs[1]->value_ref());
    inputs[1] = &indices;
  }
  const OpCall checked{call.op, inputs, call.attrs};
  if (call.indices_checked) return CallDoor(door, info, checked);
  if (Status s = CheckData(checked); !s.ok()) return Tensor(std::move(s));
  return CallDoor(door, info, checked);
}

// What the tape keeps is what the op is about to read: while it runs, another thread may replace
// the content of a cell.
Tensor CallRecorded(Door* door, const OpInfo& info, const OpCall& call) {
  GradNodeRef node = GlobalRuntime().tape->Prepare(call);
  Tensor out = MayFail(call.op) ? CallChecked(door, info, call) : CallDoor(door, info, call);
  if (node && out.ok()) GlobalRuntime().tape->Attach(std::move(node), &out);
  return out;
}

}  // namespace

Tensor Apply(const OpCall& call) {
  return __builtin_expect(State().checks, 0) ? ApplyChecked(call) : ApplyUnwatched(call);
}

Tensor ApplyUnwatched(const OpCall& call) {
  ThreadState& state = State();
  bool wants_grad = false, complex = false;
  for (const Tensor* t : call.inputs) {
    if (__builtin_expect(!t->ok(), 0)) return Tensor(t->status());
    wants_grad |= NeedsGrad(state, *t);
    complex |= IsComplex(t->dtype());
  }
  const OpInfo& info = Info(call.op);
  if (__builtin_expect(complex, 0) && !TakesComplex(info)) return ApplyToParts(call);
  Door* door = state.door ? state.door : GlobalRuntime().eager;
  if (wants_grad && Differentiable(info)) return CallRecorded(door, info, call);
  if (__builtin_expect(MayFail(call.op), 0)) return CallChecked(door, info, call);
  return CallDoor(door, info, call);
}

Tensor Apply(OpId op, std::initializer_list<const Tensor*> inputs, AttrSpan attrs) {
  return Apply({op, absl::MakeConstSpan(inputs.begin(), inputs.size()), attrs});
}

void ApplyComposite(const CompositeCall& call, CompositeBody body, absl::Span<Tensor> outputs) {
  ThreadState& state = State();
  if (__builtin_expect(state.checks, 0)) return ApplyCompositeChecked(call, body, outputs);
  bool whole = true, wants_grad = false;
  for (const Tensor* t : call.inputs) {
    whole = whole && t->ok();
    wants_grad = wants_grad || (t->ok() && NeedsGrad(state, *t));
  }
  Door* const door = state.door ? state.door : GlobalRuntime().eager;
  if (whole && !wants_grad) return door->Composite(call, body, outputs);
  // The tape records the primitives of the body, so most composites that need a gradient are not
  // one call.
  GradNodeRef node = whole ? GlobalRuntime().tape->PrepareComposite(call) : nullptr;
  if (!node) return body(outputs);
  {
    const absl::Cleanup enable = [&state] { state.grad_enabled = true; };
    state.grad_enabled = false;
    door->Composite(call, body, outputs);
  }
  if (outputs[0].ok()) GlobalRuntime().tape->Attach(std::move(node), &outputs[0]);
}

Status Read(const Value& value, Reading how) {
  if (value.is_error()) return *value.status;
  if (Pending* pending = value.pending.load(std::memory_order_acquire)) {
    // While it is waited for, another thread may let go of it.
    const ValueRef held = ValueRef::Share(const_cast<Value*>(&value));
    FZ_RETURN_IF_ERROR(pending->Force(&value));
  }
  if (__builtin_expect(!(value.device == Device()), 0))
    CountTransfer(value.device, Device(), value.size() * SizeOf(value.dtype));
  if (ReadObserver* observer = State().observer) observer->OnRead(value, how);
  return absl::OkStatus();
}

}  // namespace frazil
