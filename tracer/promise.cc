#include "tracer/promise.h"

#include <algorithm>

#include "tracer/explain.h"

namespace frazil::tracer {
namespace {

constexpr int64_t kRetryRefused = 1000;  // calls

uint64_t Pointer(const void* p) { return reinterpret_cast<uintptr_t>(p); }

// For each cell the first cell with the same value. Values that are one in this call were one in
// the recording, and the reverse.
class FirstWith {
 public:
  explicit FirstWith(size_t n) {
    if (n <= 8) return;
    size_t size = 32;
    while (size < 2 * n) size *= 2;
    table_.resize(size);
  }
  uint32_t Index(Cells cells, uint32_t i) {
    const Value* v = cells[i]->value();
    if (table_.empty()) {
      uint32_t j = 0;
      while (!cells[j]->defined() || cells[j]->value() != v) ++j;
      return j;
    }
    size_t at = (Pointer(v) * 0x9E3779B97F4A7C15u) >> 20;
    for (;; ++at) {
      uint32_t& slot = table_[at & (table_.size() - 1)];
      if (slot == 0) slot = i + 1;
      if (cells[slot - 1]->value() == v) return slot - 1;
    }
  }

 private:
  absl::InlinedVector<uint32_t, 256> table_;  // index + 1; 0: empty
};

void AddCells(Cells cells, Words* words) {
  FirstWith first(cells.size());
  for (uint32_t i = 0; i < cells.size(); ++i) {
    const Tensor& t = *cells[i];
    if (!t.defined()) {
      words->push_back(0);
      continue;
    }
    const Value& v = *t.value();
    const uint32_t same = first.Index(cells, i);
    uint32_t cell = i;
    if (same != i) {
      for (cell = same; cells[cell] != cells[i]; ++cell) {
      }
    }
    const uint64_t node = t.node() ? static_cast<uint64_t>(t.node()->kind) + 1 : 0;
    words->push_back(Pointer(v.layout) ^ static_cast<uint64_t>(v.dtype) << 56);
    words->push_back(static_cast<uint64_t>(same) << 40 | uint64_t{cell} << 16 |
                     uint64_t{v.device.word} << 8 | node << 1 | v.immediate);
  }
}

void AddThread(Words* words) {
  const ThreadState& s = State();
  words->push_back(static_cast<uint64_t>(s.grad_limit) << 16 |
                   static_cast<uint64_t>(s.grad_depth) << 2 | uint64_t{s.grad_enabled} << 1 |
                   s.blas);
}

}  // namespace

size_t Promise::Hash::operator()(absl::Span<const uint64_t> words) const {
  uint64_t h = words.size();
  for (uint64_t w : words) {
    h = (h ^ w) * 0x9E3779B97F4A7C15u;
    h ^= h >> 32;
  }
  return h;
}

Promise::Entry* Promise::Find(absl::Span<const uint64_t> words) {
  const auto it = entries_.find(words);
  if (it == entries_.end()) return nullptr;
  it->second->used = ++clock_;
  return it->second.get();
}

Promise::Entry& Promise::Add(absl::Span<const uint64_t> words, const Pins& pins) {
  if (Entry* known = Find(words)) return *known;
  if (entries_.size() >= kMaxEntries) {
    // The older half goes at once, so that its cost is spread over as many additions.
    std::vector<uint64_t> ages;
    for (const auto& [key, entry] : entries_) ages.push_back(entry->used);
    std::nth_element(ages.begin(), ages.begin() + ages.size() / 2, ages.end());
    const uint64_t median = ages[ages.size() / 2];
    absl::erase_if(entries_, [&](const auto& item) { return item.second->used < median; });
    recording_->Note({Cause::kKeys, {{"old", StrCat(kMaxEntries)}}});
  }
  auto& entry = entries_[std::vector<uint64_t>(words.begin(), words.end())];
  entry = std::make_unique<Entry>();
  entry->pins = pins;
  entry->used = ++clock_;
  return *entry;
}

void Promise::Clear() {
  absl::MutexLock lock(&mutex_);
  entries_.clear();
}

PromisedCall::PromisedCall(Promise* promise, Words* words, Cells cells)
    : promise_(promise), words_(words), cells_(cells) {
  AddCells(cells, words);
  AddThread(words);
}

bool PromisedCall::Skip() {
  {
    absl::MutexLock lock(&promise_->mutex_);
    Promise::Entry* entry = promise_->Find(*words_);
    if (!entry) return false;
    ++entry->calls;
    refused_ = entry->calls < entry->refused_until;
    if (!entry->script || entry->compared < promise_->policy_.first) return false;
    if (promise_->policy_.every > 0 && entry->calls % promise_->policy_.every == 0) return false;
    script_ = entry->script;
  }
  for (Tensor* cell : cells_) {
    if (cell->defined() && !cell->value()->ready() &&
        !Read(*cell->value(), Reading::kInside).ok()) {
      return false;
    }
  }
  int kernels = 0;
  const auto ran = script_->Run(cells_, &outputs_, &kernels);
  if (!ran.ok()) outputs_.clear();  // no memory: the body needs the least at a time
  if (!ran.ok() || !*ran) return false;
  path_ = *ran;
  promise_->recording_->CountSkipped(kernels);
  return true;
}

Status PromisedCall::Learn(absl::Span<const Tensor* const> outputs, std::vector<uint64_t> shape,
                           Pins shape_pins, Pins argument_pins) {
  if (!builder_) return absl::OkStatus();
  std::shared_ptr<PathRecord> path = builder_->Finish(outputs);
  const std::string refusal = builder_->refusal();
  const bool postponed = builder_->postponed();
  builder_.reset();
  if (postponed) return absl::OkStatus();
  if (path) {
    path->shape = std::move(shape);
    path->pins = std::move(shape_pins);
    return Merge(std::move(path), argument_pins);
  }
  absl::MutexLock lock(&promise_->mutex_);
  Promise::Entry& entry = promise_->Add(*words_, argument_pins);
  if (entry.refused_until == 0)
    promise_->recording_->Note({Cause::kNotSkippable, {{"new", refusal}}});
  entry.refused_until = entry.calls + kRetryRefused;
  return absl::OkStatus();
}

Status PromisedCall::Merge(std::shared_ptr<PathRecord> path, const Pins& pins) {
  std::shared_ptr<const Script> known;
  {
    absl::MutexLock lock(&promise_->mutex_);
    known = promise_->Add(*words_, pins).script;
  }
  std::vector<std::shared_ptr<const PathRecord>> paths;
  if (known) paths = known->paths();
  for (const auto& other : paths) {
    bool same_outcomes = false;
    const Status same = SamePath(*other, *path, &same_outcomes);
    if (!same.ok()) {
      absl::MutexLock lock(&promise_->mutex_);
      promise_->entries_.erase(*words_);
      const std::string line =
          promise_->recording_->Note({Cause::kBroken, {{"new", std::string(same.message())}}});
      return RuntimeError("[trace] ", line,
                          " Pass what changes as an argument, or trace without pure=True.");
    }
    if (!same_outcomes) continue;
    absl::MutexLock lock(&promise_->mutex_);
    if (Promise::Entry* entry = promise_->Find(*words_)) ++entry->compared;
    return absl::OkStatus();
  }
  if (paths.size() >= Promise::kMaxPaths) return absl::OkStatus();
  paths.push_back(std::move(path));
  auto script = Script::Build(std::move(paths), known.get());
  if (!script.ok()) {
    promise_->recording_->Note(
        {Cause::kNotSkippable, {{"new", std::string(script.status().message())}}});
    return absl::OkStatus();
  }
  promise_->recording_->Note(
      {known ? Cause::kOutcome : Cause::kSkippable,
       {{"kernels", StrCat((*script)->kernels())}, {"compiled", StrCat((*script)->compiled())}}});
  absl::MutexLock lock(&promise_->mutex_);
  Promise::Entry* entry = promise_->Find(*words_);
  if (entry && entry->script == known) entry->script = *std::move(script);
  return absl::OkStatus();
}

}  // namespace frazil::tracer
