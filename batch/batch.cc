#include "batch/batch.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/cleanup/cleanup.h"
#include "absl/container/flat_hash_map.h"
#include "autograd/custom.h"
#include "batch/last_door.h"
#include "batch/rules.h"
#include "batch/taken.h"
#include "core/check.h"
#include "core/functions/ops.h"
#include "core/infer.h"
#include "core/operand_scope.h"

namespace frazil::batch {

class BatchDoor final : public RefCounted, public Door, public Pending {
 public:
  BatchDoor(int64_t size, Randomness randomness) : size_(size), randomness_(randomness) {}
  ~BatchDoor() override = default;
  static void Free(BatchDoor* door) { delete door; }

  // Where the scope was entered.
  struct Entry {
    Door* outer = nullptr;
    int grad_limit = 0;  // history of scopes from there on does not count outside
    bool open = false;
  };
  // Enters it, again or within itself too; what Leave needs.
  Entry Enter() {
    ThreadState& state = State();
    ++state.transforms;
    const int limit = std::min(state.grad_limit, state.grad_depth + 1);
    return std::exchange(entry_, {std::exchange(state.door, this), limit, true});
  }
  void Leave(const Entry& before) {
    ThreadState& state = State();
    --state.transforms;
    state.door = entry_.outer;
    entry_ = before;
  }

  Tensor Call(const OpCall& call) override;
  bool rewrites() const override { return true; }
  void Composite(const CompositeCall& call, CompositeBody body,
                 absl::Span<Tensor> outputs) override;

  Status Force(const Value* value) override;
  bool LetGo(const Value*) override { return false; }
  ValueRef Behind(const Value* value) override;

  // Where its calls end.
  Door*& outer() { return entry_.outer; }

  // Runs f at the door outside, where what scopes of gradients inside made does not count.
  template <typename F>
  auto Outside(const F& f) {
    ThreadState& state = State();
    const absl::Cleanup back = [&state, door = state.door, limit = state.grad_limit] {
      state.door = door;
      state.grad_limit = limit;
    };
    state.door = entry_.outer;
    state.grad_limit = std::min(state.grad_limit, entry_.grad_limit);
    return f();
  }
  // The whole of a tensor that is batched in this scope, or null.
  const Tensor* WholeOf(const Tensor& t) const;
  // If it is, when it was made (t_ways).
  std::optional<uint64_t> Since(const Tensor& t) const;
  // The tensor of one example.
  Tensor OfExample(Tensor whole, const Layout* layout);
  Tensor Whole(const Tensor& t, int64_t axis);

  const int64_t size_;

 private:
  Tensor Pass(const OpCall& call);
  Tensor Random(const OpCall& call);

  Door* outside() const { return entry_.outer ? entry_.outer : GlobalRuntime().eager; }

