#include "core/apply.h"

#include <cstring>

#include "core/check.h"
#include "core/infer.h"

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

}  // namespace

Tensor Apply(const OpCall& call) {
  ThreadState& state = State();
  bool wants_grad = false;
  for (const Tensor* t : call.inputs) {
    if (__builtin_expect(!t->ok(), 0)) return Tensor(t->status());
    wants_grad |= NeedsGrad(state, *t);
  }
  const OpInfo& info = Info(call.op);
  if (info.may_fail) {
    if (Status s = CheckData(call); !s.ok()) return Tensor(std::move(s));
  }
  Door* door = state.door ? state.door : GlobalRuntime().eager;
  // A view needs memory to point into.
  if (info.klass == OpClass::kView && call.inputs[0]->value()->immediate) {
    const Tensor stored = Store(*call.inputs[0]);
    const Tensor* input = &stored;
    return stored.ok() ? door->Call({call.op, {&input, 1}, call.attrs}) : stored;
  }
  Tensor out = door->Call(call);
  if (wants_grad && out.ok() && Differentiable(info)) GlobalRuntime().tape->Record(call, &out);
  return out;
}

Tensor Apply(OpId op, std::initializer_list<const Tensor*> inputs, AttrSpan attrs) {
  return Apply({op, absl::MakeConstSpan(inputs.begin(), inputs.size()), attrs});
}

void ApplyComposite(const CompositeCall& call, CompositeBody body, absl::Span<Tensor> outputs) {
  ThreadState& state = State();
  bool whole = state.door != nullptr;
  // The tape records the primitives of the body, so a composite that needs a gradient is not one
  // call.
  for (const Tensor* t : call.inputs) whole = whole && t->ok() && !NeedsGrad(state, *t);
  if (whole) {
    state.door->Composite(call, body, outputs);
  } else {
    body(outputs);
  }
}

Status Read(const Value& value, Reading how) {
  if (value.is_error()) return *value.status;
  if (!value.ready()) {
    Pending* pending = value.pending.load(std::memory_order_acquire);
    if (pending == nullptr) {
      FZ_CHECK(value.ready());
    } else {
      FZ_RETURN_IF_ERROR(pending->Force(&value));
    }
  }
  if (ReadObserver* observer = State().observer) observer->OnRead(value, how);
  return absl::OkStatus();
}

}  // namespace frazil
