#include "jit/runtime/eager.h"

#include <algorithm>
#include <array>

#include "core/infer.h"
#include "core/tls.h"
#include "jit/runtime/lru.h"
#include "jit/runtime/plan_impl.h"

namespace frazil::jit {
namespace {

// What of an operand decides how an op runs: its layout's id, and its kind().
struct OperandWords {
  uint64_t layout = 0;
  uint32_t kind = ~uint32_t{0};  // of no operand

  OperandWords() = default;
  explicit OperandWords(const Value& v) : layout(v.layout->id), kind(v.kind()) {}
  static OperandWords Number(DType dtype) {
    OperandWords words;
    words.layout = Scalar0d()->id;
    words.kind = Value::KindOf(dtype, Device(), true);
    return words;
  }

  bool operator==(const OperandWords&) const = default;
  template <typename H>
  friend H AbslHashValue(H h, const OperandWords& w) {
    return H::combine(std::move(h), w.layout, w.kind);
  }
};

uint64_t What(OpId op, Precision precision) { return uint64_t(op) | uint64_t(precision) << 8; }

// Of a call of one or two operands and nothing else. The upper bits are the good ones.
uint64_t QuickHash(uint64_t what, const OperandWords& a, const OperandWords& b) {
  return a.layout * 0x9E3779B97F4A7C15u + b.layout * 0xD6E8FEB86659FD93u +
         (a.kind | uint64_t{b.kind} << 32) * 0xC2B2AE3D27D4EB4Fu + what * 0x165667B19E3779F9u;
}
uint64_t Mix(uint64_t h, uint64_t word) {
  h = (h ^ word) * 0xD6E8FEB86659FD93u;
  return h ^ h >> 32;
}

struct CallKey {
  OpId op;
  Precision precision;
  uint64_t reusable;
  absl::InlinedVector<OperandWords, 4> inputs;
  absl::InlinedVector<int32_t, 4> operands;
  Attrs attrs;

  bool operator==(const CallKey&) const = default;
  template <typename H>
  friend H AbslHashValue(H h, const CallKey& k) {
    return H::combine(std::move(h), k.op, k.precision, k.reusable, k.inputs, k.operands, k.attrs);
  }
};

// A call as it arrives: everything a key holds, without memory of its own.
struct CallView {
  OpId op;
  Precision precision;
  uint64_t reusable;
  absl::Span<Value* const> inputs;
  absl::Span<const int32_t> operands;  // input of each operand; empty: one each, in order
  AttrSpan attrs;

  // Nothing but one or two operands.
  bool quick() const {
    return inputs.size() - 1 < 2 && attrs.empty() && operands.empty() && reusable == 0;
  }
  uint64_t Hash() const {
    if (quick())
      return QuickHash(What(op, precision), OperandWords(*inputs[0]),
                       inputs.size() == 2 ? OperandWords(*inputs[1]) : OperandWords());
    uint64_t h = Mix(What(op, precision), reusable);
    for (const Value* v : inputs) h = Mix(h, v->layout->id ^ uint64_t{v->kind()} << 40);
    for (const int32_t operand : operands) h = Mix(h, uint64_t(operand));
    for (const int64_t attr : attrs) h = Mix(h, uint64_t(attr));
    return h << 32;
  }
  bool Is(const CallKey& key) const {
    if (op != key.op || precision != key.precision || reusable != key.reusable ||
        inputs.size() != key.inputs.size())
      return false;
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (OperandWords(*inputs[i]) != key.inputs[i]) return false;
    }
    return attrs == AttrSpan(key.attrs) && operands == absl::Span<const int32_t>(key.operands);
  }
  CallKey Key() const {
    CallKey key{op,
                precision,
                reusable,
                {},
                {operands.begin(), operands.end()},
                {attrs.begin(), attrs.end()}};
    for (const Value* v : inputs) key.inputs.emplace_back(*v);
    return key;
  }
};

// A CallKey of one or two operands and nothing else.
struct QuickKey {
  uint64_t what = ~uint64_t{0};  // of no such call
  OperandWords a, b;
};

// How a call runs: as a view, or by a plan of one op.
struct PreparedCall {
  CallKey key;
  Inferred inferred;
  LayoutRef layout;                  // inferred.layout
  std::shared_ptr<const Plan> plan;  // null: a view
  QuickKey quick_key;
  QuickCall quick;  // of the plan, if there are but one or two operands

