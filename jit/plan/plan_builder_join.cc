// Several steps as one.
#include "jit/plan/plan_builder.h"
#include "jit/run/device_backend.h"
#include "jit/run/epilogue_step.h"
#include "jit/run/list_step.h"

namespace frazil::jit {
namespace {

constexpr int32_t kWorkspace = -1;  // as a block of memory that steps touch

}  // namespace

std::vector<Touch> PlanBuilder::TouchesOf(const PendingStep& s) const {
  std::vector<Touch> touches;
  for (const Touch& touch : s.touches) {
    const int32_t home = Home(touch.block);
    const Memory& m = memories_[home];
    if (m.input >= 0) {
      touches.push_back({m.input, touch.write});
    } else if (m.result >= 0) {
      touches.push_back({schedule_.result_slot(m.result), touch.write});
      if (m.donor >= 0) touches.push_back({m.donor, touch.write});
    } else {
      touches.push_back({schedule_.arena_slot(m.arena), touch.write, arena_offset_[home],
                         arena_offset_[home] + m.bytes});
    }
  }
  // Calls of a library share its workspace.
  if (!s.kernel() && !std::holds_alternative<std::unique_ptr<LoopStep>>(s.what))
    touches.push_back({kWorkspace, true});
  return touches;
}

// Branches become one step, and so do small kernels on the CPU that do not wait for each other.
void PlanBuilder::ListSteps() {
  JoinedSteps joined;
  std::vector<int32_t> first;  // of each new step
  for (int32_t begin = 0, end = 0; begin < int32_t(pending_.size()); begin = end) {
    first.push_back(begin);
    const auto steps = [&] { return TakeSteps(&schedule_.steps, begin, end); };
    if (const Epilogue* epilogue = EpilogueAt(begin)) {
      end = epilogue->end;
      Say("step ", begin, " is followed by ", end - begin - 1);
      joined.Add(end - begin, std::make_unique<EpilogueStep>(steps()));
    } else if (const Branched* branched = BranchedAt(begin)) {
      end = branched->end;
      joined.Add(end - begin, MakeBranches(*branched, steps()));
    } else {
      end = begin + 1;
      joined.Add(1, std::move(schedule_.steps[begin]));
    }
  }
  Replace(std::move(joined));
  const auto touches = [&](size_t step) { return TouchesOf(pending_[first[step]]); };
  Replace(MakeLists(std::move(schedule_.steps), touches));
}

void PlanBuilder::Replace(JoinedSteps joined) {
  for (Result& result : schedule_.results) {
    if (result.first_step < static_cast<int32_t>(joined.now.size()))
      result.first_step = joined.now[result.first_step];
  }
  if (report_) {
    std::vector<std::vector<tracer::StepPart>> parts(joined.steps.size());
    for (size_t i = 0; i < joined.now.size(); ++i) {
      std::vector<tracer::StepPart>& all = parts[size_t(joined.now[i])];
      std::move(report_->steps[i].begin(), report_->steps[i].end(), std::back_inserter(all));
    }
    report_->steps = std::move(parts);
  }
  schedule_.steps = std::move(joined.steps);
}

// Neighbours of one device that it takes as one launch become one step.
void PlanBuilder::JoinSteps() {
  JoinedSteps joined;
  const auto count = static_cast<int32_t>(pending_.size());
  for (int32_t begin = 0, end = 0; begin < count; begin = end) {
    const Device device = pending_[begin].device;
    std::vector<std::vector<Touch>> touches;
    for (; end < count && pending_[end].device == device && !(device == Device()) &&
           DeviceBackendOf(device).MayJoin(*schedule_.steps[end]);
         ++end)
      touches.push_back(TouchesOf(pending_[end]));
    if (end - begin < 2) {
      end = begin + 1;
      joined.Add(1, std::move(schedule_.steps[begin]));
      continue;
    }
    joined.Add(end - begin,
               DeviceBackendOf(device).MakeGroup(device, TakeSteps(&schedule_.steps, begin, end),
                                                 DependenciesOf(touches)));
  }
  Replace(std::move(joined));
}

}  // namespace frazil::jit
