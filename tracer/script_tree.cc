#include "tracer/script_tree.h"

#include <algorithm>

#include "absl/algorithm/container.h"
#include "absl/hash/hash.h"
#include "core/collective.h"

namespace frazil::tracer {

using Kind = Mark::Kind;

size_t ScriptTree::ContentHash::operator()(const std::shared_ptr<const Program>& program) const {
  size_t hash = program->parameters.size();
  for (const Program::Call& call : program->calls)
    hash = absl::HashOf(hash, call.record.get(), call.operands);
  return hash;
}

bool ScriptTree::SameContent::operator()(const std::shared_ptr<const Program>& a,
                                         const std::shared_ptr<const Program>& b) const {
  const auto same = [](const Program::Call& x, const Program::Call& y) {
    return x.record == y.record && x.operands == y.operands;
  };
  return a->parameters == b->parameters && absl::c_equal(a->calls, b->calls, same);
}

ScriptTree::Stage* ScriptTree::NewStage(const std::shared_ptr<const LearntCall>& learnt) {
  Stage* stage = script_->stages_.emplace_back(std::make_unique<Stage>()).get();
  stage->learnt = learnt;
  return stage;
}

void ScriptTree::Fill(Stage* stage, const Piece& piece, const Parts& parts) {
  const LearntCall& learnt = *stage->learnt;
  Parts::Part part = parts.Take(piece.calls, piece.merged);
  stage->mark = &learnt.program.marks[piece.mark];
  stage->read = stage->mark->read;
  // A device is waited for while others go on (OnHost).
  script_->unlocks_ |= stage->read != kNoValue && !CpuAddresses(parts.TypeOf(stage->read).device);
  stage->slots = std::move(part.from);
  stage->results = static_cast<int32_t>(part.results.size());
  int32_t result = 0;
  for (const Program::Call& call : part.program.calls) {
    if (!call->composite && HasEffect(call->primitive())) stage->effect = result;
    result += static_cast<int32_t>(call->results.size());
  }
  script_->has_effects_ |= stage->effect >= 0;
  stage->ahead = piece.ahead;
  if (!piece.ahead && !piece.merged && static_cast<size_t>(piece.mark) < learnt.planned.size())
    stage->made = &learnt.planned[piece.mark];
  stage->calls = *contents_.insert(std::make_shared<const Program>(std::move(part.program))).first;
  // Its numbers are used again by the stage that follows.
  const auto own = absl::c_find(part.results, stage->read);
  if (piece.ahead && own != part.results.end())
    stage->read = stage->first_result + static_cast<ValueId>(own - part.results.begin());
}

void ScriptTree::Add(const std::shared_ptr<const LearntCall>& learnt,
                     absl::Span<const Piece> pieces) {
  const Parts parts(learnt->program);
  Stage* stage = script_->stages_.empty() ? NewStage(learnt) : script_->stages_.front().get();
  for (const Piece& piece : pieces) {
    if (!stage->mark) Fill(stage, piece, parts);
    const uint64_t outcome = learnt->program.marks[piece.mark].outcome;
    const auto known =
        absl::c_find_if(stage->next, [&](const auto& next) { return next.first == outcome; });
    if (known != stage->next.end()) {
      stage = known->second;
      continue;
    }
    Stage* next = NewStage(learnt);
    next->first_result = stage->first_result + (stage->ahead ? 0 : stage->results);
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
    if (!stage->mark) {
      ForValuesOfEnd(stage->learnt->program, [&](ValueId id) {
        if (id >= 0) below.insert(id);
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
          for (const ValueId r : below) {
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
  const bool reads = stage->read >= 0;
  const auto is_wanted = [&](ValueId r) {
    return (reads && stage->read == r) || wanted->contains(r);
  };
  Results ended;  // behind this stage, whatever the outcome
  stage->live.resize(static_cast<size_t>(stage->results + 63) / 64);
  for (int32_t r = 0; r < stage->results; ++r) {
    if (is_wanted(stage->first_result + r)) stage->live[r / 64] |= uint64_t{1} << (r % 64);
  }
  // Whoever reads it, it has to happen; the calls before it stand behind it (jit/segment.cc).
  if (const int32_t r = stage->effect; r >= 0) {
    stage->live[r / 64] |= uint64_t{1} << (r % 64);
    if (!is_wanted(stage->first_result + r)) ended.insert(stage->first_result + r);
  }
  // Constants are never overwritten. A register is, if this is its last use, and so is what a cell
  // holds, if every call replaces it and nothing can come between.
  for (size_t i = 0; i < stage->slots.size(); ++i) {
    const ValueId id = stage->slots[i];
    if (id >= 0) {
      if (!is_wanted(id)) stage->overwritable.Add(i);
      if (!wanted->contains(id)) ended.insert(id);
    } else if (!stage->learnt->program.IsConstant(id) && Lends(*stage, id)) {
      stage->overwritable.Add(i);
      stage->overwritable.lent_by_cells = true;
      stage->lent.push_back(~id);
    }
  }
  if (reads && !wanted->contains(stage->read)) ended.insert(stage->read);
  for (const auto& [outcome, next] : stage->next)
    next->ended.insert(next->ended.end(), ended.begin(), ended.end());
  for (int32_t r = 0; r < stage->results; ++r) wanted->erase(stage->first_result + r);
  for (const ValueId id : stage->slots) {
    if (id >= 0) wanted->insert(id);
  }
  if (reads && stage->read < stage->first_result) wanted->insert(stage->read);
}

// The call ends behind `stage` with another content of the cell, and does nothing else with this
// one.
bool ScriptTree::Lends(const Stage& stage, ValueId cell) const {
  if (script_->paths_.size() != 1 || stage.mark->kind != Kind::kCut || stage.next[0].second->mark)
    return false;
  const Program& program = stage.learnt->program;
  bool named = false;
  ForValuesOfEnd(program, [&](ValueId id) { named |= id == cell; });
  return !named && absl::c_count(stage.slots, cell) == 1 &&
         absl::c_any_of(program.writes, [&](const auto& w) { return w.cell == ~cell; });
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
    if (!stage->mark) continue;
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

void ScriptTree::Place(Stage* stage, Registers* registers) {
  for (ValueId& r : stage->ended) {
    r = registers_[r];
    registers->free.push_back(r);
  }
  registers_.resize(static_cast<size_t>(stage->first_result));
  if (!stage->mark) return PlaceEnd(stage);
  for (ValueId& id : stage->slots) id = Placed(id);
  for (int32_t r = 0; r < stage->results; ++r) {
    ValueId place = -1;
    if (IsLive(stage->live, static_cast<size_t>(r))) {
      if (registers->free.empty()) registers->free.push_back(registers->used++);
      place = registers->free.back();
      registers->free.pop_back();
      stage->kept.push_back(place);
    }
    registers_.push_back(place);
  }
  stage->read = Placed(stage->read);
  script_->registers_ = std::max(script_->registers_, registers->used);
}

void ScriptTree::PlaceEnd(Stage* stage) {
  const Program& program = stage->learnt->program;
  stage->outputs = program.outputs;
  stage->writes = program.writes;
  stage->tape = program.tape;
  ForValuesOfEnd(*stage, [&](ValueId& id) { id = Placed(id); });
  stage->last.resize(stage->writes.size());
  absl::flat_hash_set<ValueId> later;
  for (size_t i = stage->writes.size(); i-- > 0;) {
    const ValueId id = stage->writes[i].content.value;
    stage->last[i] = id >= 0 && later.insert(id).second;
  }
}

Status ScriptTree::MakePlan(Stage* stage, const Stage* before) {
  const std::shared_ptr<const Program> calls = std::move(stage->calls);
  if (stage->kept.empty()) return absl::OkStatus();
  const Precision precision = stage->mark->precision;
  const Overwritable& overwritable = stage->overwritable;
  std::shared_ptr<const SegmentPlan>& shared = plans_[PlanKey(
      calls.get(), precision, stage->live, overwritable.slots, overwritable.lent_by_cells)];
  const bool known = shared != nullptr;
  // Another outcome may want what was overwritten before.
  if (!shared && before && before->live == stage->live && before->overwritable == overwritable)
    shared = before->plan;
  if (!shared) {
    const LearntCall::Planned* made = stage->made;
    const auto like = made && made->live == stage->live ? made->plan.lock() : nullptr;
    FZ_ASSIGN_OR_RETURN(shared, GetSegmentCompiler()->Compile(*calls, stage->live, precision,
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
