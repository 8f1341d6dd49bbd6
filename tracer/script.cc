#include "tracer/script.h"

#include <cstring>

#include "absl/algorithm/container.h"
#include "core/check.h"
#include "core/device_memory.h"
#include "core/infer.h"
#include "core/small_stack.h"
#include "tracer/learning.h"
#include "tracer/merge_segments.h"

namespace frazil::tracer {

using End = SegmentRecord::End;

// Results of a script of one segment that are made without an array on the heap.
constexpr int kMaxStraight = 4;

// One segment in the tree of paths.
struct Script::Stage {
  std::shared_ptr<const PathRecord> path;  // one that passes through here
  const SegmentRecord* record = nullptr;   // null: the call ends here
  std::vector<Source> slots;               // kResult: a register
  LiveMask live;
  int kept = 0, first_register = 0;
  std::shared_ptr<const SegmentPlan> plan;  // null: nothing is wanted
  Spendable spendable;                      // what the plan may overwrite
  std::vector<int32_t> lent;                // cells whose content is among that
  Source read;
  std::vector<std::pair<uint64_t, std::unique_ptr<Stage>>> next;

  // At the end
  std::vector<Origin> outputs;
  struct Write {
    int cell;
    Origin content;
    bool last = false;  // no later one takes the same register
  };
  std::vector<Write> writes;
  std::vector<TapeRecord> tape;
};

// Puts the paths into a tree, then compiles it from the root: what is kept of a segment is what
// anything below wants of it.
class Script::Builder {
 public:
  explicit Builder(Script* script) : script_(script) {}

  std::unique_ptr<Stage> Tree(absl::Span<const std::shared_ptr<const PathRecord>> paths,
                              size_t at) {
    auto stage = std::make_unique<Stage>();
    stage->path = paths[0];
    if (at == paths[0]->segments.size()) return stage;
    stage->record = &paths[0]->segments[at];
    std::vector<std::pair<uint64_t, std::vector<std::shared_ptr<const PathRecord>>>> groups;
    for (const auto& p : paths) {
      const uint64_t outcome = p->segments[at].outcome;
      auto it = groups.begin();
      while (it != groups.end() && it->first != outcome) ++it;
      if (it == groups.end()) it = groups.insert(it, {outcome, {}});
      it->second.push_back(p);
    }
    for (const auto& [outcome, members] : groups)
      stage->next.push_back({outcome, Tree(members, at + 1)});
    return stage;
  }

  // The results (numbered over the path) that `stage` and what follows it read.
  void Collect(const Stage& stage, std::vector<bool>* wanted) const {
    const auto add = [&](const Source& s) {
      if (s.kind != Source::Kind::kResult) return;
      if (wanted->size() <= static_cast<size_t>(s.index)) wanted->resize(s.index + 1);
      (*wanted)[s.index] = true;
    };
    if (!stage.record) {
      for (const Origin& o : stage.path->outputs) add(o.value);
      for (const auto& [cell, o] : stage.path->writes) add(o.value);
      for (const TapeRecord& node : stage.path->tape) {
        for (const Origin& o : node.saved) add(o.value);
        add(node.saved_output);
      }
      return;
    }
    for (const Source& s : stage.record->slots) add(s);
    add(stage.record->read);
    for (const auto& [outcome, next] : stage.next) Collect(*next, wanted);
  }

