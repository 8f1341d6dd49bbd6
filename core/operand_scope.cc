#include "core/operand_scope.h"

#include <utility>

#include "core/kept.h"

namespace frazil {
namespace {

thread_local OperandScope* t_scope = nullptr;

}  // namespace

OperandScope* OperandScope::Current() { return t_scope; }

OperandScope::OperandScope() : outer_(std::exchange(t_scope, this)), checks_(State().checks) {
  State().checks = true;
}

OperandScope::~OperandScope() {
  t_scope = outer_;
  State().checks = checks_;
}

OperandScope::Pause::Pause() : scope_(std::exchange(t_scope, nullptr)), checks_(State().checks) {
  State().checks = State().anomaly || KeepScope::Current();
}
OperandScope::Pause::~Pause() {
  t_scope = scope_;
  State().checks = checks_;
}

Tensor OperandScope::All(const Tensor& operand) {
  return Replace(outer_ ? outer_->All(operand) : operand);
}

Tensor OperandScope::Call(OperandScope* scope, const OpCall& call) {
  const Pause pause;
  absl::InlinedVector<Tensor, 3> operands;
  absl::InlinedVector<const Tensor*, 3> inputs;
  for (const Tensor* t : call.inputs) operands.push_back(t->ok() ? scope->All(*t) : *t);
  for (const Tensor& t : operands) inputs.push_back(&t);
  return Apply({call.op, inputs, call.attrs, call.indices_checked});
}

}  // namespace frazil
