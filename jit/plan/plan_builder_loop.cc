// Loops of steps: the body is a schedule of its own, planned first; its arena is a temporary of the
// loop. What an iteration hands to the next lies in two blocks by turns, in one if it may be
// overwritten, or in the block of all iterations.
#include <algorithm>

#include "core/check.h"
#include "jit/plan/plan_builder.h"

namespace frazil::jit {

using Kind = Loop::Source::Kind;

LoopSlot PlanBuilder::SlotOf(const Loop::Source& source, const Node& steps, const Node& input,
                             int64_t times) const {
  LoopSlot slot;
  const auto place = [&](int64_t i) {
    const int32_t id = steps.operands[source.operand + i];
    return Pointer{memory_of_[id], OffsetInBase(graph_, id)};
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
  LoopStep& pending = *std::get<std::unique_ptr<LoopStep>>(step->what);
  const Schedule& body = pending.body;
  const Node& value = loop.body.nodes[loop.body.outputs[output]];
  const int64_t bytes = BytesOf(value);
  const int32_t result = body.outputs[output].slot - body.result_slot(0);
  LoopSlot& slot = pending.slots[body.result_slot(result)];
  int32_t kept = -1;
  bool every = false;
  for (const int32_t id : group.nodes) {
    const Node& node = graph_.nodes[id];
    if (node.role == Role::kLoop || node.attrs[0] != output) continue;
    kept = memory_of_[id];
    every = node.role == Role::kEvery;
  }
  std::vector<LoopSlot*> states;
  bool overwrites = false;  // an iteration's value lies where that of the one before did
  for (size_t i = 0; i < loop.sources.size(); ++i) {
    if (loop.sources[i].kind != Kind::kState || loop.sources[i].next != output) continue;
    states.push_back(&pending.slots[i]);
    overwrites = body.results[result].donor == static_cast<int32_t>(i);
  }
  overwrites = overwrites && states.size() == 1;
  const auto use = [&](int32_t memory) {
    step->touches.push_back({memory, true});
    return Pointer{memory, 0};
  };
  const auto block = [&] { return use(NewMemory(bytes, value.device)); };
  if (every) {
    slot.first = slot.even = slot.odd = use(kept);
    slot.step = bytes;
    for (LoopSlot* state : states) {
      state->even = state->odd = {kept, -bytes};
      state->step = bytes;
    }
    return;
  }
  const Pointer last = kept >= 0 ? use(kept) : block();
  const bool turns = !states.empty() && !overwrites && pending.times > 1;
  const Pointer other = turns ? block() : last;
  const bool last_is_odd = (pending.times - 1) % 2 == 1;
  if (loop.condition >= 0 && turns && kept >= 0)
    pending.results.push_back({static_cast<size_t>(body.result_slot(result)), last, bytes});
  if (loop.condition == output) pending.condition = body.result_slot(result);
  slot.even = last_is_odd ? other : last;
  slot.odd = last_is_odd ? last : other;
  slot.first = slot.even;
  for (LoopSlot* state : states) {
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
  auto made = std::make_unique<LoopStep>();
  LoopStep& pending = *made;
  step.what = std::move(made);
  pending.times = loop.times;
  pending.condition = loop.condition;  // known to be one; its slot is not yet
  Say(pending.text(), " {");
  const Grouping grouping = Fuse(loop.body, options.compile.fuse);
  tracer::PlanReport body_report;
  FZ_ASSIGN_OR_RETURN(
      pending.body, BuildSchedule(loop.body, grouping, options, report_ ? &body_report : nullptr));
  if (report_) {
    report_->text += body_report.text;
    step.body = std::move(body_report.steps);
  }
  Say("}");
  const Schedule& body = pending.body;
  FZ_CHECK(body.arenas.size() == 1 && body.results.size() == loop.body.outputs.size());
  for (const int32_t id : steps.operands) {
    const auto known = [&](const Touch& touch) { return touch.block == memory_of_[id]; };
    if (std::none_of(step.touches.begin(), step.touches.end(), known))
      step.touches.push_back({memory_of_[id], false});
  }
  for (size_t i = 0; i < loop.sources.size(); ++i)
    pending.slots.push_back(SlotOf(loop.sources[i], steps, loop.body.nodes[i], loop.times));
  const int32_t arena = NewMemory(body.arenas[0].bytes, Device());
  step.touches.push_back({arena, true});
  const Pointer place{arena, 0};
  pending.slots.resize(static_cast<size_t>(body.result_slot(0)) + body.results.size(),
                       {place, place, place});
  for (int32_t i = 0; i < static_cast<int32_t>(loop.body.outputs.size()); ++i)
    PlaceOutput(group, loop, i, &step);
  pending_.push_back(std::move(step));
  return absl::OkStatus();
}

Status PlanBuilder::Emit(const PendingStep&, std::unique_ptr<LoopStep>* loop) {
  const auto place = [&](Pointer& p) { p = PointerTo(p.slot, p.offset); };
  std::vector<Pointer> first;
  for (LoopSlot& slot : (*loop)->slots) {
    place(slot.first);
    place(slot.even);
    place(slot.odd);
    std::for_each(slot.list.begin(), slot.list.end(), place);
    first.push_back(slot.first);
  }
  for (LoopResult& result : (*loop)->results) place(result.to);
  const PlanStats& body = (*loop)->body.stats;
  const auto times = (*loop)->condition < 0 ? static_cast<int>((*loop)->times) : 1;
  schedule_.stats.kernels += times * body.kernels;
  schedule_.stats.library_calls += times * body.library_calls;
  schedule_.stats.compiled += body.compiled;
  schedule_.stats.interpreted += body.interpreted;
  Say("step ", (*loop)->text(), SayPointers(first));
  schedule_.steps.push_back(std::move(*loop));
  return absl::OkStatus();
}

}  // namespace frazil::jit
