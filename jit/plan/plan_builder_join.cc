// Several steps as one, and what is told of a plan.
#include <algorithm>

#include "jit/plan/memory_plan.h"
#include "jit/plan/plan_builder.h"
#include "jit/run/device_backend.h"
#include "jit/run/epilogue_step.h"
#include "jit/run/list_step.h"

namespace frazil::jit {
namespace {

constexpr int32_t kWorkspace = -1;  // as a block of memory that steps touch

}  // namespace

std::string PlanBuilder::SayNode(int32_t id) const {
  const Node& node = graph_.nodes[id];
  const std::string origin = OriginOf(graph_, id);
  return StrCat(NameOf(node), " ", ShortName(node.dtype), ToString(node.layout->dims()),
                origin.empty() ? "" : StrCat(" (", origin, ")"));
}

// Blocks in the order in which they begin to live.
void PlanBuilder::Report() {
  std::vector<std::string> what(memories_.size(), "temporary");
  for (int32_t id = 0; id < int32_t(graph_.nodes.size()); ++id) {
    if (graph_.nodes[id].input || graph_.nodes[id].view) continue;
    std::string& text = what[Home(memory_of_[id])];
    text = text == "temporary" ? SayNode(id) : StrCat(text, ", then ", SayNode(id));
  }
  for (size_t i = 0; i < pending_.size(); ++i) {
    const Step* const step = schedule_.steps[i].get();
    const bool kernel = dynamic_cast<const KernelStep*>(step) != nullptr;
    if (!kernel) {
      report_->steps.push_back(step->text());
      continue;
    }
    const Node& node = graph_.nodes[pending_[i].node];
    const std::string text = SayNode(pending_[i].node);
    report_->steps.push_back(
        IsResult(node)
            ? StrCat("loop of ", graph_.nodes[node.operands[0]].loop->times, " in a kernel: ", text)
            : text);
  }
  const auto end = static_cast<int32_t>(pending_.size()) - 1;
  std::vector<Block> arena, all;
  for (size_t i = 0; i < memories_.size(); ++i) {
    const Memory& m = memories_[i];
    if (m.home != static_cast<int32_t>(i) || m.last < 0 || m.input >= 0) continue;
    if (m.arena != 0) continue;
    using Kind = tracer::PlannedBlock::Kind;
    const Kind kind = m.result < 0 ? Kind::kArena : m.donor < 0 ? Kind::kResult : Kind::kDonated;
    const int64_t bytes = Padded(m.bytes);
    const Block block{bytes, std::min(m.first, end), std::min(m.last, end)};
    report_->blocks.push_back({what[i], kind, bytes, arena_offset_[i], block.first, block.last});
    if (kind == Kind::kArena) arena.push_back(block);
    if (kind != Kind::kDonated) all.push_back(block);
    if (kind == Kind::kResult) report_->result_bytes += bytes;
  }
  std::stable_sort(report_->blocks.begin(), report_->blocks.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  report_->arena_bytes = schedule_.arenas[0].bytes;
  report_->arena_bound = LiveBytes(arena);
  report_->peak_bound = LiveBytes(all);
}

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
