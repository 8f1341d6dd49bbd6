#include "tracer/script.h"

#include <cstring>

#include "absl/algorithm/container.h"
#include "core/backend.h"
#include "core/check.h"
#include "core/infer.h"
#include "core/small_stack.h"
#include "core/str.h"
#include "tracer/learning.h"
#include "tracer/program_text.h"
#include "tracer/script_tree.h"
#include "tracer/tape_record.h"
#include "tracer/while_loop.h"

namespace frazil::tracer {

// Results of a script of one segment that are made without an array on the heap.
constexpr int kMaxStraight = 4;

Script::Script() = default;
Script::~Script() = default;

std::vector<PlanReport> Script::Plans() const {
  std::vector<PlanReport> reports;
  absl::flat_hash_set<const SegmentPlan*> seen;
  for (const auto& stage : stages_) {
    if (!stage->plan || !seen.insert(stage->plan.get()).second) continue;
    PlanReport report = stage->plan->report();
    const auto program = Print(stage->learnt->program);
    report.program = program.ok() ? *program : std::string(program.status().message());
    report.where = StrCat("skipped calls, part ", seen.size());
    reports.push_back(std::move(report));
  }
  return reports;
}

StatusOr<std::shared_ptr<const Script>> Script::Build(
    std::vector<std::shared_ptr<const LearntCall>> paths, const Script* previous) {
  FZ_CHECK(!paths.empty());
  std::shared_ptr<Script> script(new Script);
  script->paths_ = std::move(paths);
  ScriptTree tree(script.get());
  // Programs that part at an outcome have to agree on their segments.
  for (const auto& path : script->paths_) {
    const auto pieces =
        script->paths_.size() == 1 ? MergedSegmentsOf(path->program) : SegmentsOf(path->program);
    script->merged_ |= absl::c_any_of(pieces, [](const Piece& p) { return p.merged; });
    tree.Add(path, pieces);
    script->bytes_ += BytesOf(path->program);
  }
  const auto has_loops = [](const auto& path) { return HasLoops(path->program); };
  // Plans of merged segments are not those of the program's own, and a call whose loops were folded
  // since has others.
  const bool alike = previous && !previous->merged_ && !script->merged_ &&
                     (absl::c_none_of(script->paths_, has_loops) ||
                      absl::c_all_of(previous->paths_, [&](const auto& path) {
                        return absl::c_linear_search(script->paths_, path);
                      }));
  FZ_RETURN_IF_ERROR(tree.Compile(alike ? previous : nullptr));
  const Stage& root = *script->stages_[0];
  const int kept = static_cast<int>(root.kept.size());
  if (root.plan && kept <= kMaxStraight && root.mark->kind == Mark::Kind::kCut &&
      !root.next[0].second->mark) {
    const Stage& end = *root.next[0].second;
    script->straight_ =
        end.writes.empty() && end.tape.empty() && static_cast<int>(end.outputs.size()) == kept;
    for (size_t i = 0; i < end.outputs.size(); ++i) {
      script->straight_ =
          script->straight_ && end.outputs[i] == Content{static_cast<ValueId>(i), {}};
    }
  }
  return std::shared_ptr<const Script>(std::move(script));
}

StatusOr<std::shared_ptr<const Script>> Script::Keep(
    std::vector<std::shared_ptr<const LearntCall>> paths) {
  std::shared_ptr<Script> script(new Script);
  script->paths_ = std::move(paths);
  return std::shared_ptr<const Script>(std::move(script));
}

bool Script::is_quick(size_t cells) const {
  if (!straight_ || !stages_[0]->plan->is_quick()) return false;
  const size_t all = paths_[0]->program.parameters.size();
  return absl::c_all_of(stages_[0]->slots, [&](ValueId id) {
    const auto i = static_cast<size_t>(~id);
    return i < cells || i >= all;
  });
}

Value* Script::MakeQuick(Cells cells) const {
  const Stage& root = *stages_[0];
  const Program& program = root.learnt->program;
  const ValueRef* const constants = program.constants.data();
  Value* slots[SegmentPlan::kQuickSlots];
  Value** slot = slots;
  for (const ValueId id : root.slots) {
    const auto i = static_cast<size_t>(~id);
    *slot++ = i < cells.size() ? cells[i]->value() : constants[i - program.parameters.size()].get();
  }
  return root.plan->MakeQuick(slots);
}

Status Script::RunStraight(Cells cells, absl::InlinedVector<Tensor, 4>* outputs) const {
  const Stage& root = *stages_[0];
  if (root.plan->is_quick()) {
    if (Value* const made = MakeQuick(cells)) {
      outputs->emplace_back(ValueRef::Adopt(made));
      return absl::OkStatus();
    }
  }
  SmallStack<Value*, 16> slots;
  const ValueRef* const constants = root.learnt->program.constants.data();
  for (const ValueId id : root.slots) {
    const auto i = static_cast<size_t>(~id);
    slots.push_back(i < cells.size() ? cells[i]->value() : constants[i - cells.size()].get());
  }
  ValueRef results[kMaxStraight];
  const auto nothing_lent = [](int32_t) { return false; };
  FZ_RETURN_IF_ERROR(root.plan->Run(slots.span(), {results, root.kept.size()}, nothing_lent));
  for (size_t i = 0; i < root.kept.size(); ++i) outputs->emplace_back(std::move(results[i]));
  return absl::OkStatus();
}

StatusOr<const LearntCall*> Script::Run(Cells cells, absl::InlinedVector<Tensor, 4>* outputs,
                                        int* kernels) const {
  const Stage* stage = stages_[0].get();
  if (straight_) {
    FZ_RETURN_IF_ERROR(RunStraight(cells, outputs));
    *kernels = kernels_;
    return stage->learnt.get();
  }
  absl::InlinedVector<Value*, 16> slots;
  absl::InlinedVector<ValueRef, 8> registers(registers_), results;
  absl::InlinedVector<Tensor, 16> held;
  absl::InlinedVector<Tensor*, 16> held_cells;
  const Cells written = cells;
  if (unlocks_) {
    held.reserve(cells.size());
    for (const Tensor* cell : cells) {
      held.push_back(*cell);
      held_cells.push_back(&held.back());
    }
    cells = held_cells;
  }
  const auto value = [&](ValueId id) -> Value* {
    if (id >= 0) return registers[id].get();
    const auto i = static_cast<size_t>(~id);
    if (i < cells.size()) return cells[i]->value();
    return id == kNoValue ? nullptr : stage->learnt->program.constant(id).get();
  };
  while (stage->mark) {
    if (stage->plan) {
      slots.clear();
      for (const ValueId id : stage->slots) slots.push_back(value(id));
      // What is lent has one holder: the cell, while nothing can come between, or, where something
      // has replaced its content during an earlier stage, this call.
      for (const int32_t i : stage->lent) {
        if (!held.empty() && held[i].value() == written[i]->value()) held[i].SetValue(ValueRef());
      }
      const auto still_lent = [&](int32_t slot) {
        if (static_cast<size_t>(slot) >= stage->slots.size()) return false;
        const ValueId id = stage->slots[slot];
        return id >= 0 ||
               (static_cast<size_t>(~id) < written.size() && written[~id]->value() == slots[slot]);
      };
      results.resize(stage->kept.size());
      FZ_RETURN_IF_ERROR(stage->plan->Run(slots, absl::MakeSpan(results), still_lent));
      for (size_t i = 0; i < results.size(); ++i) registers[stage->kept[i]] = std::move(results[i]);
      *kernels += stage->plan->kernels();
    }
    const Mark& mark = *stage->mark;
    const Stage* next = stage->next[0].second;
    if (mark.kind == Mark::Kind::kNumber) {
      FZ_ASSIGN_OR_RETURN(const ValueRef v, OnHost(*value(stage->read)));
      uint64_t outcome = 0;
      std::memcpy(&outcome, v->data, SizeOf(v->dtype));
      next = nullptr;
      for (const auto& [known, child] : stage->next) next = known == outcome ? child : next;
      if (!next) return nullptr;
    } else if (mark.kind == Mark::Kind::kIndexCheck) {
      const Tensor indices(ValueRef::Share(value(stage->read)));
      if (!CheckIndexRange(mark.check, indices, mark.range, [&] { return mark.of; }).ok())
        return nullptr;
    }
    stage = next;
    for (const ValueId r : stage->ended) registers[r].Reset();
  }
  const std::vector<GradNodeRef> made = MakeTape(stage->tape, cells, value);
  const auto node = [&](const Content& o) {
    switch (o.node.kind) {
      case Link::Kind::kMade:
        return made[o.node.index];
      case Link::Kind::kCell:
        return cells[o.node.index]->node_ref();
      case Link::Kind::kNone:
        break;
    }
    return GradNodeRef();
  };
  const auto tensor = [&](const Content& o) {
    Value* v = value(o.value);
    return v ? Tensor(ValueRef::Share(v), node(o)) : Tensor();
  };
  for (const Content& o : stage->outputs) outputs->push_back(tensor(o));
  // All contents first: a cell may be written that another write reads.
  absl::InlinedVector<Tensor, 8> contents;
  contents.reserve(stage->writes.size());
  for (size_t i = 0; i < stage->writes.size(); ++i) {
    const Program::Write& w = stage->writes[i];
    if (stage->last[i]) {
      contents.emplace_back(std::move(registers[w.content.value]), node(w.content));
    } else {
      contents.push_back(tensor(w.content));
    }
  }
  if (__builtin_expect(Learning::Any(), 0)) {
    for (const Program::Write& w : stage->writes) Learning::Tell(written[w.cell]);
  }
  for (size_t i = 0; i < contents.size(); ++i)
    *written[stage->writes[i].cell] = std::move(contents[i]);
  return stage->learnt.get();
}

}  // namespace frazil::tracer
