#include "jit/eager/eager.h"

#include "jit/eager/eager_calls.h"
#include "jit/eager/eager_composite.h"

namespace frazil::jit {
namespace {

StatusOr<std::shared_ptr<const PreparedCall>> Prepare(OpId op, Precision precision,
                                                      const CallView& call) {
  auto prepared = std::make_shared<PreparedCall>();
  prepared->key = call.Key();
  if (call.quick()) {
    prepared->quick_key.what = call.what;
    prepared->quick_key.a = prepared->key.inputs[0];
    if (call.inputs.size() == 2) prepared->quick_key.b = prepared->key.inputs[1];
  }
  Graph graph;
  absl::InlinedVector<int32_t, 4> operands(call.operands.begin(), call.operands.end());
  for (const Value* v : call.inputs) {
    const int32_t id = graph.AddInput(v->dtype, v->device, v->layout, v->immediate);
    if (call.operands.empty()) operands.push_back(id);
  }
  FZ_ASSIGN_OR_RETURN(const Inferred inferred, InferNode(graph, op, operands, call.attrs));
  if (inferred.view) {
    prepared->how = PreparedCall::View{inferred, inferred.layout};
    return prepared;
  }
  FZ_ASSIGN_OR_RETURN(const int32_t id, graph.AddOp(op, operands, call.attrs));
  graph.outputs = {id};
  FZ_ASSIGN_OR_RETURN(PreparedCall::Op plan,
                      Compile(std::move(graph), {.precision = precision,
                                                 .reusable = call.reusable,
                                                 .lent_by_cell = call.reusable != 0}));
  if (call.quick() && plan->quick().IsForTwo()) prepared->quick = plan->quick();
  prepared->how = std::move(plan);
  return prepared;
}

StatusOr<ValueRef> RunPrepared(const PreparedCall& prepared, absl::Span<Value* const> inputs) {
  if (const auto* plan = std::get_if<PreparedCall::Op>(&prepared.how)) {
    ValueRef out;
    FZ_RETURN_IF_ERROR((*plan)->Run(inputs, absl::MakeSpan(&out, 1)));
    return out;
  }
  const Inferred& i = std::get<PreparedCall::View>(prepared.how).inferred;
  return MakeView(*inputs[0], i.dtype, i.layout, i.offset * SizeOf(i.dtype));
}

StatusOr<ValueRef> RunCall(OpId op, Precision precision, const CallView& call) {
  std::shared_ptr<const PreparedCall>& slot = CallSlot(call.Hash());
  if (!slot || !call.Is(slot->key)) {
    std::shared_ptr<const PreparedCall> found = FindShared(call.Key());
    if (!found) {
      FZ_ASSIGN_OR_RETURN(found, Prepare(op, precision, call));
      found = Share(std::move(found));
    }
    slot = std::move(found);
  }
  return RunPrepared(*slot, call.inputs);
}

// Without loops and without a look at what only others have; null if it is not in the table.
inline const PreparedCall* FindQuick(uint64_t what, const OperandWords& a, const OperandWords& b) {
  if (__builtin_expect(t_calls == nullptr, 0)) return nullptr;
  const PreparedCall* found = CallSlot(QuickHash(what, a, b)).get();
  if (!found || found->quick_key.what != what || found->quick_key.a != a || found->quick_key.b != b)
    return nullptr;
  return found;
}

bool Usable(const Tensor& t) {
  const Value* v = t.value();
  return v && !v->is_error() && v->ready();
}

Value* Own(StatusOr<ValueRef> result) {
  return result.ok() ? result->release() : Value::Error(std::move(result).status()).release();
}

// One value that is several operands becomes one input, so that x += x may write over x.
StatusOr<ValueRef> RunReusing(OpId op, Precision precision, absl::Span<Value* const> inputs,
                              AttrSpan attrs, uint64_t reusable) {
  const DistinctInputs distinct(inputs);
  uint64_t reused = 0;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const int32_t input = distinct.operands[i];
    if (i < 64 && reusable >> i & 1 && input < 64) reused |= uint64_t{1} << input;
  }
  return RunCall(op, precision,
                 {Called::Op(op, precision), reused, distinct.values, distinct.operands, attrs});
}

// Operands that are the spent value, if the result is to have its dtype and shape.
uint64_t OverwritableOperands(const OpCall& call, const Value* spent) {
  const OpInfo& info = Info(call.op);
  if (info.klass == OpClass::kPut) return call.inputs[0]->value() == spent;
  if (info.klass != OpClass::kElementwise || info.result != ResultType::kSame) return 0;
  uint64_t bits = 0;
  for (size_t i = 0; i < call.inputs.size(); ++i) {
    if (call.inputs[i]->value() == spent) bits |= uint64_t{1} << i;
    const auto shape = BroadcastShapes(info.name, spent->layout, call.inputs[i]->layout());
    if (!shape.ok() || *shape != spent->layout->shape) return 0;
  }
  return bits;
}

class EagerDoorImpl : public Door {
 public:
  Value* TryCall(OpId op, const Tensor& a) override {
    const ThreadState& state = State();
    if (!Usable(a) || state.spent) return nullptr;
    Value& x = *a.value();
    const PreparedCall* found = FindQuick(Called::Op(op, state.precision), OperandWords(x), {});
    if (!found) return nullptr;
    if (found->quick.fn) return found->quick.Run(x, x);
    Value* const input = &x;
    return Own(RunPrepared(*found, {&input, 1}));
  }
  Value* TryCall(OpId op, const Tensor& a, const Tensor& b) override {
    const ThreadState& state = State();
    if (!Usable(a) || !Usable(b) || state.spent) return nullptr;
    Value &x = *a.value(), &y = *b.value();
    const PreparedCall* found =
        FindQuick(Called::Op(op, state.precision), OperandWords(x), OperandWords(y));
    if (!found) return nullptr;
    if (__builtin_expect(found->quick.fn != nullptr, 1)) return found->quick.Run(x, y);
    Value* const inputs[] = {&x, &y};
    return Own(RunPrepared(*found, inputs));
  }
  Value* TryNumber(OpId op, const Tensor& a, uint64_t bits, bool first) override {
    const ThreadState& state = State();
    if (!Usable(a) || state.spent) return nullptr;
    const Value& x = *a.value();
    const OperandWords array(x), number = OperandWords::Number(x.dtype);
    const PreparedCall* found =
        FindQuick(Called::Op(op, state.precision), first ? number : array, first ? array : number);
    if (!found || !found->quick.fn) return nullptr;
    const QuickOperand n(&bits);
    return first ? found->quick.Run(n, x) : found->quick.Run(x, n);
  }

