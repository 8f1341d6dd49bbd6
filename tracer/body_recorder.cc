#include "tracer/body_recorder.h"

#include "tracer/tags.h"

namespace frazil::tracer {

HeldInputs::HeldInputs(absl::Span<const Tensor* const> inputs) {
  held_.reserve(inputs.size());
  for (const Tensor* t : inputs) {
    held_.push_back(Tensor(t->value_ref()));
    pointers_.push_back(&held_.back());
  }
}

BodyRecorder::BodyRecorder(const HeldInputs& inputs)
    : inputs_(inputs.get()), serial_(NextSerial()) {
  for (const Tensor* t : inputs_) program_->parameters.push_back(Parameter::Of(*t->value()));
}

ValueId BodyRecorder::ResultOf(const Value& v) const {
  const uint64_t tag = GetTag(const_cast<Value*>(&v));
  if (v.immediate || tag >> (kNumberBits + 1) != serial_) return -1;
  return static_cast<ValueId>(tag & (kSlotBit - 1));
}

ValueId BodyRecorder::Operand(const Tensor& t) {
  for (size_t i = 0; i < inputs_.size(); ++i) {
    if (inputs_[i]->value() == t.value()) return ~static_cast<ValueId>(i);
  }
  if (const ValueId result = ResultOf(*t.value()); result >= 0) return result;
  closed_ &= t.value()->immediate;
  program_->constants.push_back(t.value_ref());
  return program_->IdOfConstant(program_->constants.size() - 1);
}

void BodyRecorder::Add(const OpCall& call, const Tensor& output) {
  auto record = std::make_shared<CallRecord>();
  record->op = static_cast<uint32_t>(call.op);
  record->results.push_back({output.dtype(), output.device(), output.layout()});
  record->attrs.assign(call.attrs.begin(), call.attrs.end());
  Operands operands;
  for (const Tensor* t : call.inputs) operands.push_back(Operand(*t));
  SetTag(output.value(), serial_ << (kNumberBits + 1) | program_->calls.size());
  program_->calls.push_back({std::move(record), std::move(operands)});
}

std::shared_ptr<const Program> BodyRecorder::Finish(absl::Span<const Tensor> outputs) {
  for (const Tensor& t : outputs) {
    const ValueId result = t.ok() ? ResultOf(*t.value()) : -1;
    if (result < 0) return nullptr;
    program_->outputs.push_back({result, {}});
  }
  return closed_ ? std::move(program_) : nullptr;
}

}  // namespace frazil::tracer