  int64_t bytes() const {
    constexpr int64_t kOfTheMap = 96;
    return static_cast<int64_t>(sizeof(*this) + sizeof(CallKey)) + kOfTheMap +
           (plan ? plan->bytes() : 0);
  }
};

StatusOr<std::shared_ptr<const PreparedCall>> Prepare(const CallView& call) {
  auto prepared = std::make_shared<PreparedCall>();
  prepared->key = call.Key();
  if (call.quick()) {
    prepared->quick_key.what = What(call.op, call.precision);
    prepared->quick_key.a = prepared->key.inputs[0];
    if (call.inputs.size() == 2) prepared->quick_key.b = prepared->key.inputs[1];
  }
  Graph graph;
  absl::InlinedVector<int32_t, 4> operands(call.operands.begin(), call.operands.end());
  for (const Value* v : call.inputs) {
    const int32_t id = graph.AddInput(v->dtype, v->device, v->layout, v->immediate);
    if (call.operands.empty()) operands.push_back(id);
  }
  FZ_ASSIGN_OR_RETURN(prepared->inferred, InferNode(graph, call.op, operands, call.attrs));
  prepared->layout = prepared->inferred.layout;
  if (prepared->inferred.view) return prepared;
  FZ_ASSIGN_OR_RETURN(const int32_t id, graph.AddOp(call.op, operands, call.attrs));
  graph.outputs = {id};
  FZ_ASSIGN_OR_RETURN(prepared->plan,
                      Compile(std::move(graph), {.precision = call.precision,
                                                 .reusable = call.reusable,
                                                 .lent_by_cell = call.reusable != 0}));
  if (call.quick()) prepared->quick = static_cast<const PlanImpl&>(*prepared->plan).Quick();
  return prepared;
}

// Shared by all threads, behind the table of each.
LruCache<CallKey, PreparedCall>& SharedCalls() {
  static constexpr Bound kBound{Setting::k_eager_entries, Setting::k_eager_bytes,
                                tracer::Cause::kEvictedEager, "plans of single ops"};
  static auto* cache = new LruCache<CallKey, PreparedCall>(kBound);
  return *cache;
}

StatusOr<std::shared_ptr<const PreparedCall>> FindShared(const CallView& call) {
  const CallKey key = call.Key();
  if (auto found = SharedCalls().Find(key)) return found;
  FZ_ASSIGN_OR_RETURN(std::shared_ptr<const PreparedCall> made, Prepare(call));
  const int64_t bytes = made->bytes();
  return SharedCalls().Add(key, std::move(made), bytes);
}

// Direct-mapped: a call replaces whatever lies at its hash.
constexpr int kTableBits = 10;
constexpr size_t kTableSize = size_t{1} << kTableBits;
using CallTable = std::array<std::shared_ptr<const PreparedCall>, kTableSize>;

StatusOr<ValueRef> RunPrepared(const PreparedCall& prepared, absl::Span<Value* const> inputs) {
  if (!prepared.plan) {
    const Inferred& i = prepared.inferred;
    return MakeView(*inputs[0], i.dtype, i.layout, i.offset * SizeOf(i.dtype));
  }
  ValueRef out;
  FZ_RETURN_IF_ERROR(prepared.plan->Run(inputs, absl::MakeSpan(&out, 1)));
  return out;
}

FZ_HOT_TLS CallTable* t_table = nullptr;

CallTable* MakeTable() {
  static thread_local std::unique_ptr<CallTable> table = std::make_unique<CallTable>();
  return table.get();
}

StatusOr<ValueRef> RunCall(const CallView& call) {
  if (__builtin_expect(t_table == nullptr, 0)) t_table = MakeTable();
  std::shared_ptr<const PreparedCall>& slot = (*t_table)[call.Hash() >> (64 - kTableBits)];
  if (!slot || !call.Is(slot->key)) {
    FZ_ASSIGN_OR_RETURN(slot, FindShared(call));
  }
  return RunPrepared(*slot, call.inputs);
}

// Without loops and without a look at what only others have; null if it is not in the table.
inline const PreparedCall* FindQuick(uint64_t what, const OperandWords& a, const OperandWords& b) {
  if (__builtin_expect(t_table == nullptr, 0)) return nullptr;
  const PreparedCall* found = (*t_table)[QuickHash(what, a, b) >> (64 - kTableBits)].get();
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
StatusOr<ValueRef> RunReusing(const CallView& call) {
  absl::InlinedVector<Value*, 4> values;
  absl::InlinedVector<int32_t, 4> operands;
  uint64_t reusable = 0;
  for (size_t i = 0; i < call.inputs.size(); ++i) {
    const auto at = std::find(values.begin(), values.end(), call.inputs[i]);
    const size_t input = at - values.begin();
    if (at == values.end()) values.push_back(call.inputs[i]);
    if (i < 64 && call.reusable >> i & 1 && input < 64) reusable |= uint64_t{1} << input;
    operands.push_back(static_cast<int32_t>(input));
  }
  return RunCall({call.op, call.precision, reusable, values, operands, call.attrs});
}

// Operands that are the spent value, if the result is to have its dtype and shape.
uint64_t SpentOperands(const OpCall& call, const Value* spent) {
  const OpInfo& info = Info(call.op);
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
    const PreparedCall* found = FindQuick(What(op, state.precision), OperandWords(x), {});
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
        FindQuick(What(op, state.precision), OperandWords(x), OperandWords(y));
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
        FindQuick(What(op, state.precision), first ? number : array, first ? array : number);
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
    auto out = RunOp(call.op, inputs, call.attrs, spent ? SpentOperands(call, state.spent) : 0);
    if (!out.ok()) return Tensor(std::move(out).status());
    return Tensor(*std::move(out));
  }
};

}  // namespace

