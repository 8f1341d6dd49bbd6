#include "tracer/script_builder.h"

#include <algorithm>
#include <cstring>

#include "core/backend.h"
#include "tracer/explain.h"

namespace frazil::tracer {

ScriptBuilder::ScriptBuilder(Cells cells) : cells_(cells) {
  for (size_t i = 0; i < cells.size(); ++i) {
    before_.push_back(*cells[i]);
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
    sources_.try_emplace(v, Source{Source::Kind::kCell, static_cast<int32_t>(i)});
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
  seen_.clear();
  before_.clear();
  path_ = nullptr;
  contents_.clear();
}

void ScriptBuilder::Postpone() {
  postponed_ = true;
  LetGo();
}

Source ScriptBuilder::Find(const Value& value) {
  const auto [it, fresh] = sources_.try_emplace(&value);
  if (fresh) {
    // What the body made of nothing but Python, or caught from outside.
    it->second = {Source::Kind::kConstant, static_cast<int32_t>(path_->constants.size())};
    path_->constants.push_back(ValueRef::Share(const_cast<Value*>(&value)));
  }
  return it->second;
}

void ScriptBuilder::OnSegment(absl::Span<const CallRecord* const> path,
                              absl::Span<const ValueRef> slots, absl::Span<const ValueRef> results,
                              Precision precision, bool in_trie) {
  if (postponed_ || !refusal_.empty()) return;
  if (seen_.size() >= sweep_at_) Sweep();
  SegmentRecord& segment = path_->segments.emplace_back();
  segment.content = ContentOf(path, in_trie);
  for (const ValueRef& v : slots) segment.slots.push_back(Find(*v));
  for (const ValueRef& v : results) {
    seen_.push_back(v);
    sources_[v.get()] = {Source::Kind::kResult, results_++};
  }
  segment.results = static_cast<int>(results.size());
  segment.precision = precision;
  open_ = true;
}

std::shared_ptr<const ScriptBuilder::Content> ScriptBuilder::ContentOf(
    absl::Span<const CallRecord* const> path, bool in_trie) {
  std::shared_ptr<const Content> other;
  std::shared_ptr<const Content>& content = in_trie ? contents_[path.back()] : other;
  if (!content) {
    auto fresh = std::make_shared<Content>();
    fresh->reserve(path.size());
    for (const CallRecord* call : path) fresh->push_back(*call);
    content = std::move(fresh);
  }
  return content;
}

void ScriptBuilder::Sweep() {
  std::erase_if(seen_, [&](const ValueRef& v) {
    if (v->holders() > 1) return false;
    sources_.erase(v.get());
    return true;
  });
  sweep_at_ = std::max<size_t>(kSweepAt, 2 * seen_.size());
}

void ScriptBuilder::OnPlan(const std::shared_ptr<const SegmentPlan>& plan, const LiveMask& live) {
  if (postponed_ || !refusal_.empty()) return;
  path_->segments.back().plan = plan;
  path_->segments.back().live = live;
}

SegmentRecord& ScriptBuilder::Ended(SegmentRecord::End end, const Value& value) {
  if (!open_) path_->segments.emplace_back();
  open_ = false;
  SegmentRecord& segment = path_->segments.back();
  segment.end = end;
  segment.read = Find(value);
  return segment;
}

void ScriptBuilder::OnRead(const Value& value, Reading how) {
  if (how == Reading::kInside || postponed_ || !refusal_.empty()) return;
  if (how == Reading::kBytes) return Refuse("the body reads a tensor's bytes");
  if (IsFloat(value.dtype)) return Refuse("the body reads a float into the program");
  const auto host = OnHost(value);
  if (!host.ok()) return Refuse("the body reads a tensor whose device failed");
  SegmentRecord& segment = Ended(SegmentRecord::End::kNumber, value);
  std::memcpy(&segment.outcome, (*host)->data, SizeOf(value.dtype));
  segment.origin = Here();
}

void ScriptBuilder::OnIndexCheck(std::string_view op, const Value& indices, IndexRange range,
                                 std::string_view of) {
  if (postponed_ || !refusal_.empty()) return;
  SegmentRecord& segment = Ended(SegmentRecord::End::kIndexCheck, indices);
  segment.range = range;
  segment.check = op;
  segment.of = of;
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
    path_->tape.push_back(Describe(*node, link, find));
    links_[node] = {Link::Kind::kMade, static_cast<int32_t>(path_->tape.size()) - 1};
  }
  return true;
}

std::shared_ptr<PathRecord> ScriptBuilder::Finish(absl::Span<const Tensor* const> outputs) {
  if (postponed_ || !refusal_.empty()) return nullptr;
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
    return t.defined() ? Origin{Find(*t.value()), LinkTo(t.node())} : Origin();
  };
  for (const Tensor* t : outputs) path_->outputs.push_back(origin(*t));
  for (const int i : written) path_->writes.push_back({i, origin(*cells_[i])});
  return std::move(path_);
}

}  // namespace frazil::tracer
