// What lives when, and what lies where.
#include <algorithm>

#include "core/backend.h"
#include "core/tuned.h"
#include "jit/plan/in_place.h"
#include "jit/plan/memory_plan.h"
#include "jit/plan/plan_builder.h"

namespace frazil::jit {
namespace {

// The one of `ranges`, which are in order and apart, that has the step, or null.
template <typename Range>
const Range* RangeAt(const std::vector<Range>& ranges, int32_t step) {
  const auto next = std::upper_bound(ranges.begin(), ranges.end(), step,
                                     [](int32_t s, const Range& range) { return s < range.begin; });
  if (next == ranges.begin() || step >= std::prev(next)->end) return nullptr;
  return &*std::prev(next);
}

}  // namespace

void PlanBuilder::FindLastLibrary() {
  for (size_t i = 0; i < pending_.size(); ++i) {
    if (pending_[i].kernel()) continue;
    last_library_ = static_cast<int32_t>(i);
    if (const Branched* found = BranchedAt(last_library_)) last_library_ = found->end;
    if (const Epilogue* found = EpilogueAt(last_library_)) last_library_ = found->end;
  }
}

void PlanBuilder::FindLives() {
  for (size_t step = 0; step < pending_.size(); ++step) {
    for (const Touch& touch : pending_[step].touches) {
      Memory& m = memories_[touch.block];
      const auto at = static_cast<int32_t>(step);
      int32_t begin = at, end = at + 1;
      if (const Branched* found = BranchedAt(at)) begin = found->begin, end = found->end;
      if (const Epilogue* found = EpilogueAt(at)) begin = found->begin, end = found->end;
      m.first = std::min(m.first, begin);
      m.last = end - 1;
      m.first_use = std::min(m.first_use, at);
      m.last_use = at;
    }
  }
}

// The first step behind all library calls that writes as many bytes as an input has that it reads
// and that may be overwritten: an optimizer's. Beside a call it could not overwrite.
int32_t PlanBuilder::FirstOverwrite() {
  FindLastLibrary();
  const auto end = static_cast<int32_t>(pending_.size());
  for (int32_t step = last_library_ + 1; step < end; ++step) {
    const std::vector<Touch>& touches = pending_[step].touches;
    const auto may_take = [&](const Touch& out) {
      return out.write && std::any_of(touches.begin(), touches.end(), [&](const Touch& touch) {
               const Memory& m = memories_[touch.block];
               return m.input >= 0 && m.bytes == memories_[out.block].bytes &&
                      MayOverwriteInput(m.input);
             });
    };
    if (std::any_of(touches.begin(), touches.end(), may_take)) return step;
  }
  return end;
}

// Branches need what they touch at the same time: those that make the arena grow are left out.
void PlanBuilder::ChooseBranches() {
  const auto steps = absl::MakeConstSpan(pending_).first(
      options_.in_place && !options_.always_branch ? FirstOverwrite() : pending_.size());
  std::vector<Branched> found = FindBranches(graph_, steps, options_.always_branch);
  if (found.empty()) return;
  const int64_t most = std::max(tuned::kSmallArena, LiveBytesNow() * 102 / 100);
  for (Branched& branched : found) {
    branched_.push_back(std::move(branched));
    if (!options_.always_branch && LiveBytesNow() > most) branched_.pop_back();
  }
}

// Products and their followers need what they touch at the same time, too.
void PlanBuilder::ChooseEpilogues() {
  const int64_t most = std::max(tuned::kSmallArena, LiveBytesNow() * 102 / 100);
  for (const Epilogue& found : FindEpilogues(graph_, pending_, options_.always_branch)) {
    bool apart = true;
    for (int32_t step = found.begin; step < found.end; ++step) apart &= !BranchedAt(step);
    if (!apart) continue;
    epilogues_.push_back(found);
    if (!options_.always_branch && LiveBytesNow() > most) epilogues_.pop_back();
  }
}

// The product with its followers that a step is one of, or null.
const Epilogue* PlanBuilder::EpilogueAt(int32_t step) const { return RangeAt(epilogues_, step); }

// True if `step` follows a product and another step of that uses the memory other than by rows:
// as its operand, or as something that was there before.
bool PlanBuilder::UsedByOtherRows(int32_t step, int32_t home) const {
  const Epilogue* found = EpilogueAt(step);
  if (!found) return false;
  if (memories_[home].first_use >= found->begin) return false;  // what the product began
  for (int32_t other = found->begin; other < found->end; ++other) {
    const std::vector<Touch>& touches = pending_[other].touches;
    const auto conflicts = [&](const Touch& touch) {
      return Conflict({Home(touch.block), touch.write}, {home, true});
    };
    if (other != step && std::any_of(touches.begin(), touches.end(), conflicts)) return true;
  }
  return false;
}

int64_t PlanBuilder::LiveBytesNow() {
  const std::vector<Memory> before = memories_;
  FindLives();
  std::vector<Block> blocks;
  for (const Memory& m : memories_) {
    if (m.last >= 0 && m.input < 0) blocks.push_back({m.bytes, m.first, m.last});
  }
  memories_ = before;
  return LiveBytes(blocks);
}

// The group of steps of branches that a step is in, or null.
const Branched* PlanBuilder::BranchedAt(int32_t step) const { return RangeAt(branched_, step); }

// Gives results first written in `step` the memory of an operand that nothing needs afterwards. Of
// branches only the first step may: what else lives as long as their group.
void PlanBuilder::ShareMemory(int32_t step) {
  const PendingStep& s = pending_[step];
  std::vector<int32_t> taken;
  for (size_t out = 0; out < s.touches.size(); ++out) {
    const int32_t memory = s.touches[out].block;
    if (!s.touches[out].write || Home(memory) != memory) continue;
    if ((EpilogueAt(step) ? memories_[memory].first_use : memories_[memory].first) != step)
      continue;
    for (const bool want_input : {true, false}) {
      if (memories_[memory].donor >= 0 || Home(memory) != memory) break;
      for (const Touch& touch : s.touches) {
        const int32_t from = Home(touch.block);
        if ((memories_[from].input >= 0) != want_input || touch.write) continue;
        if (std::count(taken.begin(), taken.end(), from) || !MayTake(s, step, out, from)) continue;
        taken.push_back(from);
        Take(memory, from);
        break;
      }
    }
  }
}

// What is repeated has fewer bytes than its size says.
bool PlanBuilder::MayOverwriteInput(int32_t id) const {
  const Node& input = graph_.nodes[id];
  return options_.compile.Reusable(id) && !input.immediate && input.layout->dense;
}

bool PlanBuilder::MayTake(const PendingStep& s, int32_t step, size_t out, int32_t from) const {
  const Memory& m = memories_[from];
  const Memory& to = memories_[s.touches[out].block];
  if (m.last_use != step || UsedByOtherRows(step, from) || m.bytes != to.bytes ||
      m.arena != to.arena || m.result >= 0)
    return false;
  if (m.input >= 0 && (!MayOverwriteInput(m.input) || (step < last_library_ && !options_.body)))
    return false;
  const auto shares = [&](int use) { return Home(s.touches[use].block) == from; };
  if (s.kernel())
    return MayOverwrite(*s.kernel(), static_cast<int>(out), !CpuAddresses(s.device), shares);
  if (!s.call() || !s.call()->in_place() || !shares(0)) return false;
  for (size_t use = 1; use + 1 < s.touches.size(); ++use) {
    if (shares(static_cast<int>(use))) return false;
  }
  const Node &x = graph_.nodes[graph_.nodes[s.node].operands[0]], &y = graph_.nodes[s.node];
  return x.layout == y.layout && OffsetInBase(graph_, graph_.nodes[s.node].operands[0]) == 0;
}

void PlanBuilder::Take(int32_t memory, int32_t from) {
  Memory& m = memories_[memory];
  if (memories_[from].input >= 0) {
    m.donor = memories_[from].input;  // decided at run time
    return;
  }
  m.home = from;
  memories_[from].last = m.last;
  memories_[from].last_use = m.last_use;
  memories_[from].result = m.result;
}

void PlanBuilder::PlaceMemories() {
  arena_offset_.assign(memories_.size(), 0);
  std::vector<std::vector<Block>> blocks(schedule_.arenas.size());
  std::vector<std::vector<int32_t>> owners(schedule_.arenas.size());
  for (size_t i = 0; i < memories_.size(); ++i) {
    const Memory& m = memories_[i];
    if (m.home != static_cast<int32_t>(i) || m.last < 0 || m.input >= 0) continue;
    if (m.result >= 0) {
      schedule_.results[m.result].donor = m.donor;
      schedule_.results[m.result].first_step = m.first;
      continue;
    }
    blocks[m.arena].push_back({m.bytes, m.first, m.last});
    owners[m.arena].push_back(static_cast<int32_t>(i));
  }
  for (size_t a = 0; a < blocks.size(); ++a) {
    const MemoryPlan plan = PlanMemory(blocks[a]);
    schedule_.arenas[a].bytes = plan.bytes;
    for (size_t i = 0; i < owners[a].size(); ++i) arena_offset_[owners[a][i]] = plan.offsets[i];
  }
}

}  // namespace frazil::jit
