// What fits nothing recorded is run and recorded.
#include <algorithm>

#include "core/check.h"
#include "core/functions/composite.h"
#include "tracer/body_recorder.h"
#include "tracer/explain.h"
#include "tracer/program_without_data.h"
#include "tracer/script_builder.h"
#include "tracer/session_internal.h"

namespace frazil::tracer {

Tensor Session::RunEagerly(const OpCall& call) {
  // A deferred operand here was left by an op outside the segment's reach (a view of borrowed
  // memory, say).
  for (const Tensor* t : call.inputs) {
    if (t->value()->ready()) continue;
    if (Status s = Flush(); !s.ok()) return Tensor(std::move(s));
    if (!t->value()->ready()) return Tensor(Read(*t->value(), Reading::kInside));
  }
  return GlobalRuntime().eager->Call(call);
}

Status Session::StartRecording(const Request& request) {
  if (mode_ == Mode::kRecording) return absl::OkStatus();
  if (builder_) builder_->Postpone();
  const Explanation why = ExplainDeparture(
      *cursor_,
      {request.composite(), request.op(), request.inputs, request.attrs, slots_, values_.span()});
  if (values_.empty()) {
    recording_->Note(why, "; recorded");
    mode_ = Mode::kRecording;
    return absl::OkStatus();
  }
  const std::string effect = StrCat("; the ", cursor_->depth, " calls before it ran one by one");
  const std::string line = recording_->Note(why, effect);
  FZ_RETURN_IF_ERROR(LeaveReplay());
  if (strict_) {
    StartSegment();
    return RuntimeError("[trace] ", line, " mode(strict=True) does not fall back.");
  }
  mode_ = Mode::kRecording;
  return absl::OkStatus();
}

void Session::NoteBorrowed(OpId op) {
  if (recording_->FirstBorrowed(op)) {
    recording_->Note({Cause::kBorrowed, {{"op", NameOf(false, static_cast<uint32_t>(op))}}});
  } else {
    recording_->CountCause(Cause::kBorrowed);
  }
}

Status Session::LeaveReplay() {
  Node* here = cursor_;
  const int slots = static_cast<int>(slots_.size()), results = static_cast<int>(values_.size());
  // The next calls are recorded behind the same path: its values keep their numbers as tags.
  for (int i = 0; i < slots; ++i) {
    if (!slots_[i]->immediate) SetTag(slots_[i].get(), serial_ << (kNumberBits + 1) | kSlotBit | i);
  }
  LiveMask live;
  values_.FindLive(&live);
  flushing_ = true;
  const Status status = RunOneByOne(live);
  flushing_ = false;
  FZ_RETURN_IF_ERROR(status);
  fell_back_ = true;
  slots_.clear();
  values_.Clear();
  last_effect_ = -1;
  cursor_ = here;
  num_slots_ = slots;
  num_results_ = results;
  return absl::OkStatus();
}

void Session::Record(const Request& request, absl::Span<const Tensor> outputs,
                     std::shared_ptr<const Program> body) {
  auto node = std::make_unique<Node>();
  node->composite = request.composite();
  node->op = request.op();
  node->attrs.assign(request.attrs.begin(), request.attrs.end());
  node->hash = CallHash(request.what, request.inputs, request.attrs);
  node->parent = cursor_;
  node->depth = cursor_->depth + 1;
  node->first_result = num_results_;
  node->first_slot = num_slots_;
  for (const Tensor* t : request.inputs) {
    Value* v = t->value();
    const uint64_t tag = v->immediate ? 0 : GetTag(v);
    if (tag >> (kNumberBits + 1) == serial_) {
      const auto number = static_cast<int32_t>(tag & (kSlotBit - 1));
      node->operands.push_back(tag & kSlotBit ? ~number : number);
      continue;
    }
    if (!v->immediate)
      SetTag(v, serial_ << (kNumberBits + 1) | kSlotBit | static_cast<uint64_t>(num_slots_));
    node->operands.push_back(~num_slots_++);
    node->slots.push_back(Parameter::Of(*v));
  }
  for (const Tensor& t : outputs) {
    node->results.push_back({t.dtype(), t.device(), t.layout()});
    FZ_CHECK(!t.value()->immediate);
    SetTag(t.value(), serial_ << (kNumberBits + 1) | static_cast<uint64_t>(num_results_++));
  }
  node->body = std::move(body);
  node->SetHead();
  node->origin = Here();
  cursor_ = recording_->AddChild(cursor_, std::move(node));
  recorded_ = true;
}

void Session::RunComposite(const CompositeCall& call, CompositeBody body,
                           absl::Span<Tensor> outputs) {
  const HeldInputs inputs(call.inputs);
  const CompositeCall held{call.id, inputs.get(), call.attrs};
  if (auto program =
          ops::TakesMuch(call) ? ProgramWithoutData(held, body, outputs.size()) : nullptr) {
    Door* const door = std::exchange(State().door, nullptr);
    GlobalRuntime().eager->Composite(held, body, outputs);
    State().door = door;
    for (const Tensor& t : outputs) {
      if (!t.ok()) return;
    }
    return Record({CompositeRow(call.id), inputs.get(), call.attrs}, outputs, std::move(program));
  }
  BodyRecorder recorder(inputs);
  body_ = &recorder;
  body(outputs);
  body_ = nullptr;
  // A body of which there is no program is no call of the segment.
  if (auto program = recorder.Finish(outputs))
    Record({CompositeRow(call.id), inputs.get(), call.attrs}, outputs, std::move(program));
}

}  // namespace frazil::tracer