  const Randomness randomness_;
  Entry entry_;
};

namespace {

// What holds the whole behind a batched value: its storage, without bytes.
struct Box {
  Ref<BatchDoor> door;
  Tensor whole;
  uint64_t since;  // of Ways
};
// How many TakenScopes this thread has entered.
FZ_HOT_TLS uint64_t t_ways = 0;

void ReleaseBox(OwnedStorage* s) {
  delete static_cast<Box*>(s->context);
  delete s;
}

BatchDoor* Inner() {
  Door* const door = State().door;
  return door && door->rewrites() ? static_cast<BatchDoor*>(door) : nullptr;
}

}  // namespace

const Tensor* BatchDoor::WholeOf(const Tensor& t) const {
  const Value* v = t.value();
  if (v->pending.load(std::memory_order_relaxed) != this) return nullptr;
  return &static_cast<Box*>(static_cast<OwnedStorage*>(v->storage)->context)->whole;
}

std::optional<uint64_t> BatchDoor::Since(const Tensor& t) const {
  if (!WholeOf(t)) return std::nullopt;
  return static_cast<Box*>(static_cast<OwnedStorage*>(t.value()->storage)->context)->since;
}

Tensor BatchDoor::OfExample(Tensor whole, const Layout* layout) {
  if (!whole.ok()) return whole;
  const uint32_t kind = Value::KindOf(whole.dtype(), whole.device(), false);
  Value* const value = Value::Deferred(kind, layout, this, 0);
  const ValueRef ours = ValueRef::Adopt(value);  // nobody but the results holds it
  auto* box = new OwnedStorage;
  box->release = ReleaseBox;
  box->context = new Box{Ref<BatchDoor>::Share(this), std::move(whole), t_ways};
  value->storage = box;
  return Tensor(ValueRef::Adopt(value));
}

Tensor BatchDoor::Pass(const OpCall& call) {
  return Outside([&] { return outside()->Call(call); });
}

Tensor BatchDoor::Call(const OpCall& call) {
  absl::InlinedVector<Operand, 3> operands;
  bool any = false;
  for (const Tensor* t : call.inputs) {
    const Tensor* whole = WholeOf(*t);
    operands.push_back(whole ? Operand{*whole, true} : Operand{*t, false});
    any |= whole != nullptr;
  }
  if (!any && call.op == OpId::k_random_bits && randomness_ != Randomness::kSame)
    return Random(call);
  if (!any) return Pass(call);
  const StatusOr<Inferred> inferred = Infer(call);
  if (!inferred.ok()) return Tensor(inferred.status());
  const LayoutRef layout(inferred->layout);
  const Tensor whole = Outside(
      [&] { return batch::WholeOf(call.op, operands, call.attrs, inferred->layout->rank, size_); });
  return OfExample(whole, inferred->layout);
}

// A state of their own for the numbers of this call: the generator moves on by one example's.
Tensor BatchDoor::Random(const OpCall& call) {
  if (randomness_ == Randomness::kError) {
    return RuntimeError(
        "[vmap] the function draws random numbers from a generator that all examples share; say "
        "randomness='different' for numbers of each example's own, or 'same', or pass keys along a "
        "batched axis.");
  }
  return Outside([&] {
    using namespace ops;  // NOLINT: operators on tensors
    // splitmix64 (Steele, Lea and Flood 2014) of both words, so that no two calls share numbers.
    const auto mixed = [](Tensor z) {
      const auto step = [&z](int64_t by, uint64_t factor) {
        z = multiply(bitwise_xor(z, bitwise_right_shift(z, by)),
                     Tensor(Value::Immediate(DType::kU64, factor)));
      };
      step(30, 0xBF58476D1CE4E5B9u);
      step(27, 0x94D049BB133111EBu);
      return bitwise_xor(z, bitwise_right_shift(z, int64_t{31}));
    };
    const Tensor& state = *call.inputs[0];
    const Tensor key = slice(state, {0, 1, 1}), counter = slice(state, {1, 1, 1});
    const Tensor gamma(Value::Immediate(DType::kU64, 0x9E3779B97F4A7C15u));
    const Tensor own = mixed(bitwise_xor(mixed(add(counter, gamma)), key));
    const Tensor states = concat(std::vector<Tensor>{own, multiply(own, Arg(int64_t{0}))}, 0);
    Attrs dims(call.attrs.begin(), call.attrs.end());
    const LayoutRef layout(Dense(dims));
    dims.insert(dims.begin(), size_);
    return OfExample(random_bits(states, dims), layout.get());
  });
}

void BatchDoor::Composite(const CompositeCall& call, CompositeBody body,
                          absl::Span<Tensor> outputs) {
  for (const Tensor* t : call.inputs)
    if (WholeOf(*t)) return body(outputs);
  Outside([&] { outside()->Composite(call, body, outputs); });
}

Status BatchDoor::Force(const Value* value) {
  const std::string what = Describe(*value);
  if (!entry_.open) {
    return RuntimeError("[vmap] ", what,
                        " was made inside a vmap that has ended: return it from the function.");
  }
  return RuntimeError("[vmap] the elements of ", what, " differ between ", size_,
                      " examples, so the program cannot look at them: use where, cond or "
                      "while_loop in place of if and while.");
}

ValueRef BatchDoor::Behind(const Value* value) {
  if (!entry_.open) return nullptr;
  return static_cast<Box*>(static_cast<OwnedStorage*>(value->storage)->context)->whole.value_ref();
}

Tensor BatchDoor::Whole(const Tensor& t, int64_t axis) {
  return Outside([&] {
    const Tensor* whole = WholeOf(t);
    const Tensor all = Spread(whole ? Operand{*whole, true} : Operand{t, false}, size_);
    return MoveAxis(all, 0, static_cast<int>(axis));
  });
}

BatchScope::BatchScope(int64_t size, Randomness randomness)
    : door_(Ref<BatchDoor>::Adopt(new BatchDoor(size, randomness))) {
  door_->Enter();
}
BatchScope::~BatchScope() { door_->Leave({}); }

StatusOr<Tensor> BatchScope::OfExample(const Tensor& whole, int64_t axis) {
  FZ_RETURN_IF_ERROR(whole.status());
  const int64_t rank = whole.rank(), from = axis < 0 ? axis + rank : axis;
  if (from < 0 || from >= rank || whole.dims()[from] != door_->size_) {
    return ValueError("[vmap] axis ", axis, " of ", Describe(whole), " has not ", door_->size_,
                      " examples.");
  }
  const Tensor front = door_->Outside([&] { return MoveAxis(whole, static_cast<int>(from), 0); });
  FZ_RETURN_IF_ERROR(front.status());
  return door_->OfExample(front, Dense(front.dims().subspan(1)));
}

bool BatchScope::Has(const Tensor& t) const { return t.ok() && door_->WholeOf(t); }

StatusOr<Tensor> BatchScope::Whole(const Tensor& example, int64_t axis) {
  FZ_RETURN_IF_ERROR(example.status());
  const int64_t rank = example.rank() + 1, to = axis < 0 ? axis + rank : axis;
  if (to < 0 || to >= rank) {
    return ValueError("[vmap] out_axes is ", axis, ", but the result, ", Describe(example),
                      ", has places for an axis from ", -rank, " to ", rank - 1, ".");
  }
  const Tensor whole = door_->Whole(example, to);
  FZ_RETURN_IF_ERROR(whole.status());
  return whole;
}

Tensor AnyExample(const Tensor& condition) {
  BatchDoor* const door = Inner();
  if (!door || !condition.ok()) return condition;
  const Tensor* whole = door->WholeOf(condition);
  const Axes examples = absl::InlinedVector<int64_t, 4>{0};
  const Tensor any = whole ? door->Outside([&] { return ops::any(*whole, examples); }) : condition;
  return door->Outside([&] { return AnyExample(any); });
}

StatusOr<std::vector<Tensor>> ThroughBatch(absl::Span<const Tensor> operands, bool* any,
                                           OnWholes call) {
  BatchDoor* const door = Inner();
  std::vector<Tensor> wholes;
  std::vector<bool> batched;
  *any = false;
  for (const Tensor& t : operands) {
    const Tensor* whole = door ? door->WholeOf(t) : nullptr;
    wholes.push_back(whole ? *whole : t);
    batched.push_back(whole != nullptr);
    *any |= whole != nullptr;
  }
  if (!*any) return wholes;
  FZ_ASSIGN_OR_RETURN(const std::vector<Tensor> made, door->Outside([&] {
    return call(wholes, batched, Within(Ref<BatchDoor>::Share(door)));
  }));
  std::vector<Tensor> out;
  for (const Tensor& t : made) {
    FZ_RETURN_IF_ERROR(t.status());
    out.push_back(door->OfExample(t, Dense(t.dims().subspan(1))));
  }
  return out;
}

bool IsBatched(const Tensor& t) {
  BatchDoor* const door = Inner();
  if (!door || !t.ok()) return false;
  return door->WholeOf(t) || door->Outside([&] { return IsBatched(t); });
}

StatusOr<std::vector<Tensor>> Outside(absl::FunctionRef<StatusOr<std::vector<Tensor>>()> f) {
  return Inner()->Outside(f);
}

namespace {

// Whether calls come to this door, by way of those within it if there are any.
bool IsInside(BatchDoor* door) {
  BatchDoor* const inner = Inner();
  return inner && (inner == door || inner->Outside([&] { return IsInside(door); }));
}

// When a tensor was made that is batched in a scope of this thread.
std::optional<uint64_t> Since(const Tensor& t) {
  BatchDoor* const door = Inner();
  if (!door) return std::nullopt;
  if (const auto since = door->Since(t)) return since;
  return door->Outside([&] { return Since(t); });
}

// What the first example has of x that `taken` is true for, of those along every axis that taken
// goes along. A constant, and any example's if it is true for none.
Tensor OfFirst(const Tensor& taken, const Tensor& x) {
  BatchDoor* const door = Inner();
  if (!door || !taken.ok() || !x.ok() || !IsBatched(x)) return x;
  const Tensor *which = door->WholeOf(taken), *whole = door->WholeOf(x);
  if (!which) {
    const Tensor found = door->Outside([&] { return OfFirst(taken, whole ? *whole : x); });
    return whole && found.ok() ? door->OfExample(found, x.layout()) : found;
  }
  return door->Outside([&] {
    const Tensor mask = which->Detach();
    Tensor first = x.Detach();
    if (whole) {
      const Tensor all = whole->Detach();
      const Tensor at = ops::argmax(mask);
      const Tensor* inputs[] = {&all, &at};
      const int64_t axis = 0;
      first = Apply({OpId::k_take, inputs, {&axis, 1}, /*indices_checked=*/true});
    }
    const Tensor any = ops::any(mask, absl::InlinedVector<int64_t, 4>{0});
    return IsBatched(any) ? ops::where(any, first, OfFirst(any, first)) : first;
  });
}

}  // namespace

// Keyed by value and history.
class TakenScope::Operands final : public OperandScope {
 public:
  Operands(const Tensor& taken, const Tensor& any)
      : door_(Inner()), taken_(taken.Detach()), any_(any), since_(++t_ways) {}

