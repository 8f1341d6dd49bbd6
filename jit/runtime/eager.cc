#include "jit/runtime/eager.h"

#include <algorithm>
#include <array>

#include "core/infer.h"
#include "core/tls.h"
#include "jit/runtime/lru.h"
#include "jit/runtime/plan_impl.h"

namespace frazil::jit {
namespace {

// What of an operand decides how an op runs.
uint64_t WordOf(const Value& v) {
  return v.layout->id << 17 | uint64_t(v.dtype) << 9 | uint64_t{v.device.word} << 1 |
         uint64_t{v.immediate};
}

// A call's hash: begun, mixed with a word for each operand and attribute, and ended.
uint64_t BeginHash(OpId op, Precision precision, uint64_t reusable) {
  // Not by 8: the two bytes, just written, would be read as one word and waited for.
  return (uint64_t(op) << 9 | uint64_t(precision)) * 0x9E3779B97F4A7C15u ^ reusable;
}
uint64_t Mix(uint64_t h, uint64_t word) { return (h ^ word) * 0xD6E8FEB86659FD93u; }
uint64_t EndHash(uint64_t h) { return h ^ h >> 32; }

struct CallKey {
  OpId op;
  Precision precision;
  uint64_t reusable;
  absl::InlinedVector<uint64_t, 4> inputs;
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

  uint64_t Hash() const {
    uint64_t h = BeginHash(op, precision, reusable);
    for (const Value* v : inputs) h = Mix(h, WordOf(*v));
    for (const int32_t operand : operands) h = Mix(h, uint64_t(operand));
    for (const int64_t attr : attrs) h = Mix(h, uint64_t(attr));
    return EndHash(h);
  }
  bool Is(const CallKey& key) const {
    if (op != key.op || precision != key.precision || reusable != key.reusable ||
        inputs.size() != key.inputs.size())
      return false;
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (WordOf(*inputs[i]) != key.inputs[i]) return false;
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
    for (const Value* v : inputs) key.inputs.push_back(WordOf(*v));
    return key;
  }
};

// How a call runs: as a view, or by a plan of one op.
struct PreparedCall {
  CallKey key;
  Inferred inferred;
  LayoutRef layout;                  // inferred.layout
  std::shared_ptr<const Plan> plan;  // null: a view
  QuickCall quick;                   // of the plan, if there are two operands and nothing else

  int64_t bytes() const {
    constexpr int64_t kOfTheMap = 96;
    return static_cast<int64_t>(sizeof(*this) + sizeof(CallKey)) + kOfTheMap +
           (plan ? plan->bytes() : 0);
  }
};

StatusOr<std::shared_ptr<const PreparedCall>> Prepare(const CallView& call) {
  auto prepared = std::make_shared<PreparedCall>();
  prepared->key = call.Key();
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
  if (call.inputs.size() == 2 && call.operands.empty() && call.attrs.empty() && call.reusable == 0)
    prepared->quick = static_cast<const PlanImpl&>(*prepared->plan).Quick();
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
constexpr size_t kTableSize = 1024;
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
  std::shared_ptr<const PreparedCall>& slot = (*t_table)[call.Hash() % kTableSize];
  if (!slot || !call.Is(slot->key)) {
    FZ_ASSIGN_OR_RETURN(slot, FindShared(call));
  }
  return RunPrepared(*slot, call.inputs);
}

// Of two operands, nothing else: without loops and without a look at what only others have. Null if
// it is not that simple, or not in the table.
const PreparedCall* FindQuick(OpId op, Precision precision, const Value& a, const Value& b) {
  if (__builtin_expect(t_table == nullptr, 0)) return nullptr;
  const uint64_t first = WordOf(a), second = WordOf(b);
  const uint64_t hash = EndHash(Mix(Mix(BeginHash(op, precision, 0), first), second));
  const PreparedCall* found = (*t_table)[hash % kTableSize].get();
  if (!found || !found->quick.fn || found->key.op != op || found->key.precision != precision ||
      found->key.inputs[0] != first || found->key.inputs[1] != second)
    return nullptr;
  return found;
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
  Tensor Call(const OpCall& call) override {
    const ThreadState& state = State();
    if (call.inputs.size() == 2 && call.attrs.empty() && !state.spent) {
      const Value &a = *call.inputs[0]->value(), &b = *call.inputs[1]->value();
      if (a.ready() && b.ready() && !a.is_error() && !b.is_error()) {
        if (const PreparedCall* found = FindQuick(call.op, state.precision, a, b))
          return found->quick.Run(a, b);
      }
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
