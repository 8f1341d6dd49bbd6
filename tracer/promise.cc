#include "tracer/promise.h"

#include <algorithm>
#include <mutex>

#include "absl/algorithm/container.h"
#include "core/threads/long_work.h"
#include "tracer/explain.h"
#include "tracer/program_text.h"
#include "tracer/same_program.h"
#include "tracer/while_loop.h"

namespace frazil::tracer {
namespace {

constexpr int64_t kRetryRefused = 1000;  // calls

using Paths = std::vector<std::shared_ptr<const LearntCall>>;

std::shared_ptr<const LearntCall> Folded(std::shared_ptr<const LearntCall> learnt, bool saved) {
  while (auto folded = FoldLoop(*learnt, saved)) learnt = std::move(folded);
  return learnt;
}

// Adds a call, its loops folded, to those of a script; calls go of which it is another number of
// iterations. False: a script cannot have it besides the others.
bool Add(std::shared_ptr<const LearntCall> learnt, bool saved, Paths* paths) {
  learnt = Folded(std::move(learnt), saved);
  Paths kept;
  for (auto& other : *paths) {
    if (!Agree(other->program, learnt->program)) {
      // The same loop, of which other ways were seen.
      if (HasLoops(other->program) && HasLoops(learnt->program)) continue;
      bool same = false;
      if (!SameProgram(learnt->program, other->program, &same).ok()) return false;
      if (same) continue;
      auto folded = Folded(other, saved);
      if (!Agree(folded->program, learnt->program)) continue;  // it is learnt again
      other = std::move(folded);
    }
    kept.push_back(other);
  }
  kept.push_back(std::move(learnt));
  *paths = std::move(kept);
  return true;
}

}  // namespace

Promise::Entry* Promise::Find(absl::Span<const uint64_t> words) {
  if (!last_ || absl::Span<const uint64_t>(last_->words) != words) {
    const auto it = entries_.find(words);
    if (it == entries_.end()) return nullptr;
    last_ = it->second.get();
  }
  last_->used = ++clock_;
  return last_;
}

Promise::Entry& Promise::Add(absl::Span<const uint64_t> words, const Pins& pins) {
  if (Entry* known = Find(words)) {
    if (!known->pins) known->pins = pins;
    return *known;
  }
  auto& entry = entries_[std::vector<uint64_t>(words.begin(), words.end())];
  entry = std::make_unique<Entry>();
  entry->words.assign(words.begin(), words.end());
  entry->pins = pins;
  entry->used = ++clock_;
  return *entry;
}

const Setting* Promise::Trim(Garbage* garbage) {
  static constexpr Setting kEntries = Setting::k_promise_entries, kBytes = Setting::k_promise_bytes;
  const bool many = static_cast<int64_t>(entries_.size()) > Get(kEntries);
  if (entries_.size() < 2 || (!many && bytes_ <= Get(kBytes))) return nullptr;
  std::vector<uint64_t> ages;
  for (const auto& [key, entry] : entries_) ages.push_back(entry->used);
  const auto middle = ages.begin() + static_cast<int64_t>(ages.size() / 2);
  std::nth_element(ages.begin(), middle, ages.end());
  last_ = nullptr;
  ++version_;
  for (auto it = entries_.begin(); it != entries_.end();) {
    if (it->second->used >= *middle) {
      ++it;
      continue;
    }
    if (it->second->script) bytes_ -= it->second->script->bytes();
    garbage->push_back(std::move(it->second));
    entries_.erase(it++);
  }
  return many ? &kEntries : &kBytes;
}

void Promise::Forget(absl::Span<const uint64_t> words, Garbage* garbage) {
  const auto it = entries_.find(words);
  if (it == entries_.end()) return;
  last_ = nullptr;
  ++version_;
  if (it->second->script) bytes_ -= it->second->script->bytes();
  garbage->push_back(std::move(it->second));
  entries_.erase(it);
}

void Promise::Forget() {
  decltype(entries_) garbage;
  std::lock_guard lock(lock_);
  last_ = nullptr;
  ++version_;
  bytes_ = strangers_ = 0;
  passed_ = false;
  garbage.swap(entries_);
}

void Promise::Clear() {
  Forget();
  std::lock_guard lock(lock_);
  skipped_ = 0;
}

PromisedCall::PromisedCall(Promise* promise, Words* words, Cells cells, size_t unguarded)
    : promise_(promise), words_(words), cells_(cells) {
  AddGuards(cells.first(cells.size() - unguarded), words);
  // How many there are: a script numbers its constants behind all cells.
  if (unguarded > 0) words->push_back(unguarded);
}

bool PromisedCall::Look() {
  std::lock_guard lock(promise_->lock_);
  Promise::Entry* entry = promise_->Find(words_->span());
  seen_ = entry != nullptr;
  strangers_ = promise_->strangers_ = entry ? 0 : promise_->strangers_ + 1;
  if (!entry) return false;
  ++entry->calls;
  refused_ = entry->calls < entry->refused_until;
  if (!entry->script || !promise_->IsTried(*entry)) return false;
  check_ = promise_->policy_.every > 0 && entry->calls % promise_->policy_.every == 0;
  if (check_) return false;
  if (refused_) return false;
  script_ = entry->script;
  attempt_ = std::exchange(entry->failed, 0);
  ++entry->skips;
  ++promise_->skipped_;
  return true;
}

bool PromisedCall::Skip() {
  if (!Look()) {
    if (seen_) return false;
    // What never comes again (a learning rate that changes) is not learnt from.
    AddEntry(nullptr, [](Promise::Entry& entry) { entry.calls = 1; });
    refused_ = true;
    return false;
  }
  if (!MakeReady()) return NotSkipped();
  int kernels = 0;
  const auto ran = script_->Run(cells_, &outputs_, &kernels);
  if (!ran.ok() && (IsInterrupted(ran.status()) || script_->has_effects())) status_ = ran.status();
  if (!ran.ok() || !*ran) {  // no memory: the body needs the least at a time
    if (ran.ok()) MayLearn();
    return NotSkipped();
  }
  learnt_ = *ran;
  promise_->last_kernels_.store(kernels, std::memory_order_relaxed);
  return true;
}

std::vector<std::shared_ptr<const LearntCall>> PromisedCall::Paths() const {
  std::lock_guard lock(promise_->lock_);
  const Promise::Entry* entry = promise_->Find(words_->span());
  if (!entry || !entry->script) return {};
  return entry->script->paths();
}

// While a deferred value is waited for, others may replace what cells hold: the key then says
// nothing of it.
bool PromisedCall::MakeReady() {
  const auto deferred = [](const Tensor* cell) {
    return cell->defined() && !cell->value()->ready();
  };
  if (std::none_of(cells_.begin(), cells_.end(), deferred)) return true;
  absl::InlinedVector<Tensor, 16> before;
  for (const Tensor* cell : cells_) before.push_back(*cell);
  for (const Tensor& cell : before) {
    if (deferred(&cell) && !Read(*cell.value(), Reading::kInside).ok()) return false;
  }
  for (size_t i = 0; i < before.size(); ++i) {
    if (before[i].value() != cells_[i]->value() || before[i].node() != cells_[i]->node())
      refused_ = true;
  }
  return !refused_;
}

bool PromisedCall::NotSkipped() {
  outputs_.clear();
  std::lock_guard lock(promise_->lock_);
  --promise_->skipped_;
  if (Promise::Entry* entry = promise_->Find(words_->span())) {
    entry->failed = attempt_;
    --entry->skips;
  }
  return false;
}

bool Promise::IsWorthLearning(const Entry& entry) {
  if (!entry.script) return true;
  const auto& paths = entry.script->paths();
  const auto known = static_cast<int64_t>(paths.size());
  if (known < kAtOnce || paths.back()->program.calls.size() < kLongBody) return true;
  return entry.skips >= kGain * (kWatching * (known + 1) + known * (known + 1) / 8);
}

// An outcome is new: the body runs, and may be learnt from if that is worth it.
void PromisedCall::MayLearn() {
  std::lock_guard lock(promise_->lock_);
  const Promise::Entry* entry = promise_->Find(words_->span());
  refused_ |= entry && !Promise::IsWorthLearning(*entry);
}

// Where outcomes hardly ever come again (a loop of another length each time), learning them costs
// more than skipping saves.
void PromisedCall::MetUnknownOutcome() {
  int failed = 0;
  {
    std::lock_guard lock(promise_->lock_);
    Promise::Entry* entry = promise_->Find(words_->span());
    if (!entry) return;
    failed = ++entry->failed;
    if (failed > Promise::kMayFail) {
      const int doublings = std::min(failed - Promise::kMayFail, Promise::kLongestPause);
      entry->refused_until = entry->calls + (int64_t{1} << doublings);
    }
  }
  if (failed == Promise::kMayFail + 1)
    promise_->recording_->Note({Cause::kUnsteady, {{"count", StrCat(failed)}}});
}

TraceStats Promise::stats() {
  TraceStats stats = recording_->stats();
  std::lock_guard lock(lock_);
  stats.skipped = skipped_;
  stats.calls += skipped_;
  if (skipped_) stats.last_kernels = last_kernels_.load(std::memory_order_relaxed);
  return stats;
}

std::vector<PlanReport> Promise::Plans() {
  std::vector<std::shared_ptr<const Script>> scripts;
  {
    std::lock_guard lock(lock_);
    for (const auto& [words, entry] : entries_) {
      if (entry->script) scripts.push_back(entry->script);
    }
  }
  std::vector<PlanReport> reports = recording_->Plans();
  for (const auto& script : scripts) {
    std::vector<PlanReport> more = script->Plans();
    std::move(more.begin(), more.end(), std::back_inserter(reports));
  }
  return reports;
}

std::string Promise::Explain() { return recording_->Explain(stats()); }

ScriptBuilder* PromisedCall::Observe() {
  if (refused_ && seen_) {  // for long: it shares no word with other threads but in need
    if (Learning::Any()) absl::c_for_each(cells_, Learning::Tell);
    return nullptr;
  }
  learning_.emplace(cells_);
  return refused_ ? nullptr : &builder_.emplace(cells_);
}

// Whether the program may hold what another thread put into a cell: that looks like a constant. Its
// strides may have been others than those of what the cell holds now.
bool PromisedCall::SeesOthers(const Program& program) const {
  return absl::c_any_of(learning_->told(), [&](const Tensor* cell) {
    return cell->defined() && absl::c_any_of(program.constants, [&](const ValueRef& constant) {
             return cell->dtype() == constant->dtype && cell->shape() == constant->layout->shape;
           });
  });
}

Status PromisedCall::Learn(absl::Span<const Tensor* const> outputs, std::vector<uint64_t> shape,
                           Pins shape_pins, Pins argument_pins, bool extends) {
  if (!builder_) return absl::OkStatus();
  std::shared_ptr<LearntCall> learnt = builder_->Finish(outputs);
  const std::string refusal = builder_->refusal();
  const bool postponed = builder_->postponed();
  builder_.reset();
  const bool sees_others = learnt && SeesOthers(learnt->program);
  learning_.reset();
  if (postponed || sees_others) return absl::OkStatus();
  if (learnt) {
    learnt->shape = std::move(shape);
    learnt->pins = std::move(shape_pins);
    return Merge(std::move(learnt), argument_pins, extends);
  }
  bool first = false;
  AddEntry(argument_pins, [&](Promise::Entry& entry) {
    first = entry.refused_until == 0;
    entry.refused_until = entry.calls + kRetryRefused;
  });
  if (first) promise_->recording_->Note({Cause::kNotSkippable, {{"new", refusal}}});
  return absl::OkStatus();
}

template <typename F>
void PromisedCall::AddEntry(const Pins& pins, const F& use) {
  Promise::Garbage garbage;  // freed, and told of, when the lock is not held
  const Setting* bound;
  {
    std::lock_guard lock(promise_->lock_);
    use(promise_->Add(words_->span(), pins));
    bound = promise_->Trim(&garbage);
  }
  const auto learnt = absl::c_count_if(garbage, [](const auto& e) { return e->script != nullptr; });
  if (!bound || learnt == 0) return;
  const std::string limit = StrCat(Name(*bound), " = ", Get(*bound));
  promise_->recording_->Note({Cause::kKeys, {{"count", StrCat(learnt)}, {"limit", limit}}});
}

// Two calls of one kind were not the same. The user's promise is broken; of a proof, something that
// the body reads is not compared: nothing was wrong yet if no call has been skipped.
Status PromisedCall::Differs(const Status& how) {
  Promise::Garbage garbage;
  const bool proved = promise_->policy_.proved;
  bool skipped = false;
  {
    std::lock_guard lock(promise_->lock_);
    if (proved) {
      Promise::Entry* entry = promise_->Find(words_->span());
      skipped = entry && promise_->IsTried(*entry);
    }
    promise_->Forget(words_->span(), &garbage);
  }
  const Cause cause = proved ? Cause::kUnguarded : Cause::kBroken;
  const std::string line =
      promise_->recording_->Note({cause, {{"new", std::string(how.message())}}});
  if (!proved) {
    return RuntimeError("[trace] ", line,
                        " Pass what changes as an argument, or trace without pure=True.");
  }
  if (skipped) return RuntimeError("[trace] ", line, " Set FRAZIL_PROOF=off to run every body.");
  AddEntry(nullptr, [&](Promise::Entry& entry) { entry.refused_until = kRetryRefused; });
  return absl::OkStatus();
}

Status PromisedCall::Merge(std::shared_ptr<LearntCall> learnt, const Pins& pins, bool extends) {
  std::shared_ptr<const Script> known;
  AddEntry(pins, [&](Promise::Entry& entry) { known = entry.script; });
  std::vector<std::shared_ptr<const LearntCall>> paths;
  if (known) paths = known->paths();
  for (const auto& other : paths) {
    bool same_outcomes = false;
    Status same = SameProgram(other->program, learnt->program, &same_outcomes);
    if (same.ok() && same_outcomes && other->shape != learnt->shape)
      same = RuntimeError("the structure of the result changed");
    if (!same.ok()) return Differs(same);
    if (!same_outcomes) continue;
    std::lock_guard lock(promise_->lock_);
    if (Promise::Entry* entry = promise_->Find(words_->span())) {
      promise_->passed_ |= ++entry->compared >= promise_->policy_.first;
      entry->failed = 0;
    }
    return absl::OkStatus();
  }
  if (known) MetUnknownOutcome();
  if (!extends) return absl::OkStatus();
  if (!Add(std::move(learnt), promise_->policy_.saved, &paths)) return absl::OkStatus();
  size_t segments = 0;
  for (const auto& other : paths) segments += other->program.marks.size();
  if (known && (paths.size() > Promise::kMaxPaths || segments > Promise::kMaxSegments))
    return absl::OkStatus();
  Dump(paths.back()->program);
  auto script = promise_->policy_.saved ? Script::Keep(std::move(paths))
                                        : Script::Build(std::move(paths), known.get());
  if (!script.ok()) {
    AddEntry(pins,
             [](Promise::Entry& entry) { entry.refused_until = entry.calls + kRetryRefused; });
    promise_->recording_->Note(
        {Cause::kNotSkippable, {{"new", std::string(script.status().message())}}});
    return absl::OkStatus();
  }
  promise_->recording_->Note(
      {known ? Cause::kOutcome : Cause::kSkippable,
       {{"kernels", StrCat((*script)->kernels())}, {"compiled", StrCat((*script)->compiled())}}});
  std::shared_ptr<const Script> fresh = *std::move(script);
  std::lock_guard lock(promise_->lock_);
  Promise::Entry* entry = promise_->Find(words_->span());
  if (!entry || entry->script != known) return absl::OkStatus();
  promise_->bytes_ += fresh->bytes() - (known ? known->bytes() : 0);
  ++promise_->version_;
  entry->script.swap(fresh);  // the old one is freed without the lock
  return absl::OkStatus();
}

}  // namespace frazil::tracer
