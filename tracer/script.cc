#include "tracer/script.h"

#include <cstring>

#include "absl/container/flat_hash_set.h"
#include "core/backend.h"
#include "core/check.h"
#include "core/infer.h"
#include "core/small_stack.h"
#include "tracer/learning.h"
#include "tracer/merge_segments.h"
#include "tracer/script_tree.h"

namespace frazil::tracer {

using End = SegmentRecord::End;

// Results of a script of one segment that are made without an array on the heap.
constexpr int kMaxStraight = 4;

// About what the paths hold; content that segments share counts once.
int64_t BytesOf(absl::Span<const std::shared_ptr<const PathRecord>> paths) {
  int64_t bytes = 0;
  absl::flat_hash_set<const void*> seen;
  for (const auto& path : paths) {
    for (const SegmentRecord& segment : path->segments) {
      bytes += static_cast<int64_t>(sizeof segment + segment.slots.size() * sizeof(Source));
      if (!seen.insert(segment.content.get()).second) continue;
      for (const CallRecord& call : segment.calls()) bytes += BytesOf(call);
    }
    for (const ValueRef& v : path->constants) bytes += v->size() * SizeOf(v->dtype);
  }
  return bytes;
}

Script::Script() = default;
Script::~Script() = default;

std::vector<MemoryReport> Script::MemoryPlans() const {
  std::vector<MemoryReport> reports;
  absl::flat_hash_set<const SegmentPlan*> seen;
  for (const auto& stage : stages_) {
    if (stage->plan && seen.insert(stage->plan.get()).second)
      reports.push_back(stage->plan->memory());
  }
  return reports;
}

StatusOr<std::shared_ptr<const Script>> Script::Build(
    std::vector<std::shared_ptr<const PathRecord>> paths, const Script* previous) {
  FZ_CHECK(!paths.empty());
  std::shared_ptr<Script> script(new Script);
  script->paths_ = std::move(paths);
  ScriptTree tree(script.get());
  // Paths that part at an outcome have to agree on their segments.
  const std::shared_ptr<PathRecord> merged =
      script->paths_.size() == 1 ? MergeSegments(*script->paths_[0]) : nullptr;
  // Plans of merged segments are not those of the path's own.
  script->merged_ = merged != nullptr;
  if (merged) {
    tree.Add(merged);
  } else {
    for (const auto& path : script->paths_) tree.Add(path);
  }
  const bool alike = previous && !previous->merged_ && !merged;
  FZ_RETURN_IF_ERROR(tree.Compile(alike ? previous : nullptr));
  if (merged) {
    for (SegmentRecord& segment : merged->segments) segment.content = {};  // it is compiled
  }
  script->bytes_ += BytesOf(script->paths_);
  const Stage& root = *script->stages_[0];
  const int kept = static_cast<int>(root.kept.size());
  if (root.plan && kept <= kMaxStraight && root.record->end == End::kContinue &&
      !root.next[0].second->record) {
    const Stage& end = *root.next[0].second;
    script->straight_ =
        end.writes.empty() && end.tape.empty() && static_cast<int>(end.outputs.size()) == kept;
    for (size_t i = 0; i < end.outputs.size(); ++i) {
      const Origin wanted{{Source::Kind::kResult, static_cast<int32_t>(i)}, {}};
      script->straight_ = script->straight_ && end.outputs[i] == wanted;
    }
  }
  return std::shared_ptr<const Script>(std::move(script));
}

Status Script::RunStraight(Cells cells, absl::InlinedVector<Tensor, 4>* outputs) const {
  SmallStack<Value*, 16> slots;
  const Stage& root = *stages_[0];
  for (const Source& s : root.slots) {
    slots.push_back(s.kind == Source::Kind::kCell ? cells[s.index]->value()
                                                  : root.path->constants[s.index].get());
  }
  ValueRef results[kMaxStraight];
  const auto nothing_lent = [](int32_t) { return false; };
  FZ_RETURN_IF_ERROR(root.plan->Run(slots.span(), {results, root.kept.size()}, nothing_lent));
  for (size_t i = 0; i < root.kept.size(); ++i) outputs->emplace_back(std::move(results[i]));
  return absl::OkStatus();
}

StatusOr<const PathRecord*> Script::Run(Cells cells, absl::InlinedVector<Tensor, 4>* outputs,
                                        int* kernels) const {
  const Stage* stage = stages_[0].get();
  if (straight_) {
    FZ_RETURN_IF_ERROR(RunStraight(cells, outputs));
    *kernels = kernels_;
    return stage->path.get();
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
  const auto value = [&](const Source& s) -> Value* {
    switch (s.kind) {
      case Source::Kind::kCell:
        return cells[s.index]->value();
      case Source::Kind::kResult:
        return registers[s.index].get();
      case Source::Kind::kConstant:
        return stage->path->constants[s.index].get();
      case Source::Kind::kNone:
        break;
    }
    return nullptr;
  };
  while (stage->record) {
    if (stage->plan) {
      slots.clear();
      for (const Source& s : stage->slots) slots.push_back(value(s));
      // What is lent has one holder: the cell, while nothing can come between, or, where something
      // has replaced its content during an earlier stage, this call.
      for (const int32_t i : stage->lent) {
        if (!held.empty() && held[i].value() == written[i]->value()) held[i].SetValue(ValueRef());
      }
      const auto still_lent = [&](int32_t slot) {
        if (static_cast<size_t>(slot) >= stage->slots.size()) return false;
        const Source& s = stage->slots[slot];
        return s.kind == Source::Kind::kResult ||
               (s.kind == Source::Kind::kCell && written[s.index]->value() == slots[slot]);
      };
      results.resize(stage->kept.size());
      FZ_RETURN_IF_ERROR(stage->plan->Run(slots, absl::MakeSpan(results), still_lent));
      for (size_t i = 0; i < results.size(); ++i) registers[stage->kept[i]] = std::move(results[i]);
      *kernels += stage->plan->kernels();
    }
    const SegmentRecord& record = *stage->record;
    const Stage* next = stage->next[0].second;
    if (record.end == End::kNumber) {
      FZ_ASSIGN_OR_RETURN(const ValueRef v, OnHost(*value(stage->read)));
      uint64_t outcome = 0;
      std::memcpy(&outcome, v->data, SizeOf(v->dtype));
      next = nullptr;
      for (const auto& [known, child] : stage->next) next = known == outcome ? child : next;
      if (!next) return nullptr;
    } else if (record.end == End::kIndexCheck) {
      const Tensor indices(ValueRef::Share(value(stage->read)));
      if (!CheckIndexRange(record.check, indices, record.range, record.of).ok()) return nullptr;
    }
    stage = next;
    for (const int32_t r : stage->ended) registers[r].Reset();
  }
  const std::vector<GradNodeRef> made = MakeTape(stage->tape, cells, value);
  const auto node = [&](const Origin& o) {
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
  const auto tensor = [&](const Origin& o) {
    Value* v = value(o.value);
    return v ? Tensor(ValueRef::Share(v), node(o)) : Tensor();
  };
  for (const Origin& o : stage->outputs) outputs->push_back(tensor(o));
  // All contents first: a cell may be written that another write reads.
  absl::InlinedVector<Tensor, 8> contents;
  contents.reserve(stage->writes.size());
  for (const Stage::Write& w : stage->writes) {
    if (w.last) {
      contents.emplace_back(std::move(registers[w.content.value.index]), node(w.content));
    } else {
      contents.push_back(tensor(w.content));
    }
  }
  if (__builtin_expect(Learning::Any(), 0)) {
    for (const Stage::Write& w : stage->writes) Learning::Tell(written[w.cell]);
  }
  for (size_t i = 0; i < contents.size(); ++i)
    *written[stage->writes[i].cell] = std::move(contents[i]);
  return stage->path.get();
}

}  // namespace frazil::tracer
