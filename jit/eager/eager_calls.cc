#include "jit/eager/eager_calls.h"

#include <algorithm>

#include "jit/cache/bound.h"
#include "jit/eager/eager.h"

namespace frazil::jit {
namespace {

uint64_t Mix(uint64_t h, uint64_t word) {
  h = (h ^ word) * 0xD6E8FEB86659FD93u;
  return h ^ h >> 32;
}

// Shared by all threads, behind the table of each.
struct EagerBound : SettingsBound {
  // What a table has lies there until another call takes the place: that does not count.
  static bool Held(const std::shared_ptr<const PreparedCall>&) { return false; }
};
auto& SharedCalls() {
  static constexpr EagerBound kBound{{Setting::k_eager_entries, Setting::k_eager_bytes,
                                      tracer::Cause::kEvictedEager, "plans of eager calls"}};
  static auto* cache = new BoundedCache<CallKey, const PreparedCall, EagerBound>(kBound);
  return *cache;
}

}  // namespace

FZ_HOT_TLS CallTable* t_calls = nullptr;

void MakeCallTable() {
  static thread_local std::unique_ptr<CallTable> table = std::make_unique<CallTable>();
  t_calls = table.get();
}

uint64_t CallView::Hash() const {
  if (quick())
    return QuickHash(what, OperandWords(*inputs[0]),
                     inputs.size() == 2 ? OperandWords(*inputs[1]) : OperandWords());
  uint64_t h = Mix(what, reusable);
  for (const Value* v : inputs) h = Mix(h, v->layout->id ^ uint64_t{v->kind()} << 40);
  for (const int32_t operand : operands) h = Mix(h, uint64_t(operand));
  for (const int64_t attr : attrs) h = Mix(h, uint64_t(attr));
  return h << 32;
}

bool CallView::Is(const CallKey& key) const {
  if (what != key.what || reusable != key.reusable || inputs.size() != key.inputs.size())
    return false;
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (OperandWords(*inputs[i]) != key.inputs[i]) return false;
  }
  return attrs == AttrSpan(key.attrs) && operands == absl::Span<const int32_t>(key.operands);
}

CallKey CallView::Key() const {
  CallKey key{what, reusable, {}, {operands.begin(), operands.end()}, {attrs.begin(), attrs.end()}};
  for (const Value* v : inputs) key.inputs.emplace_back(*v);
  return key;
}

int64_t PreparedCall::bytes() const {
  constexpr int64_t kOfTheMap = 96;
  const Op* const plan = std::get_if<Op>(&how);
  const Composite* const whole = std::get_if<Composite>(&how);
  return static_cast<int64_t>(sizeof(*this) + sizeof(CallKey)) + kOfTheMap +
         (plan ? (*plan)->bytes() : 0) + (whole ? (*whole)->bytes() : 0);
}

std::shared_ptr<const PreparedCall> FindShared(const CallKey& key) {
  return SharedCalls().Find(key);
}

std::shared_ptr<const PreparedCall> Share(std::shared_ptr<const PreparedCall> made) {
  return SharedCalls().Add(made->key, made, made->bytes());
}

DistinctInputs::DistinctInputs(absl::Span<Value* const> all) {
  for (Value* v : all) {
    const auto at = std::find(values.begin(), values.end(), v);
    operands.push_back(static_cast<int32_t>(at - values.begin()));
    if (at == values.end()) values.push_back(v);
  }
}

CacheStats EagerStats() { return SharedCalls().stats(); }
void ShrinkEager(bool more) { SharedCalls().Shrink(more); }

}  // namespace frazil::jit
