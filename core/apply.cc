#include "core/apply.h"

#include "core/check.h"
#include "core/infer.h"

namespace frazil {

ThreadState& State() {
  static thread_local ThreadState state;
  return state;
}

Runtime& GlobalRuntime() {
  static Runtime runtime;
  return runtime;
}

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
  Tensor out = door->Call(call);
  if (wants_grad && out.ok() && Differentiable(info)) GlobalRuntime().tape->Record(call, &out);
  return out;
}

Tensor Apply(OpId op, std::initializer_list<const Tensor*> inputs, AttrSpan attrs) {
  return Apply({op, absl::MakeConstSpan(inputs.begin(), inputs.size()), attrs});
}

Tensor ApplyComposite(const CompositeCall& call, absl::FunctionRef<Tensor()> body) {
  ThreadState& state = State();
  for (const Tensor* t : call.inputs) {
    // The tape records the primitives of the body, so a composite that needs a gradient is not one call.
    if (!t->ok() || NeedsGrad(state, *t)) return body();
  }
  return state.door ? state.door->Composite(call, body) : body();
}

Status Read(const Value& value) {
  if (value.is_error()) return *value.status;
  if (value.ready()) return absl::OkStatus();
  Pending* pending = value.pending.load(std::memory_order_acquire);
  if (pending == nullptr) {
    FZ_CHECK(value.ready());
    return absl::OkStatus();
  }
  return pending->Force(&value);
}

}  // namespace frazil
