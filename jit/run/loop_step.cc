#include "jit/run/loop_step.h"

#include "core/threads/long_work.h"
#include "jit/run/step_group.h"

namespace frazil::jit {
namespace {

// A slot that moves.
struct Moving {
  size_t slot;
  char* at[2];  // in even and odd iterations, without the steps
  const LoopSlot* how;
};

}  // namespace

Status RunLoop(const StepLoop& loop, char* const* slots, absl::Span<Value* const> inputs) {
  const auto place = [&](const Pointer& p) { return slots[p.slot] + p.offset; };
  SmallStack<char*, 32> own;
  SmallStack<Value*, 32> values;
  SmallStack<Moving, 16> moving;
  const auto num_inputs = static_cast<size_t>(loop.body.num_inputs);
  for (size_t s = 0; s < loop.slots.size(); ++s) {
    const LoopSlot& slot = loop.slots[s];
    if (s < num_inputs) values.push_back(slot.numbers.empty() ? nullptr : inputs[slot.numbers[0]]);
    own.push_back(place(slot.first));
    if (slot.moves()) moving.push_back({s, {place(slot.even), place(slot.odd)}, &slot});
  }
  for (int64_t t = 0; t < loop.times; ++t) {
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
    for (const Step& step : loop.body.steps) {
      if (Abandoned()) return Interrupted();
      FZ_RETURN_IF_ERROR(RunStep(step, own.begin(), values.span()));
    }
  }
  return absl::OkStatus();
}

int64_t BytesOf(const StepLoop& loop) {
  size_t bytes = sizeof(loop) + loop.slots.size() * sizeof(LoopSlot) +
                 loop.body.steps.capacity() * sizeof(Step);
  for (const LoopSlot& slot : loop.slots)
    bytes += slot.list.capacity() * sizeof(Pointer) + 4 * slot.numbers.capacity();
  for (const Step& step : loop.body.steps) bytes += size_t(BytesOf(step));
  return int64_t(bytes);
}

}  // namespace frazil::jit