  // `registers` says where the path's results so far are kept (-1: nowhere).
  Status Compile(Stage* stage, std::vector<int> registers, int used, const Stage* before) {
    const auto place = [&](const Source& s) {
      if (s.kind != Source::Kind::kResult) return s;
      return Source{s.kind, registers[s.index]};
    };
    if (!stage->record) {
      for (const Origin& o : stage->path->outputs)
        stage->outputs.push_back({place(o.value), o.node});
      for (const auto& [cell, o] : stage->path->writes)
        stage->writes.push_back({cell, {place(o.value), o.node}});
      std::vector<bool> later(used);
      for (size_t i = stage->writes.size(); i-- > 0;) {
        const Source& s = stage->writes[i].content.value;
        if (s.kind != Source::Kind::kResult) continue;
        stage->writes[i].last = !later[s.index];
        later[s.index] = true;
      }
      for (TapeRecord node : stage->path->tape) {
        for (Origin& o : node.saved) o.value = place(o.value);
        node.saved_output = place(node.saved_output);
        stage->tape.push_back(std::move(node));
      }
      return absl::OkStatus();
    }
    const SegmentRecord& record = *stage->record;
    for (const Source& s : record.slots) stage->slots.push_back(place(s));
    std::vector<bool> wanted;  // by what comes after this segment's calls
    const auto first = registers.size();
    for (const auto& [outcome, next] : stage->next) Collect(*next, &wanted);
    if (record.read.kind == Source::Kind::kResult) {
      wanted.resize(std::max<size_t>(wanted.size(), record.read.index + 1));
      wanted[record.read.index] = true;
    }
    stage->live.resize((record.results + 63) / 64);
    stage->first_register = used;
    for (int r = 0; r < record.results; ++r) {
      const bool keep = first + r < wanted.size() && wanted[first + r];
      registers.push_back(keep ? used++ : -1);
      if (!keep) continue;
      stage->live[r / 64] |= uint64_t{1} << (r % 64);
      ++stage->kept;
    }
    stage->read = place(record.read);
    FZ_RETURN_IF_ERROR(MakePlan(stage, wanted, before));
    for (auto& [outcome, next] : stage->next) {
      const Stage* old = nullptr;
      if (before) {
        for (const auto& [o, n] : before->next) old = o == outcome ? n.get() : old;
      }
      FZ_RETURN_IF_ERROR(Compile(next.get(), registers, used, old));
    }
    return absl::OkStatus();
  }

 private:
  Status MakePlan(Stage* stage, const std::vector<bool>& wanted, const Stage* before) {
    if (stage->kept == 0) return absl::OkStatus();
    const SegmentRecord& record = *stage->record;
    // Constants are never overwritten. A register is, if this is its last use, and so is what a
    // cell holds, if every call replaces it and nothing can come between.
    Spendable& spendable = stage->spendable;
    for (size_t i = 0; i < record.slots.size(); ++i) {
      const Source& s = record.slots[i];
      if (s.kind == Source::Kind::kResult) {
        if (static_cast<size_t>(s.index) >= wanted.size() || !wanted[s.index]) spendable.Add(i);
      } else if (s.kind == Source::Kind::kCell && script_->paths_.size() == 1 && Lends(*stage, s)) {
        spendable.Add(i);
        spendable.lent_by_cells = true;
        stage->lent.push_back(s.index);
      }
    }
    // Another outcome may want what was overwritten before.
    if (before && before->plan && before->live == stage->live && before->spendable == spendable) {
      stage->plan = before->plan;
      script_->unlocks_ |= stage->plan->unlocks();
      script_->kernels_ += stage->plan->kernels();
      script_->bytes_ += stage->plan->bytes();
      return absl::OkStatus();
    }
    std::vector<const CallRecord*> calls;
    for (const CallRecord& c : record.calls) calls.push_back(&c);
    const auto like = record.live == stage->live ? record.plan.lock() : nullptr;
    FZ_ASSIGN_OR_RETURN(
        stage->plan,
        GetSegmentCompiler()->Compile(calls, stage->live, record.precision, spendable, like.get()));
    script_->unlocks_ |= stage->plan->unlocks();
    script_->kernels_ += stage->plan->kernels();
    script_->compiled_ += stage->plan->compiled();
    script_->bytes_ += stage->plan->bytes();
    return absl::OkStatus();
  }

