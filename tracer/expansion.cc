#include "tracer/expansion.h"

#include "tracer/tags.h"

namespace frazil::tracer {

HeldInputs::HeldInputs(absl::Span<const Tensor* const> inputs) {
  held_.reserve(inputs.size());
  for (const Tensor* t : inputs) {
    held_.push_back(Tensor(t->value_ref()));
    pointers_.push_back(&held_.back());
  }
}

ExpansionRecorder::ExpansionRecorder(const HeldInputs& inputs)
    : inputs_(inputs.get()), serial_(NextSerial()) {}

int32_t ExpansionRecorder::ResultOf(const Value& v) const {
  const uint64_t tag = GetTag(const_cast<Value*>(&v));
  if (v.immediate || tag >> (kNumberBits + 1) != serial_) return -1;
  return static_cast<int32_t>(tag & (kSlotBit - 1));
}

int32_t ExpansionRecorder::Operand(const Tensor& t) {
  const auto inputs = static_cast<int32_t>(inputs_.size());
  for (int32_t i = 0; i < inputs; ++i) {
    if (inputs_[i]->value() == t.value()) return ~i;
  }
  if (const int32_t result = ResultOf(*t.value()); result >= 0) return result;
  closed_ &= t.value()->immediate;
  expansion_->constants.push_back(t.value_ref());
  return ~(inputs + static_cast<int32_t>(expansion_->constants.size()) - 1);
}

void ExpansionRecorder::Add(const OpCall& call, const Tensor& output) {
  ExpandedOp op{call.op, Attrs(call.attrs.begin(), call.attrs.end()), {}};
  for (const Tensor* t : call.inputs) op.operands.push_back(Operand(*t));
  SetTag(output.value(), serial_ << (kNumberBits + 1) | expansion_->ops.size());
  expansion_->ops.push_back(std::move(op));
}

std::unique_ptr<Expansion> ExpansionRecorder::Finish(absl::Span<const Tensor> outputs) {
  for (const Tensor& t : outputs) {
    const int32_t result = t.ok() ? ResultOf(*t.value()) : -1;
    if (result < 0) return nullptr;
    expansion_->outputs.push_back(result);
  }
  return closed_ ? std::move(expansion_) : nullptr;
}

}  // namespace frazil::tracer
