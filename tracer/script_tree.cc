#include "tracer/script_tree.h"

#include <algorithm>

#include "absl/algorithm/container.h"

namespace frazil::tracer {

using End = SegmentRecord::End;
using Kind = Source::Kind;

namespace {

// Calls f with every source that the end of a path names.
template <typename F>
void ForSourcesOfEnd(const PathRecord& path, const F& f) {
  for (const Origin& o : path.outputs) f(o.value);
  for (const auto& [cell, o] : path.writes) f(o.value);
  for (const TapeRecord& node : path.tape) {
    for (const Origin& o : node.saved) f(o.value);
    f(node.saved_output);
  }
}

}  // namespace

ScriptTree::Stage* ScriptTree::NewStage(const std::shared_ptr<const PathRecord>& path,
                                        size_t segment, int first_result) {
  Stage* stage = script_->stages_.emplace_back(std::make_unique<Stage>()).get();
  stage->path = path;
  if (segment < path->segments.size()) stage->record = &path->segments[segment];
  stage->first_result = first_result;
  return stage;
}

void ScriptTree::Add(const std::shared_ptr<const PathRecord>& path) {
  Stage* stage = script_->stages_.empty() ? NewStage(path, 0, 0) : script_->stages_.front().get();
  for (size_t i = 0; i < path->segments.size(); ++i) {
    const uint64_t outcome = path->segments[i].outcome;
    const auto known =
        absl::c_find_if(stage->next, [&](const auto& next) { return next.first == outcome; });
    if (known != stage->next.end()) {
      stage = known->second;
      continue;
    }
    Stage* next = NewStage(path, i + 1, stage->first_result + path->segments[i].results);
    stage->next.emplace_back(outcome, next);
    stage = next;
  }
}

// From the leaves up. The set of what is wanted below a stage goes up with it, so that a chain of
// any length has one set.
void ScriptTree::FindLives() {
  absl::flat_hash_map<const Stage*, Results> wanted;
  for (size_t i = script_->stages_.size(); i-- > 0;) {
    Stage* stage = script_->stages_[i].get();
    Results below;
    if (!stage->record) {
      ForSourcesOfEnd(*stage->path, [&](const Source& s) {
        if (s.kind == Kind::kResult) below.insert(s.index);
      });
    } else {
      below = std::move(wanted[stage->next[0].second]);
      if (stage->next.size() > 1) {
        const Results first = below;
        for (size_t k = 1; k < stage->next.size(); ++k)
          below.insert(wanted[stage->next[k].second].begin(), wanted[stage->next[k].second].end());
        // What only the other outcomes read ends on the way to this one.
        for (size_t k = 0; k < stage->next.size(); ++k) {
          Stage* next = stage->next[k].second;
          const Results& here = k == 0 ? first : wanted[next];
          for (const int32_t r : below) {
            if (!here.contains(r)) next->ended.push_back(r);
          }
        }
      }
      for (const auto& [outcome, next] : stage->next) wanted.erase(next);
      FindLives(stage, &below);
    }
    wanted[stage] = std::move(below);
  }
}

// `wanted`: of what follows; then of the stage and what follows.
void ScriptTree::FindLives(Stage* stage, Results* wanted) {
  const SegmentRecord& record = *stage->record;
  const bool reads = record.read.kind == Kind::kResult;
  const auto is_wanted = [&](int32_t r) {
    return (reads && record.read.index == r) || wanted->contains(r);
  };
  Results ended;  // behind this stage, whatever the outcome
  stage->live.resize((record.results + 63) / 64);
  for (int32_t r = 0; r < record.results; ++r) {
    if (is_wanted(stage->first_result + r)) stage->live[r / 64] |= uint64_t{1} << (r % 64);
  }
  // Constants are never overwritten. A register is, if this is its last use, and so is what a cell
  // holds, if every call replaces it and nothing can come between.
  for (size_t i = 0; i < record.slots.size(); ++i) {
    const Source& s = record.slots[i];
    if (s.kind == Kind::kResult) {
      if (!is_wanted(s.index)) stage->overwritable.Add(i);
      if (!wanted->contains(s.index)) ended.insert(s.index);
    } else if (s.kind == Kind::kCell && Lends(*stage, s)) {
      stage->overwritable.Add(i);
      stage->overwritable.lent_by_cells = true;
      stage->lent.push_back(s.index);
    }
  }
  if (reads && !wanted->contains(record.read.index)) ended.insert(record.read.index);
  for (const auto& [outcome, next] : stage->next)
    next->ended.insert(next->ended.end(), ended.begin(), ended.end());
  for (int32_t r = 0; r < record.results; ++r) wanted->erase(stage->first_result + r);
  for (const Source& s : record.slots) {
    if (s.kind == Kind::kResult) wanted->insert(s.index);
  }
  if (reads && record.read.index < stage->first_result) wanted->insert(record.read.index);
}

// The call ends behind `stage` with another content of the cell, and does nothing else with this
// one.
bool ScriptTree::Lends(const Stage& stage, const Source& cell) const {
  if (script_->paths_.size() != 1 || stage.record->end != End::kContinue ||
      stage.next[0].second->record)
    return false;
  const PathRecord& path = *stage.next[0].second->path;
  const auto is_it = [&](const Origin& o) { return o.value == cell; };
  const auto saves_it = [&](const TapeRecord& node) {
    return node.saved_output == cell || absl::c_any_of(node.saved, is_it);
  };
  const auto replaces_it = [&](const auto& w) { return w.first == cell.index; };
  return absl::c_any_of(path.writes, replaces_it) &&
         absl::c_none_of(path.writes, [&](const auto& w) { return is_it(w.second); }) &&
         absl::c_none_of(path.outputs, is_it) && absl::c_none_of(path.tape, saves_it) &&
         absl::c_count(stage.record->slots, cell) == 1;
}

Status ScriptTree::Compile(const Script* previous) {
  FindLives();
  struct Step {
    Stage* stage;
    const Stage* before;
    Registers registers;
  };
  std::vector<Step> steps;
  steps.push_back({script_->stages_[0].get(), previous ? previous->stages_[0].get() : nullptr, {}});
  // Depth first: registers_ then holds those of the path to the stage.
  while (!steps.empty()) {
    Step step = std::move(steps.back());
    steps.pop_back();
    Stage* stage = step.stage;
    Place(stage, &step.registers);
    if (!stage->record) continue;
    FZ_RETURN_IF_ERROR(MakePlan(stage, step.before));
    for (size_t i = stage->next.size(); i-- > 0;) {
      const auto& [outcome, next] = stage->next[i];
      const Stage* old = nullptr;
      if (step.before) {
        for (const auto& [o, n] : step.before->next) old = o == outcome ? n : old;
      }
      steps.push_back({next, old, i == 0 ? std::move(step.registers) : step.registers});
    }
  }
  return absl::OkStatus();
}

Source ScriptTree::Placed(const Source& s) const {
  return s.kind == Kind::kResult ? Source{s.kind, registers_[s.index]} : s;
}

void ScriptTree::Place(Stage* stage, Registers* registers) {
  for (int32_t& r : stage->ended) {
    r = registers_[r];
    registers->free.push_back(r);
  }
  registers_.resize(stage->first_result);
  if (!stage->record) return PlaceEnd(stage);
  const SegmentRecord& record = *stage->record;
  for (const Source& s : record.slots) stage->slots.push_back(Placed(s));
  for (int32_t r = 0; r < record.results; ++r) {
    int32_t place = -1;
    if (stage->live[r / 64] >> (r % 64) & 1) {
      if (registers->free.empty()) registers->free.push_back(registers->used++);
      place = registers->free.back();
      registers->free.pop_back();
      stage->kept.push_back(place);
    }
    registers_.push_back(place);
  }
  stage->read = Placed(record.read);
  script_->registers_ = std::max(script_->registers_, registers->used);
}

void ScriptTree::PlaceEnd(Stage* stage) {
  const auto placed = [&](const Origin& o) { return Origin{Placed(o.value), o.node}; };
  for (const Origin& o : stage->path->outputs) stage->outputs.push_back(placed(o));
  for (const auto& [cell, o] : stage->path->writes) stage->writes.push_back({cell, placed(o)});
  absl::flat_hash_set<int32_t> later;
  for (size_t i = stage->writes.size(); i-- > 0;) {
    const Source& s = stage->writes[i].content.value;
    if (s.kind == Kind::kResult) stage->writes[i].last = later.insert(s.index).second;
  }
  for (TapeRecord node : stage->path->tape) {
    for (Origin& o : node.saved) o = placed(o);
    node.saved_output = Placed(node.saved_output);
    stage->tape.push_back(std::move(node));
  }
}

Status ScriptTree::MakePlan(Stage* stage, const Stage* before) {
  if (stage->kept.empty()) return absl::OkStatus();
  const SegmentRecord& record = *stage->record;
  const Overwritable& overwritable = stage->overwritable;
  std::shared_ptr<const SegmentPlan>& shared =
      plans_[PlanKey(record.content.get(), record.precision, stage->live, overwritable.slots,
                     overwritable.lent_by_cells)];
  const bool known = shared != nullptr;
  // Another outcome may want what was overwritten before.
  if (!shared && before && before->live == stage->live && before->overwritable == overwritable)
    shared = before->plan;
  if (!shared) {
    std::vector<const CallRecord*> calls;
    for (const CallRecord& c : record.calls()) calls.push_back(&c);
    const auto like = record.live == stage->live ? record.plan.lock() : nullptr;
    FZ_ASSIGN_OR_RETURN(shared, GetSegmentCompiler()->Compile(calls, stage->live, record.precision,
                                                              overwritable, like.get()));
    script_->compiled_ += shared->compiled();
  }
  stage->plan = shared;
  script_->unlocks_ |= shared->unlocks();
  script_->kernels_ += shared->kernels();
  if (!known) script_->bytes_ += shared->bytes();
  return absl::OkStatus();
}

}  // namespace frazil::tracer