  // The call ends behind `stage` with another content of the cell, and does nothing else with this
  // one.
  static bool Lends(const Stage& stage, const Source& cell) {
    if (stage.record->end != End::kContinue || stage.next[0].second->record) return false;
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

  Script* script_;
};

Script::~Script() = default;

std::vector<MemoryReport> Script::MemoryPlans() const {
  std::vector<MemoryReport> reports;
  std::vector<const Stage*> stages = {root_.get()};
  while (!stages.empty()) {
    const Stage* stage = stages.back();
    stages.pop_back();
    if (stage->plan) reports.push_back(stage->plan->memory());
    for (const auto& [outcome, next] : stage->next) stages.push_back(next.get());
  }
  return reports;
}

StatusOr<std::shared_ptr<const Script>> Script::Build(
    std::vector<std::shared_ptr<const PathRecord>> paths, const Script* previous) {
  FZ_CHECK(!paths.empty());
  std::shared_ptr<Script> script(new Script);
  script->paths_ = std::move(paths);
  Builder builder(script.get());
  // Paths that part at an outcome have to agree on their segments.
  const std::shared_ptr<PathRecord> merged =
      script->paths_.size() == 1 ? MergeSegments(*script->paths_[0]) : nullptr;
  if (merged) {
    script->root_ = builder.Tree({merged}, 0);
  } else {
    script->root_ = builder.Tree(script->paths_, 0);
  }
  // Plans of merged segments are not those of the path's own.
  script->merged_ = merged != nullptr;
  const bool alike = previous && !previous->merged_ && !merged;
  FZ_RETURN_IF_ERROR(
      builder.Compile(script->root_.get(), {}, 0, alike ? previous->root_.get() : nullptr));
  if (merged) {
    for (SegmentRecord& segment : merged->segments) segment.calls = {};  // they are compiled
  }
  for (const auto& path : script->paths_) {
    for (const SegmentRecord& segment : path->segments) {
      for (const CallRecord& call : segment.calls) script->bytes_ += BytesOf(call);
    }
    for (const ValueRef& v : path->constants) script->bytes_ += v->size() * SizeOf(v->dtype);
  }
  const Stage& root = *script->root_;
  if (root.plan && root.kept <= kMaxStraight && root.record->end == End::kContinue &&
      !root.next[0].second->record) {
    const Stage& end = *root.next[0].second;
    script->straight_ =
        end.writes.empty() && end.tape.empty() && static_cast<int>(end.outputs.size()) == root.kept;
    for (size_t i = 0; i < end.outputs.size(); ++i) {
      const Origin wanted{{Source::Kind::kResult, static_cast<int32_t>(i)}, {}};
      script->straight_ = script->straight_ && end.outputs[i] == wanted;
    }
  }
  return std::shared_ptr<const Script>(std::move(script));
}

Status Script::RunStraight(Cells cells, absl::InlinedVector<Tensor, 4>* outputs) const {
  SmallStack<Value*, 16> slots;
  for (const Source& s : root_->slots) {
    slots.push_back(s.kind == Source::Kind::kCell ? cells[s.index]->value()
                                                  : root_->path->constants[s.index].get());
  }
  ValueRef results[kMaxStraight];
  const auto nothing_lent = [](int32_t) { return false; };
  FZ_RETURN_IF_ERROR(
      root_->plan->Run(slots.span(), {results, static_cast<size_t>(root_->kept)}, nothing_lent));
  for (int i = 0; i < root_->kept; ++i) outputs->emplace_back(std::move(results[i]));
  return absl::OkStatus();
}

StatusOr<const PathRecord*> Script::Run(Cells cells, absl::InlinedVector<Tensor, 4>* outputs,
                                        int* kernels) const {
  const Stage* stage = root_.get();
  if (straight_) {
    FZ_RETURN_IF_ERROR(RunStraight(cells, outputs));
    *kernels = kernels_;
    return stage->path.get();
  }
  absl::InlinedVector<Value*, 16> slots;
  absl::InlinedVector<ValueRef, 8> registers;
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
      registers.resize(stage->first_register + stage->kept);
      const auto still_lent = [&](int32_t slot) {
        if (static_cast<size_t>(slot) >= stage->slots.size()) return false;
        const Source& s = stage->slots[slot];
        return s.kind == Source::Kind::kResult ||
               (s.kind == Source::Kind::kCell && written[s.index]->value() == slots[slot]);
      };
      FZ_RETURN_IF_ERROR(stage->plan->Run(
          slots, absl::MakeSpan(registers).subspan(stage->first_register, stage->kept),
          still_lent));
      *kernels += stage->plan->kernels();
    }
    const SegmentRecord& record = *stage->record;
    const Stage* next = stage->next[0].second.get();
    if (record.end == End::kNumber) {
      FZ_ASSIGN_OR_RETURN(const ValueRef v, OnHost(*value(stage->read)));
      uint64_t outcome = 0;
      std::memcpy(&outcome, v->data, SizeOf(v->dtype));
      next = nullptr;
      for (const auto& [known, child] : stage->next) next = known == outcome ? child.get() : next;
      if (!next) return nullptr;
    } else if (record.end == End::kIndexCheck) {
      const Tensor indices(ValueRef::Share(value(stage->read)));
      if (!CheckIndexRange(record.check, indices, record.limit, record.of).ok()) return nullptr;
    }
    stage = next;
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