Kept EagerKept() { return SharedCalls().kept(); }
void ShrinkEager(bool more) { SharedCalls().Shrink(more); }

Door* EagerDoor() {
  static EagerDoorImpl door;
  return &door;
}

SpentScope::SpentScope(const Value* spent) {
  if (!spent->immediate) State().spent = spent;
}
SpentScope::~SpentScope() { State().spent = nullptr; }

namespace {

// While one operand is waited for, another thread may let go of the others.
StatusOr<ValueRef> RunAfterReading(OpId op, absl::Span<Value* const> inputs, AttrSpan attrs) {
  absl::InlinedVector<ValueRef, 4> held;
  for (Value* v : inputs) held.push_back(ValueRef::Share(v));
  for (const Value* v : inputs) FZ_RETURN_IF_ERROR(Read(*v, Reading::kInside));
  return RunCall({op, State().precision, 0, inputs, {}, attrs});
}

}  // namespace

StatusOr<ValueRef> RunOp(OpId op, absl::Span<Value* const> inputs, AttrSpan attrs,
                         uint64_t reusable) {
  for (const Value* v : inputs) {
    if (v->pending.load(std::memory_order_acquire) || v->is_error())
      return RunAfterReading(op, inputs, attrs);
  }
  const CallView call{op, State().precision, reusable, inputs, {}, attrs};
  return reusable == 0 ? RunCall(call) : RunReusing(call);
}

}  // namespace frazil::jit
