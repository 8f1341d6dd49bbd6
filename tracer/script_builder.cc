#include "tracer/script_builder.h"

#include <algorithm>
#include <cstring>

#include "absl/container/flat_hash_set.h"
#include "core/backend.h"
#include "tracer/choices.h"
#include "tracer/explain.h"
#include "tracer/tape_record.h"

namespace frazil::tracer {

namespace {

// A skipped call that met another outcome would leave it to the body to exchange all once more.
constexpr std::string_view kReadsBehind =
    "the body reads data behind an exchange with other processes";

bool SameNumber(const Value& a, const Value& b) {
  return a.immediate && b.immediate && a.dtype == b.dtype && a.layout == b.layout && a.imm == b.imm;
}

}  // namespace

ScriptBuilder::ScriptBuilder(Cells cells) : cells_(cells) {
  for (size_t i = 0; i < cells.size(); ++i) {
    before_.push_back(*cells[i]);
    Parameter& parameter = learnt_->program.parameters.emplace_back();
    if (!cells[i]->defined()) continue;
    const Link link{Link::Kind::kCell, static_cast<int32_t>(i)};
    if (const GradNode* node = cells[i]->node()) {
      links_.try_emplace(node, link);
      if (node->kind == GradNode::Kind::kOp) {
        const auto* made = static_cast<const autograd::TapeNode*>(node);
        histories_.emplace_back(made, made->passes.load(std::memory_order_relaxed));
      }
    }
    const Value* v = cells[i]->value();
    parameter = Parameter::Of(*v);
    ids_.try_emplace(v, ~static_cast<ValueId>(i));
    if (v->storage && v->storage->foreign) {
      Refuse("an argument borrows its memory");
      return;
    }
  }
}

void ScriptBuilder::Refuse(std::string_view why) {
  if (!refusal_.empty()) return;
  const std::string here = Here();
  refusal_ = here.empty() ? std::string(why) : StrCat(why, " (", here, ")");
  LetGo();
}

void ScriptBuilder::LetGo() {
  observer_ = nullptr;
  states_.clear();
  alike_states_.clear();
  unknown_.clear();
  seen_.clear();
  before_.clear();
  learnt_ = nullptr;
  records_.clear();
  last_ = {};
  repeats_.clear();
}

void ScriptBuilder::Postpone() {
  postponed_ = true;
  LetGo();
}

void ScriptBuilder::OnIndexError() {
  if (!notes_alike_) return Postpone();
  Refuse("an index is out of range, and the body catches the error: compare the indices before");
}

ValueId ScriptBuilder::Find(const Value& value) {
  const auto [it, fresh] = ids_.try_emplace(&value);
  if (fresh) {
    // What the body made of nothing but Python, or caught from outside.
    Program& program = learnt_->program;
    it->second = program.IdOfConstant(program.constants.size());
    program.constants.push_back(ValueRef::Share(const_cast<Value*>(&value)));
  }
  return it->second;
}

void ScriptBuilder::Add(const Node& node, Operands operands, absl::Span<const ValueRef> results) {
  auto& record = records_[&node];
  if (!record) record = std::make_shared<const CallRecord>(node);
  learnt_->program.calls.push_back({record, std::move(operands)});
  Keep(results);
}

void ScriptBuilder::Keep(absl::Span<const ValueRef> results) {
  for (const ValueRef& v : results) {
    seen_.push_back(v);
    ids_[v.get()] = results_++;
  }
}

void ScriptBuilder::Cut(Precision precision) {
  Mark& mark = learnt_->program.marks.emplace_back();
  mark.at = static_cast<int32_t>(learnt_->program.calls.size());
  mark.precision = precision;
  learnt_->planned.resize(learnt_->program.marks.size());
  open_ = true;
}

void ScriptBuilder::OnSegment(absl::Span<const Node* const> path, absl::Span<const ValueRef> slots,
                              absl::Span<const ValueRef> results, Precision precision) {
  if (done()) return;
  if (seen_.size() >= sweep_at_) Sweep();
  if (Repeat(path, slots, precision)) {
    Keep(results);
    open_ = true;
    return;
  }
  std::vector<ValueId> taken;
  taken.reserve(slots.size());
  for (const ValueRef& v : slots) taken.push_back(Find(*v));
  slots_differ_ = absl::flat_hash_set<ValueId>(taken.begin(), taken.end()).size() == taken.size();
  const ValueId first = results_;
  if (last_.times > 1) repeats_.push_back(std::move(last_));
  last_ = Repeats{.times = 1,
                  .end = path.empty() ? nullptr : path.back(),
                  .call = static_cast<int32_t>(learnt_->program.calls.size()),
                  .calls = static_cast<int32_t>(path.size()),
                  .mark = static_cast<int32_t>(learnt_->program.marks.size()),
                  .first = first,
                  .results = static_cast<ValueId>(results.size()),
                  .begin = taken};
  for (const Node* node : path) {
    Operands operands = node->operands;
    for (ValueId& id : operands) id = id < 0 ? taken[~id] : first + id;
    Add(*node, std::move(operands),
        results.subspan(static_cast<size_t>(node->first_result), node->results.size()));
  }
  Cut(precision);
}

bool ScriptBuilder::Repeat(absl::Span<const Node* const> path, absl::Span<const ValueRef> slots,
                           Precision precision) {
  const Program& program = learnt_->program;
  // What other processes see stays in the order of the program, call by call.
  if (has_effect_ || last_.times == 0 || path.empty() || path.back() != last_.end ||
      results_ != last_.End() ||
      program.calls.size() != static_cast<size_t>(last_.call + last_.calls) || !open_ ||
      program.marks.size() != static_cast<size_t>(last_.mark + 1) ||
      program.marks.back().precision != precision)
    return false;
  const bool second = last_.times == 1;
  const std::vector<ValueId>& before = second ? last_.begin : last_.now;
  std::vector<ValueId> now;
  std::vector<bool> state;
  for (size_t i = 0; i < slots.size(); ++i) {
    const auto known = ids_.find(slots[i].get());
    ValueId id = before[i];
    if (known != ids_.end()) {
      id = known->second;
    } else if (!program.IsConstant(id) || !SameNumber(*program.constant(id), *slots[i])) {
      return false;
    }
    const ValueId made = id - (last_.End() - last_.results);  // by the segment before
    state.push_back(made >= 0 && made < last_.results);
    const bool fits = state[i] ? second || (last_.state[i] && id == before[i] + last_.results)
                               : id == before[i] && (second || !last_.state[i]);
    if (!fits) return false;
    now.push_back(id);
  }
  if (second) {
    for (const Node* node : path) {
      last_.operands.push_back(node->operands);
      last_.slots.insert(last_.slots.end(), node->slots.begin(), node->slots.end());
    }
    last_.state = std::move(state);
  }
  last_.now = std::move(now);
  ++last_.times;
  return true;
}

void ScriptBuilder::OnViews(absl::Span<const Node* const> views, const Value& base,
                            absl::Span<const ValueRef> results, Precision precision) {
  if (done()) return;
  ValueId from = Find(base);
  for (size_t i = 0; i < views.size(); ++i) {
    Add(*views[i], {from}, results.subspan(i, 1));
    from = results_ - 1;
  }
  Cut(precision);
}

void ScriptBuilder::Sweep() {
  std::erase_if(seen_, [&](const ValueRef& v) {
    if (v->holders() > 1) return false;
    ids_.erase(v.get());
    return true;
  });
  sweep_at_ = std::max<size_t>(kSweepAt, 2 * seen_.size());
}

void ScriptBuilder::OnPlan(const std::shared_ptr<const SegmentPlan>& plan, const LiveMask& live) {
  if (!done() && slots_differ_) learnt_->planned.back() = {plan, live};
}

Mark& ScriptBuilder::MarkOf(Mark::Kind kind, const Value& value) {
  if (!open_) Cut(State().precision);
  open_ = false;
  Mark& mark = learnt_->program.marks.back();
  mark.kind = kind;
  mark.read = Find(value);
  mark.origin = Here();
  return mark;
}

void ScriptBuilder::OnRead(const Value& value, Reading how) {
  if (how == Reading::kInside || done()) return;
  if (how == Reading::kBytes) return Refuse("the body reads a tensor's bytes");
  if (IsInexact(value.dtype)) return Refuse("the body reads a float into the program");
  if (has_effect_) return Refuse(kReadsBehind);
  const auto host = OnHost(value);
  if (!host.ok()) return Refuse("the body reads a tensor whose device failed");
  Mark& mark = MarkOf(Mark::Kind::kNumber, value);
  std::memcpy(&mark.outcome, (*host)->data, SizeOf(value.dtype));
  if (const auto& choices = Choices::Current(); choices && choices->outcome)
    mark.outcome = *choices->outcome;
  if (observer_ && IsBool(value.dtype)) NoteState(&mark);
}

void ScriptBuilder::NoteState(Mark* mark) {
  StateObserver::State state;
  if (!observer_->Look(&state)) return;
  // Which are one, and which are the call's own: what is written to one is seen by its other names.
  state.tensors.insert(state.tensors.begin(), cells_.begin(), cells_.end());
  absl::flat_hash_map<const Tensor*, uint64_t> cells;
  std::vector<uint64_t> alike = state.words;
  for (const Tensor* t : state.tensors) {
    state.words.push_back(cells.try_emplace(t, cells.size()).first->second);
    const Value* v = t->value();
    const bool known = v && ids_.contains(v);
    if (v && !known) {
      if (unknown_.size() == kMaxUnknown) observer_ = nullptr;
      if (!observer_) return;
      unknown_.push_back(ValueRef::Share(const_cast<Value*>(v)));
    }
    mark->held.push_back(known ? ids_[v]
                         : v   ? kFirstUnknown + static_cast<ValueId>(unknown_.size()) - 1
                               : kNoValue);
    const uint64_t layout = v ? reinterpret_cast<uint64_t>(v->layout) : 0;
    const auto node = reinterpret_cast<uint64_t>(t->node());
    for (const uint64_t word : {v ? uint64_t{v->kind()} : 0, layout, node})
      state.words.push_back(word);
    // Nor does it matter there whether a number was computed.
    const uint64_t kind = v ? Value::KindOf(v->dtype, v->device, false) : 0;
    alike.insert(alike.end(), {kind, layout, node});
  }
  if (state.words.size() > kMaxWords) observer_ = nullptr;
  if (notes_alike_) {
    alike_.resize(learnt_->program.marks.size(), -1);
    alike_.back() = alike_states_.try_emplace(std::move(alike), alike_states_.size()).first->second;
  }
  mark->state = states_.try_emplace(std::move(state.words), states_.size()).first->second;
}

void ScriptBuilder::UseAlikeStates() {
  if (done()) return;
  for (size_t i = 0; i < alike_.size(); ++i) learnt_->program.marks[i].state = alike_[i];
}

void ScriptBuilder::OnIndexCheck(std::string_view op, const Value& indices, IndexRange range,
                                 std::string_view of) {
  if (done()) return;
  if (has_effect_) return Refuse(kReadsBehind);
  Mark& mark = MarkOf(Mark::Kind::kIndexCheck, indices);
  mark.range = range;
  mark.check = op;
  mark.of = of;
}

void ScriptBuilder::OnGradient(const GradNode& leaf) {
  if (!links_.contains(&leaf)) Refuse("the body sets .grad of a tensor outside of its arguments");
}

Link ScriptBuilder::LinkTo(const GradNode* node) const {
  return node ? links_.find(node)->second : Link();
}

bool ScriptBuilder::HistoriesUsed() const {
  return std::any_of(histories_.begin(), histories_.end(), [](const auto& history) {
    return history.first->passes.load(std::memory_order_relaxed) != history.second;
  });
}

bool ScriptBuilder::RecordTape(absl::Span<const GradNode* const> roots) {
  std::vector<const GradNode*> nodes;
  if (!CollectTape(roots, links_, start_, &nodes)) return false;
  for (const GradNode* node : nodes) {
    const auto link = [&](const GradNode* n) { return LinkTo(n); };
    const auto find = [&](const Value& v) { return Find(v); };
    std::vector<TapeRecord>& tape = learnt_->program.tape;
    tape.push_back(Describe(*node, link, find));
    links_[node] = {Link::Kind::kMade, static_cast<int32_t>(tape.size()) - 1};
  }
  return true;
}

std::shared_ptr<LearntCall> ScriptBuilder::Finish(absl::Span<const Tensor* const> outputs) {
  if (done()) return nullptr;
  if (HistoriesUsed()) {
    Refuse("gradients flow into what made an argument");
    return nullptr;
  }
  std::vector<int> written;
  std::vector<const GradNode*> roots;
  for (const Tensor* t : outputs) roots.push_back(t->node());
  for (size_t i = 0; i < cells_.size(); ++i) {
    const Tensor &now = *cells_[i], &before = before_[i];
    if (now.value() == before.value() && now.node() == before.node()) continue;
    written.push_back(static_cast<int>(i));
    roots.push_back(now.node());
  }
  if (!RecordTape(roots)) {
    Refuse("a result's history for gradients begins outside of the arguments");
    return nullptr;
  }
  const auto origin = [&](const Tensor& t) {
    return t.defined() ? Content{Find(*t.value()), LinkTo(t.node())} : Content();
  };
  Program& program = learnt_->program;
  for (const Tensor* t : outputs) program.outputs.push_back(origin(*t));
  for (const int i : written) program.writes.push_back({i, origin(*cells_[i])});
  for (Mark& mark : program.marks) {
    for (ValueId& id : mark.held) {
      const auto unknown = static_cast<size_t>(int64_t{id} - kFirstUnknown);
      if (id == kNoValue || unknown >= unknown_.size()) continue;
      const auto known = ids_.find(unknown_[unknown].get());
      id = known != ids_.end() ? known->second : kNoValue;
    }
  }
  if (last_.times > 1) repeats_.push_back(std::move(last_));
  if (!repeats_.empty()) WriteRepeats(repeats_, learnt_.get());
  return std::move(learnt_);
}

}  // namespace frazil::tracer