  Tensor Call(const OpCall& call) override {
    const ThreadState& state = State();
    if (call.attrs.empty() && call.inputs.size() - 1 < 2) {
      Value* const quick = call.inputs.size() == 2
                               ? TryCall(call.op, *call.inputs[0], *call.inputs[1])
                               : TryCall(call.op, *call.inputs[0]);
      if (quick) return Tensor(ValueRef::Adopt(quick));
    }
    absl::InlinedVector<Value*, 4> inputs(call.inputs.size());
    for (size_t i = 0; i < inputs.size(); ++i) inputs[i] = call.inputs[i]->value();
    // A session that falls back has reasons of its own to keep operands.
    const bool spent = __builtin_expect(state.spent != nullptr, 0) && state.door == nullptr;
    auto out =
        RunOp(call.op, inputs, call.attrs, spent ? OverwritableOperands(call, state.spent) : 0);
    if (!out.ok()) return Tensor(std::move(out).status());
    return Tensor(*std::move(out));
  }

  void Composite(const CompositeCall& call, CompositeBody body,
                 absl::Span<Tensor> outputs) override {
    RunComposite(call, body, outputs);
  }
};

}  // namespace

Door* EagerDoor() {
  static EagerDoorImpl door;
  return &door;
}

OverwriteScope::OverwriteScope(const Value* spent) {
  if (!spent->immediate) State().spent = spent;
}
OverwriteScope::~OverwriteScope() { State().spent = nullptr; }

namespace {

StatusOr<ValueRef> RunReady(OpId op, absl::Span<Value* const> inputs, AttrSpan attrs,
                            uint64_t reusable) {
  const Precision precision = State().precision;
  if (reusable != 0) return RunReusing(op, precision, inputs, attrs, reusable);
  return RunCall(op, precision, {Called::Op(op, precision), 0, inputs, {}, attrs});
}

// While one operand is waited for, another thread may let go of the others.
StatusOr<ValueRef> RunAfterReading(OpId op, absl::Span<Value* const> inputs, AttrSpan attrs) {
  absl::InlinedVector<ValueRef, 4> held;
  for (Value* v : inputs) held.push_back(ValueRef::Share(v));
  for (const Value* v : inputs) FZ_RETURN_IF_ERROR(Read(*v, Reading::kInside));
  return RunReady(op, inputs, attrs, 0);
}

}  // namespace

StatusOr<ValueRef> RunOp(OpId op, absl::Span<Value* const> inputs, AttrSpan attrs,
                         uint64_t reusable) {
  for (const Value* v : inputs) {
    if (v->pending.load(std::memory_order_acquire) || v->is_error())
      return RunAfterReading(op, inputs, attrs);
  }
  return RunReady(op, inputs, attrs, reusable);
}

}  // namespace frazil::jit
