// Promise: calls that skip the body, for functions that depend on their arguments only. Made by
// the bindings for fz.trace(fn, pure=True) and jit::trace(fn, jit::pure).
//
// A call is looked up by its key: words for the structure of the arguments, which the bindings
// make (bindings/python/nest.h, bindings/cpp/promised.h), two words for each tensor cell among
// them (layout, dtype, node, which cells and values are one), one for the thread's settings. Cells
// are what a call may read and write: arguments, what modules among them hold, the .grad of
// leaves, the default random generator. What is found is a script (tracer/script.h):
// the programs of that key, compiled, as a tree over outcomes (tracer/script_tree.h). Where
// outcomes hardly ever come again (a loop of another length each time), attempts become rare.
//
// Invariants: nothing is touched before the whole key agrees; a script commits its writes at the
// end, so a call that meets an unknown outcome changes nothing and runs the body; a key's words
// stay valid because the entry pins what they point to. The promise is checked: the first calls of
// a key and every n-th run the body by validation, and what they did is compared.
#pragma once

#include <algorithm>
#include <memory>
#include <optional>

#include "absl/container/flat_hash_map.h"
#include "core/settings.h"
#include "core/threads/spin_lock.h"
#include "tracer/learning.h"
#include "tracer/promise_key.h"
#include "tracer/script_builder.h"

#pragma GCC visibility push(default)
namespace frazil::tracer {

using Pins = std::shared_ptr<const void>;

struct Policy {
  // Calls of a key that are compared with its first recording. By proof, as soon as one key has
  // passed, one is enough for another: what they read is the same.
  int first = 2;
  int every = 1000;     // afterwards one call in so many; 0: none
  bool proved = false;  // not promised by the user, but proved by who compares
  // What is learnt is written down and never run here: no plans, and loops as fz.export has them.
  bool saved = false;
};

class Promise {
 public:
  Promise(Recording* recording, Policy policy) : recording_(recording), policy_(policy) {}

  // Those of the recording and the skipped calls.
  TraceStats stats();
  std::string Explain();
  std::vector<PlanReport> Plans();  // of the recording and of the scripts
  // What was learnt; the counts stay.
  void Forget();
  void Clear();
  // Another one when something has been learnt or forgotten.
  uint64_t version() const { return version_.load(std::memory_order_relaxed); }

 private:
  friend class PromisedCall;
  friend class QuickSkip;
  struct Entry {
    std::vector<uint64_t> words;
    Pins pins;  // null until something is learnt: then the words may name what is gone
    std::shared_ptr<const Script> script;  // null while nothing is known
    int compared = 0;
    int64_t calls = 0;
    int64_t refused_until = 0;  // number of the call that may try again
    int failed = 0;             // calls in a row that met an outcome unknown till then
    int64_t skips = 0;          // by the script
    uint64_t used = 0;
  };
  static constexpr size_t kMaxPaths = 64;          // outcomes of one key
  static constexpr size_t kMaxSegments = 1 << 15;  // of all of them
  // So many calls in a row may meet an unknown outcome before some run their body and are not
  // learnt from: twice as many after each further one, up to 2^kLongestPause.
  static constexpr int kMayFail = 8, kLongestPause = 10;

  // A long body is not cheap to learn: watching it costs kWatching times its run, and merging what
  // was learnt with the paths known an eighth for each of them, twice. A further path is learnt
  // once skipping, which saves nearly a run each, has saved kGain times what all have cost, so that
  // no program ends up slower for it than it began. Short bodies, and the first paths, are learnt
  // as they come.
  static constexpr int kLongBody = 1000;  // calls
  static constexpr int kAtOnce = 2, kWatching = 10, kGain = 3;
  static bool IsWorthLearning(const Entry& entry);

