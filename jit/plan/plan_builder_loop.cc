// Loops of steps: the body is a program of its own, planned first; its arena is a temporary of the
// loop. What an iteration hands to the next lies in two blocks by turns, in one if it may be
// overwritten, or in the block of all iterations.
#include <algorithm>

#include "core/check.h"
#include "jit/plan/plan_builder.h"
#include "jit/run/loop_step.h"

namespace frazil::jit {

using Kind = Loop::Source::Kind;

PendingLoop::Slot PlanBuilder::SlotOf(const Loop::Source& source, const Node& steps,
                                      const Node& input, int64_t times) const {
  PendingLoop::Slot slot;
  const auto place = [&](int64_t i) {
    const int32_t id = steps.operands[source.operand + i];
    return PendingLoop::Place{memory_of_[id], OffsetInBase(graph_, id)};
  };
  slot.first = slot.even = slot.odd = place(0);
  if (input.immediate) {
    const int64_t count = source.kind == Kind::kEach ? times : 1;
    for (int64_t t = 0; t < count; ++t) slot.numbers.push_back(steps.operands[source.operand + t]);
  } else if (source.kind == Kind::kEach) {
    for (int64_t t = 0; t < times; ++t) slot.list.push_back(place(t));
  } else if (source.kind == Kind::kSlide) {
    const int64_t item = SizeOf(input.dtype);
    slot.first.offset += source.start * item;
    slot.even = slot.odd = slot.first;
    slot.step = source.step * item;
  }
  return slot;
}

// The slots of output number `output` and of the state that it becomes.
void PlanBuilder::PlaceOutput(const Group& group, const Loop& loop, int32_t output,
                              PendingStep* step) {
  PendingLoop& pending = *step->loop;
  const Program& body = pending.body;
  const Node& value = loop.body.nodes[loop.body.outputs[output]];
  const int64_t bytes = BytesOf(value);
  const int32_t result = body.outputs[output].slot - body.result_slot(0);
  PendingLoop::Slot& slot = pending.slots[body.result_slot(result)];
  int32_t kept = -1;
  bool every = false;
  for (const int32_t id : group.nodes) {
    const Node& node = graph_.nodes[id];
    if (node.role == Role::kLoop || node.attrs[0] != output) continue;
    kept = memory_of_[id];
    every = node.role == Role::kEvery;
  }
  std::vector<PendingLoop::Slot*> states;
  bool overwrites = false;  // an iteration's value lies where that of the one before did
  for (size_t i = 0; i < loop.sources.size(); ++i) {
    if (loop.sources[i].kind != Kind::kState || loop.sources[i].next != output) continue;
    states.push_back(&pending.slots[i]);
    overwrites = body.results[result].donor == static_cast<int32_t>(i);
  }
  overwrites = overwrites && states.size() == 1;
  const auto use = [&](int32_t memory) {
    step->uses.push_back({memory, true});
    return PendingLoop::Place{memory, 0};
  };
  const auto block = [&] { return use(NewMemory(bytes, value.device)); };
  if (every) {
    slot.first = slot.even = slot.odd = use(kept);
    slot.step = bytes;
    for (PendingLoop::Slot* state : states) {
      state->even = state->odd = {kept, -bytes};
      state->step = bytes;
    }
    return;
  }
  const PendingLoop::Place last = kept >= 0 ? use(kept) : block();
  const bool turns = !states.empty() && !overwrites && pending.times > 1;
  const PendingLoop::Place other = turns ? block() : last;
  const bool last_is_odd = (pending.times - 1) % 2 == 1;
  slot.even = last_is_odd ? other : last;
  slot.odd = last_is_odd ? last : other;
  slot.first = slot.even;
  for (PendingLoop::Slot* state : states) {
    state->even = slot.odd;
    state->odd = slot.even;
  }
}

Status PlanBuilder::AddLoop(const Group& group) {
  SayGroup(group);
  const Node& steps = graph_.nodes[group.nodes[0]];
  const Loop& loop = *steps.loop;
  BuildOptions options = options_;
  options.body = true;
  options.compile.reusable = 0;
  options.compile.more_reusable.clear();
  options.compile.lent_by_cell = false;
  for (size_t i = 0; i < loop.sources.size(); ++i) {
    if (loop.sources[i].kind == Kind::kState) options.compile.Reuse(static_cast<int32_t>(i));
  }
  PendingStep step;
  step.node = group.nodes[0];
  step.device = Device();
  step.loop = std::make_unique<PendingLoop>();
  PendingLoop& pending = *step.loop;
  pending.times = loop.times;
  Say("loop of ", loop.times, " {");
  const Grouping grouping = Fuse(loop.body, options.compile.fuse);
  FZ_ASSIGN_OR_RETURN(pending.body, BuildProgram(loop.body, grouping, options, dump_));
  Say("}");
  const Program& body = pending.body;
  FZ_CHECK(body.arenas.size() == 1 && body.results.size() == loop.body.outputs.size());
  for (const int32_t id : steps.operands) {
    const Use use{memory_of_[id], false};
    const auto known = [&](const Use& u) { return u.memory == use.memory; };
    if (std::none_of(step.uses.begin(), step.uses.end(), known)) step.uses.push_back(use);
  }
  for (size_t i = 0; i < loop.sources.size(); ++i)
    pending.slots.push_back(SlotOf(loop.sources[i], steps, loop.body.nodes[i], loop.times));
  const int32_t arena = NewMemory(body.arenas[0].bytes, Device());
  step.uses.push_back({arena, true});
  const PendingLoop::Place place{arena, 0};
  pending.slots.resize(static_cast<size_t>(body.result_slot(0)) + body.results.size(),
                       {place, place, place});
  for (int32_t i = 0; i < static_cast<int32_t>(loop.body.outputs.size()); ++i)
    PlaceOutput(group, loop, i, &step);
  pending_.push_back(std::move(step));
  return absl::OkStatus();
}

Status PlanBuilder::EmitLoop(PendingStep* s) {
  auto loop = std::make_shared<StepLoop>();
  const auto pointer = [&](const PendingLoop::Place& p) { return PointerTo(p.memory, p.offset); };
  for (PendingLoop::Slot& from : s->loop->slots) {
    LoopSlot slot{pointer(from.first), pointer(from.even), pointer(from.odd), from.step};
    for (const PendingLoop::Place& p : from.list) slot.list.push_back(pointer(p));
    slot.numbers = std::move(from.numbers);
    loop->slots.push_back(std::move(slot));
  }
  loop->times = s->loop->times;
  loop->body = std::move(s->loop->body);
  const PlanStats& body = loop->body.stats;
  const auto times = static_cast<int>(loop->times);
  program_.stats.kernels += times * body.kernels;
  program_.stats.library_calls += times * body.library_calls;
  program_.stats.compiled += body.compiled;
  program_.stats.interpreted += body.interpreted;
  std::vector<Pointer> first;
  for (const LoopSlot& slot : loop->slots) first.push_back(slot.first);
  Say("step loop of ", times, SayPointers(first));
  program_.steps.push_back(LoopStep{std::move(loop)});
  s->loop = nullptr;
  return absl::OkStatus();
}

}  // namespace frazil::jit
