// The call that came next the last time comes again, with one or two operands: it is compared with
// what a node's head says and deferred, in few instructions.
#include <bit>

#include "tracer/session_internal.h"

namespace frazil::tracer {

// Lock for the owner, where nothing inside takes it again: not taken if the long way is needed.
class Session::QuickLock {
 public:
  explicit QuickLock(Session* s) : s_(s) {
    if (__builtin_expect(s->lock_depth_ > 0, 0)) return;
    s->inside_.store(true, std::memory_order_relaxed);
    LightFence();
    taken_ = __builtin_expect(!s->busy_.load(std::memory_order_acquire), 1);
    if (!taken_) s->inside_.store(false, std::memory_order_release);
  }
  ~QuickLock() {
    if (taken_) s_->inside_.store(false, std::memory_order_release);
  }
  QuickLock(const QuickLock&) = delete;
  QuickLock& operator=(const QuickLock&) = delete;
  bool taken() const { return taken_; }

 private:
  Session* const s_;
  bool taken_ = false;
};

// The call that came next the last time. That it comes again is the common case, which needs none
// of the checks that decide how a call is taken.
Node* Session::Predicted() const {
  if (mode_ == Mode::kRecording || body_ || State().precision != precision_) return nullptr;
  return cursor_->predicted.load(std::memory_order_acquire);
}

// first: of the same call, before this one.
inline bool Session::MatchesOperand(const NodeHead::Operand& expected, const Value* v,
                                    const Value* first) const {
  if (expected.layout) {
    return v && v->layout == expected.layout && v->kind() == expected.kind && v->ready() &&
           !(v->storage && v->storage->foreign);
  }
  const int32_t ref = expected.ref;
  if (ref >= 0) return values_.data()[ref].get() == v;
  return (ref == NodeHead::kFirst ? first : slots_.data()[~ref].get()) == v;
}

inline Value* Session::Take(Node* call) {
  Advance(call);
  return DeferResult(call->result_kind, call->result_layout);
}

__attribute__((noinline)) void Session::AddSlots(const NodeHead& call, Value* a, Value* b) {
  if (call.plain[0].layout) slots_.push_back(ValueRef::Share(a));
  if (call.plain[1].layout) slots_.push_back(ValueRef::Share(b));
}

// b: null if there is but one operand.
inline Value* Session::TryPlain(uint64_t what, Value* a, Value* b) {
  const QuickLock lock(this);
  Node* const next = lock.taken() ? Predicted() : nullptr;
  if (!next || next->plain_what != NodeHead::Plain(what, b ? 2 : 1) ||
      !MatchesOperand(next->plain[0], a, nullptr) || (b && !MatchesOperand(next->plain[1], b, a)))
    return nullptr;
  if (next->num_fresh > 0) AddSlots(*next, a, b);
  return Take(next);
}

Value* Session::TryFew(uint64_t what, absl::Span<const Tensor* const> inputs) {
  return TryPlain(what, inputs[0]->value(), inputs.size() == 2 ? inputs[1]->value() : nullptr);
}

// Under the lock there is nobody who could share the value meanwhile, and its other holder is the
// session, which holds all that it still has to make.
bool Session::LetGo(const Value* value) {
  if (owner_.load(std::memory_order_relaxed) != &State()) return false;
  const QuickLock lock(this);
  return lock.taken() && value->pending.load(std::memory_order_relaxed) == this &&
         value->LeaveOne();
}

// Nothing is in the way if the segment ended here the last time, too, one result was wanted, and
// one small kernel makes it. False: nothing has happened.
bool Session::EndQuickly() {
  if (builder_ || values_.partly_filled() || values_.size() - 1 >= 64) return false;
  const uint64_t live = values_.LiveWord();
  Pin pin;
  const KeptPlan* kept = pin.Take(cursor_->latest);
  if (!kept || !kept->IsForOne(live, precision_)) return false;
  const int wanted = std::countr_zero(live);
  if (live == 0 || !kept->plan->FillQuick(slots_.data(), values_.data()[wanted].get()))
    return false;
  const uint64_t now = Bounds::Now();
  cursor_->used.store(now, std::memory_order_relaxed);
  kept->used.store(now, std::memory_order_relaxed);
  ++kernels_;
  gain_ += kept->gain;
  values_.RecycleBut(wanted);
  return true;
}

Value* Session::TryCall(OpId op, const Tensor& a) {
  return TryPlain(Primitive(op), a.value(), nullptr);
}

Value* Session::TryCall(OpId op, const Tensor& a, const Tensor& b) {
  return b.value() ? TryPlain(Primitive(op), a.value(), b.value()) : nullptr;
}

// Numbers are slots of their own: two calls never share one.
Value* Session::TryNumber(OpId op, const Tensor& a, uint64_t bits, bool first) {
  const QuickLock lock(this);
  Node* const next = lock.taken() ? Predicted() : nullptr;
  if (!next || next->plain_what != NodeHead::Plain(Primitive(op), 2)) return nullptr;
  const NodeHead::Operand &number = next->plain[first ? 0 : 1], &array = next->plain[first ? 1 : 0];
  if (number.layout != Scalar0d() || number.kind != Value::KindOf(a.dtype(), Device(), true) ||
      !MatchesOperand(array, a.value(), nullptr))
    return nullptr;
  if (first) slots_.push_back(Value::Immediate(a.dtype(), bits));
  if (array.layout) slots_.push_back(a.value_ref());
  if (!first) slots_.push_back(Value::Immediate(a.dtype(), bits));
  return Take(next);
}

void Node::SetHead() {
  if (!attrs.empty() || operands.empty() || operands.size() > plain.size() || results.size() != 1)
    return;
  num_fresh = 0;
  for (size_t i = 0; i < operands.size(); ++i) {
    plain[i].ref = operands[i];
    // Slots are numbered in the order in which they are met.
    if (num_fresh < slots.size() &&
        operands[i] == ~static_cast<int32_t>(static_cast<uint32_t>(first_slot) + num_fresh)) {
      const Parameter& guard = slots[num_fresh++];
      plain[i].kind = Value::KindOf(guard.dtype, guard.device, guard.immediate);
      plain[i].layout = guard.layout;
    } else if (i == 1 && plain[0].layout && operands[0] == operands[1]) {
      plain[i].ref = kFirst;
    }
  }
  plain_what = Plain(uint64_t{composite} << 32 | op, operands.size());
  result_kind = Value::KindOf(results[0].dtype, results[0].device, false);
  result_layout = results[0].layout;
}

}  // namespace frazil::tracer
