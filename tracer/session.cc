// A call meets a session: how it is taken, and what it matches.
#include "tracer/session.h"

#include "core/check.h"
#include "core/collective.h"
#include "core/infer.h"
#include "tracer/body_recorder.h"
#include "tracer/explain.h"
#include "tracer/script_builder.h"
#include "tracer/segment_end.h"
#include "tracer/session_internal.h"

namespace frazil::tracer {

Tensor Session::Call(const OpCall& call) {
  if (call.attrs.empty() && call.inputs.size() - 1 < 2) {
    Value* const known = TryFew(Primitive(call.op), call.inputs);
    return known ? Tensor(ValueRef::Adopt(known)) : CallUnpredicted(call);
  }
  {
    const Lock lock(this, Lock::kOwner);
    if (Node* next = Predicted()) {
      // Word by word: the spans were just written so, and a wide load would wait for both halves.
      const Request request{Primitive(call.op),
                            {call.inputs.data(), call.inputs.size()},
                            {call.attrs.data(), call.attrs.size()}};
      if (Matches(*next, request)) {
        Tensor out;
        Defer(next, request, {&out, 1});
        return out;
      }
    }
  }
  return CallUnpredicted(call);
}

Tensor Session::CallUnpredicted(const OpCall& call) {
  // Results of another thread's trace become ready first, without holding our lock.
  for (const Tensor* t : call.inputs) {
    Pending* pending = t->value()->pending.load(std::memory_order_acquire);
    if (pending && pending != this) {
      if (Status s = Read(*t->value(), Reading::kInside); !s.ok()) return Tensor(std::move(s));
    }
  }
  Lock lock(this, Lock::kOwner);
  if (body_) {
    Tensor out = RunEagerly(call);
    if (out.ok()) body_->Add(call, out);
    return out;
  }
  const OpInfo& info = Info(call.op);
  bool foreign = false;
  for (const Tensor* t : call.inputs)
    foreign |= t->value()->storage && t->value()->storage->foreign;
  const bool external_view = info.klass == OpClass::kView && !RecordsViews() &&
                             call.inputs[0]->value()->ready() &&
                             (mode_ == Mode::kReplaying ||
                              GetTag(call.inputs[0]->value()) >> (kNumberBits + 1) != serial_ ||
                              (GetTag(call.inputs[0]->value()) & kSlotBit));
  if (external_view || foreign) {
    if (foreign && builder_) builder_->Refuse("an op reads borrowed memory");
    // Borrowed memory may change under us: what reads it runs now.
    if (foreign && !external_view) {
      NoteBorrowed(call.op);
      if (Status s = Flush(); !s.ok()) return Tensor(std::move(s));
    }
    return RunEagerly(call);
  }
  if (__builtin_expect(State().precision != precision_, 0)) {
    if (Status s = ChangePrecision(); !s.ok()) return Tensor(std::move(s));
  }
  const Request request{Primitive(call.op), call.inputs, call.attrs};
  if (EndsSegment(cursor_)) {
    if (Status s = Flush(); !s.ok()) return Tensor(std::move(s));
  }
  if (Node* child = FindChild(request)) {
    Tensor out;
    Defer(child, request, {&out, 1});
    return out;
  }
  return RunAndRecord(call);
}

Tensor Session::RunAndRecord(const OpCall& call) {
  // What is recorded is what ran: meanwhile another thread may replace the content of a cell.
  const HeldInputs inputs(call.inputs);
  const Request request{Primitive(call.op), inputs.get(), call.attrs};
  // What shapes and dtypes alone make an error is no call: whoever catches it goes on as before.
  if (auto made = Infer({call.op, inputs.get(), call.attrs}); !made.ok())
    return Tensor(made.status());
  if (Status s = StartRecording(request); !s.ok()) return Tensor(std::move(s));
  Tensor out = RunEagerly({call.op, inputs.get(), call.attrs});
  if (out.ok()) Record(request, {&out, 1}, nullptr);
  return out;
}

// A segment is computed with one precision.
Status Session::ChangePrecision() {
  FZ_RETURN_IF_ERROR(Flush());
  precision_ = State().precision;
  return absl::OkStatus();
}

void Session::Composite(const CompositeCall& call, CompositeBody body, absl::Span<Tensor> outputs) {
  if (body_) return body(outputs);  // part of the outer composite
  if (call.attrs.empty() && call.inputs.size() - 1 < 2 && outputs.size() == 1) {
    Value* const known = TryFew(CompositeRow(call.id), call.inputs);
    if (known) return outputs[0].Set(ValueRef::Adopt(known), nullptr);
  }
  for (const Tensor* t : call.inputs) {
    const Value& v = *t->value();
    Pending* pending = v.pending.load(std::memory_order_acquire);
    if (pending && pending != this && !Read(v, Reading::kInside).ok()) return body(outputs);
    if (v.ready() && v.storage && v.storage->foreign) return body(outputs);
  }
  Lock lock(this, Lock::kOwner);
  const Request request{CompositeRow(call.id), call.inputs, call.attrs};
  Status status = absl::OkStatus();
  if (__builtin_expect(State().precision != precision_, 0)) status = ChangePrecision();
  if (status.ok() && EndsSegment(cursor_)) status = Flush();
  if (!status.ok()) {
    for (Tensor& t : outputs) t = Tensor(status);
    return;
  }
  if (Node* child = FindChild(request)) return Defer(child, request, outputs);
  if (Status s = StartRecording(request); !s.ok()) {
    for (Tensor& t : outputs) t = Tensor(s);
    return;
  }
  RunComposite(call, body, outputs);
}

// ---- Matching

Node* Session::FindChild(const Request& request) {
  if (mode_ == Mode::kRecording) return nullptr;
  Node* predicted = cursor_->predicted.load(std::memory_order_acquire);
  if (predicted && Matches(*predicted, request)) return predicted;
  Node* child = SearchChild(request);
  if (child) Recording::Predict(cursor_, child);
  return child;
}

Node* Session::SearchChild(const Request& request) const {
  if (ChildIndex* index = cursor_->index.load(std::memory_order_acquire)) {
    const uint64_t hash = CallHash(request.what, request.inputs, request.attrs);
    Node* c = index->Bucket(hash).load(std::memory_order_acquire);
    for (; c; c = c->next_in_bucket.load(std::memory_order_acquire)) {
      if (c->hash == hash && Matches(*c, request)) return c;
    }
    return nullptr;
  }
  Node* c = cursor_->children.load(std::memory_order_acquire);
  for (; c; c = c->next.load(std::memory_order_acquire)) {
    if (Matches(*c, request)) return c;
  }
  return nullptr;
}

bool Session::Matches(const Node& node, const Request& request) const {
  const size_t n = request.inputs.size();
  const Tensor* const* inputs = request.inputs.data();
  const ValueRef *values = values_.data(), *slots = slots_.data();
  if ((uint64_t{node.composite} << 32 | node.op) != request.what || node.operands.size() != n ||
      AttrSpan(node.attrs) != request.attrs) {
    return false;
  }
  const int32_t* operands = node.operands.data();
  const size_t known = slots_.size();
  size_t fresh = 0;
  for (size_t i = 0; i < n; ++i) {
    const Value* v = inputs[i]->value();
    const int32_t ref = operands[i];
    if (ref >= 0) {
      if (values[ref].get() != v) return false;
      continue;
    }
    const size_t slot = ~ref;
    if (slot < known) {
      if (slots[slot].get() != v) return false;
    } else if (slot == known + fresh) {
      if (!node.slots[fresh].Admits(*v) || !v->ready() || (v->storage && v->storage->foreign))
        return false;
      ++fresh;
    } else {
      // A slot that this very call introduced at an earlier operand.
      for (size_t j = 0; j < i; ++j) {
        if (operands[j] == ref && inputs[j]->value() != v) return false;
      }
    }
  }
  return true;
}

void Session::Defer(Node* node, const Request& request, absl::Span<Tensor> outputs) {
  if (!node->slots.empty()) {
    for (size_t i = 0; i < node->operands.size(); ++i) {
      if (static_cast<size_t>(~node->operands[i]) == slots_.size())
        slots_.push_back(request.inputs[i]->value_ref());
    }
  }
  const Result* results = node->results.data();
  for (size_t r = 0; r < outputs.size(); ++r) {
    const uint32_t kind = Value::KindOf(results[r].dtype, results[r].device, false);
    outputs[r].Set(ValueRef::Adopt(DeferResult(kind, results[r].layout)), nullptr);
  }
  if (!node->composite && HasEffect(node->primitive())) {
    last_effect_ = static_cast<int32_t>(values_.size()) - 1;
    if (builder_) builder_->OnEffect();
  }
  Advance(node);
}

}  // namespace frazil::tracer