 protected:
  // Bools are conditions, which no gradient comes through. What a vmap makes of a call has the
  // operands that the call had.
  Tensor Replace(const Tensor& t) override {
    if (IsBool(t.dtype()) || !IsInside(door_)) return t;
    const auto since = Since(t);
    if (since ? *since >= since_ : !HasHistory(t)) return t;
    auto& [held, other] = known_[{t.value(), t.node()}];
    if (!held.defined()) {
      held = t;
      const Tensor bare = t.Detach();
      other = since ? ops::where(taken_, t, OfFirst(taken_, bare)) : ops::where(any_, t, bare);
    }
    return other;
  }

 private:
  BatchDoor* const door_;
  const Tensor taken_, any_;
  const uint64_t since_;
  absl::flat_hash_map<std::pair<const Value*, const GradNode*>, std::pair<Tensor, Tensor>> known_;
};

TakenScope::TakenScope(const Tensor& taken, absl::Span<const Tensor> operands) {
  if (taken.ok() && IsBatched(taken) &&
      (State().grad_depth > 0 || absl::c_any_of(operands, HasHistory)))
    operands_ = std::make_unique<Operands>(taken, AnyExample(taken));
}
TakenScope::~TakenScope() = default;

bool HasHistory(const Tensor& t) {
  if (NeedsGrad(State(), t)) return true;
  BatchDoor* const door = Inner();
  if (!door || !t.ok()) return false;
  const Tensor* whole = door->WholeOf(t);
  return door->Outside([&] { return HasHistory(whole ? *whole : t); });
}

LastDoor::LastDoor(Door* door) {
  BatchDoor* last = Inner();
  while (last && last->outer() && last->outer()->rewrites())
    last = static_cast<BatchDoor*>(last->outer());
  if (!last || (last->outer() && last->outer() != door)) return;
  last_ = last;
  before_ = std::exchange(last->outer(), door);
}
LastDoor::~LastDoor() {
  if (last_) last_->outer() = before_;
}

Within::Within(Ref<BatchDoor> door) : door_(std::move(door)) {}
Within::~Within() = default;
Within::Within(const Within&) = default;

StatusOr<std::vector<Tensor>> Within::Run(absl::Span<const Tensor> operands,
                                          const std::vector<bool>& batched, OnExamples f) const {
  const BatchDoor::Entry before = door_->Enter();
  const absl::Cleanup leave = [&] { door_->Leave(before); };
  const autograd::UnlimitedScope unlimited;
  std::vector<Tensor> examples;
  for (size_t i = 0; i < operands.size(); ++i) {
    const Tensor& t = operands[i];
    FZ_RETURN_IF_ERROR(t.status());
    examples.push_back(batched[i] ? door_->OfExample(t, Dense(t.dims().subspan(1))) : t);
  }
  FZ_ASSIGN_OR_RETURN(std::vector<Tensor> results, f(examples));
  for (Tensor& t : results) {
    if (!t.defined()) continue;
    FZ_RETURN_IF_ERROR(t.status());
    t = door_->Whole(t, 0);
    FZ_RETURN_IF_ERROR(t.status());
  }
  return results;
}

}  // namespace frazil::batch