  Entry* Find(absl::Span<const uint64_t> words);
  bool IsTried(const Entry& entry) const {
    const int first = policy_.proved && passed_ ? std::min(policy_.first, 1) : policy_.first;
    return !policy_.saved && entry.compared >= first;
  }
  // What goes is given to `garbage`: freeing it may run user code, so no lock may be held.
  using Garbage = std::vector<std::unique_ptr<Entry>>;
  Entry& Add(absl::Span<const uint64_t> words, const Pins& pins);
  // Forgets the older half if a bound is passed: at once, so that its cost is spread over as many
  // additions. Returns the bound, or null.
  const Setting* Trim(Garbage* garbage);
  void Forget(absl::Span<const uint64_t> words, Garbage* garbage);

  Recording* recording_;
  const Policy policy_;
  // Guards what follows; held for no longer than a look-up, but for the rare forgetting.
  SpinLock lock_;
  absl::flat_hash_map<std::vector<uint64_t>, std::unique_ptr<Entry>, HashWords, EqualWords>
      entries_;
  Entry* last_ = nullptr;  // found last
  uint64_t clock_ = 0;
  int64_t bytes_ = 0;  // of the scripts
  std::atomic<uint64_t> version_{0};
  int64_t skipped_ = 0;
  int64_t strangers_ = 0;  // calls of unknown kinds since the last of a known one
  bool passed_ = false;    // a key has been compared as often as the policy asks
  std::atomic<int> last_kernels_{0};
};

// One call. Skip, or run the body inside tracer::Call(trace, builder()) and then Learn.
class PromisedCall {
 public:
  // `words` describe the arguments' structure; the words of the cells and the thread are added. The
  // last `unguarded` cells have one kind of content only.
  PromisedCall(Promise* promise, Words* words, Cells cells, size_t unguarded = 0);

  // True if the call is done: outputs() are the tensors of the result, learnt() tells its
  // structure.
  bool Skip();
  // What has been learnt of calls of this kind, without looking whether it may be used yet.
  std::vector<std::shared_ptr<const LearntCall>> Paths() const;
  // No call of this kind was known.
  bool is_new() const { return !seen_; }
  // What is learnt is to be saved.
  bool is_saved() const { return promise_->policy_.saved; }
  // The call is run only to be compared with what was learnt.
  bool is_check() const { return check_; }
  // It is learnt from nevertheless.
  void LearnAtOnce() { refused_ = false; }
  // Not OK if Skip was interrupted, or failed when other processes had seen a part of it: the call
  // is to end with it, and nothing has changed here.
  const Status& status() const { return status_; }
  // How many calls in a row, this one included, met a kind that was not known.
  int64_t strangers() const { return strangers_; }
  absl::Span<Tensor> outputs() { return absl::MakeSpan(outputs_); }
  const LearntCall& learnt() const { return *learnt_; }

  // Observes the thread's reads until Learn or the end of the call. Null for a while after it
  // turned out that the call cannot be skipped.
  ScriptBuilder* Observe();
  // After the body: `shape` and `shape_pins` describe the result, `argument_pins` hold what the
  // key's words point to. `extends`: an outcome that is new may be added. Error if the promise
  // turns out to be broken.
  Status Learn(absl::Span<const Tensor* const> outputs, std::vector<uint64_t> shape,
               Pins shape_pins, Pins argument_pins, bool extends = true);

 private:
  friend class QuickSkip;
  bool Look();
  bool SeesOthers(const Program& program) const;
  bool MakeReady();
  bool NotSkipped();
  void MayLearn();
  void MetUnknownOutcome();
  Status Merge(std::shared_ptr<LearntCall> learnt, const Pins& pins, bool extends);
  Status Differs(const Status& how);
  template <typename F>
  void AddEntry(const Pins& pins, const F& use);

  Promise* promise_;
  Words* words_;
  Cells cells_;
  absl::InlinedVector<Tensor, 4> outputs_;
  std::shared_ptr<const Script> script_;
  const LearntCall* learnt_ = nullptr;
  std::optional<ScriptBuilder> builder_;
  std::optional<Learning> learning_;  // while the body runs
  Status status_;
  bool seen_ = false, refused_ = false, check_ = false;
  int attempt_ = 0;  // what Entry::failed was before this one
  int64_t strangers_ = 0;
};

}  // namespace frazil::tracer
#pragma GCC visibility pop
