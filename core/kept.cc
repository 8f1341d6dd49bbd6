#include "core/kept.h"

#include <utility>

#include "core/anomaly.h"
#include "core/check.h"

namespace frazil {
namespace {

thread_local KeepScope* t_scope = nullptr;

}  // namespace

KeepScope* KeepScope::Current() { return t_scope; }

KeepScope::KeepScope(KeptResults* kept, bool again) : kept_(kept), again_(again), before_(State()) {
  ThreadState& state = State();
  const bool in_vmap =
      state.door && state.door->rewrites();  // whose calls end at SlowDoor, or are not looked at
  active_ = kept->ops.any() && (in_vmap || !state.door || state.door == SlowDoor());
  if (!active_) return;
  outer_ = std::exchange(t_scope, this);
  state.checks = true;
  if (!in_vmap) state.door = SlowDoor();
}

KeepScope::~KeepScope() {
  if (!active_) return;
  t_scope = outer_;
  State().checks = before_.checks;
  State().door = before_.door;
}

KeepScope::Pause::Pause() : scope_(std::exchange(t_scope, nullptr)), checks_(State().checks) {
  State().checks = State().anomaly != nullptr;
}
KeepScope::Pause::~Pause() {
  t_scope = scope_;
  State().checks = checks_;
}

Tensor KeepScope::Call(KeepScope* scope, const OpCall& call) {
  ThreadState& state = State();
  if (state.door != SlowDoor()) return ApplyUnwatched(call);  // what a vmap makes of it comes here
  if (!scope) {
    const Pause pause;  // what the op is made of is part of it
    return state.anomaly ? ApplyLookedAt(call) : ApplyUnwatched(call);
  }
  if (!scope->kept_->ops[static_cast<size_t>(call.op)]) return Call(scope->outer_, call);
  std::vector<Tensor>& results = scope->kept_->results;
  if (!scope->again_ || scope->next_ == results.size()) {
    Tensor out = Call(scope->outer_, call);
    if (out.ok() && !scope->again_) results.push_back(out.Detach());
    return out;
  }
  Tensor out = results[scope->next_++];
  bool wants_grad = false;
  for (const Tensor* t : call.inputs) {
    if (!t->ok()) return Tensor(t->status());
    wants_grad |= NeedsGrad(state, *t);
  }
  if (!wants_grad || !Differentiable(Info(call.op))) return out;
  TapeHook* const tape = GlobalRuntime().tape;
  if (GradNodeRef node = tape->Prepare(call)) tape->Attach(std::move(node), &out);
  return out;
}

}  // namespace frazil
