#include "jit/run/loop_step.h"

#include <cstring>

#include "core/small_stack.h"
#include "core/threads/long_work.h"

namespace frazil::jit {
namespace {

// A slot that moves.
struct Moving {
  size_t slot;
  char* at[2];  // in even and odd iterations, without the steps
  const LoopSlot* how;
};

}  // namespace

Status LoopStep::Run(char* const* data, absl::Span<Value* const> inputs) const {
  const auto place = [&](const Pointer& p) { return data[p.slot] + p.offset; };
  SmallStack<char*, 32> own;
  SmallStack<Value*, 32> values;
  SmallStack<Moving, 16> moving;
  const auto num_inputs = static_cast<size_t>(body.num_inputs);
  for (size_t s = 0; s < slots.size(); ++s) {
    const LoopSlot& slot = slots[s];
    if (s < num_inputs) values.push_back(slot.numbers.empty() ? nullptr : inputs[slot.numbers[0]]);
    own.push_back(place(slot.first));
    if (slot.moves()) moving.push_back({s, {place(slot.even), place(slot.odd)}, &slot});
  }
  for (int64_t t = 0; t < times; ++t) {
    for (const Moving& m : moving.span()) {
      const LoopSlot& how = *m.how;
      if (!how.list.empty()) {
        own[m.slot] = place(how.list[size_t(t)]);
      } else if (!how.numbers.empty()) {
        values[m.slot] = inputs[how.numbers[size_t(t)]];
        own[m.slot] = values[m.slot]->data;
      } else if (t > 0) {
        own[m.slot] = m.at[t & 1] + t * how.step;
      }
    }
    for (const auto& step : body.steps) {
      if (Abandoned()) return Interrupted();
      FZ_RETURN_IF_ERROR(step->Run(own.begin(), values.span()));
    }
    if (condition >= 0 && !*reinterpret_cast<const bool*>(own[size_t(condition)])) break;
  }
  for (const LoopResult& result : results) {
    if (char* const to = place(result.to); to != own[result.slot])
      std::memcpy(to, own[result.slot], size_t(result.bytes));
  }
  return absl::OkStatus();
}

std::vector<Pointer> LoopStep::touches() const {
  std::vector<Pointer> all;
  for (const LoopSlot& slot : slots) {
    all.insert(all.end(), {slot.first, slot.even, slot.odd});
    all.insert(all.end(), slot.list.begin(), slot.list.end());
  }
  return all;
}

int64_t LoopStep::bytes() const {
  size_t bytes = sizeof(*this) + slots.size() * sizeof(LoopSlot);
  for (const LoopSlot& slot : slots)
    bytes += slot.list.capacity() * sizeof(Pointer) + 4 * slot.numbers.capacity();
  return int64_t(bytes) + BytesOf(body.steps);
}

}  // namespace frazil::jit
