// What a traced callable has recorded: a trie of calls. A path from the root is the content of a
// segment; the node where a segment was flushed keeps the plans compiled for it. Called by
// tracer/session (recording, matching, flushing), tracer/trace (statistics, explanations) and
// tracer/bounds (eviction).
//
// Invariant: children are added in front and taken out under `mutex_`; readers need no lock, only
// a Visit: nodes taken out are freed when no visit that may stand on one is left. Plans and events
// are guarded by `mutex_`.
//
// Each node is one call with its operands as references (earlier result, or slot: a tensor first
// met here) and guards on new slots (dtype, layout, device, number or array). All segments of a
// function share the root, so the iterations of a Python loop and the outcomes of a branch find
// each other by content. A call that fits no child ends replaying: the deferred calls run one by
// one through the eager door and the rest of the call is recorded. A composite that needs no
// gradient is one node with its body. The deferred values that nobody wanted when a segment
// ended are handed out again by the next one (tracer/deferred.h), and a call that comes next as it
// did the last time is one cache line to compare (NodeHead, tracer/session_quick.cc).
#pragma once

#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "core/memory/pin.h"
#include "core/threads/mutex.h"
#include "tracer/bounds.h"
#include "tracer/gain.h"
#include "tracer/node.h"
#include "tracer/trace.h"

#pragma GCC visibility push(default)
namespace frazil::tracer {

class Recording : public std::enable_shared_from_this<Recording> {
 public:
  explicit Recording(std::string name, bool records_views = false);
  ~Recording();
  Recording(const Recording&) = delete;

  Node* root() { return &root_; }
  const std::string& name() const { return name_; }
  // Views of ready values are calls like others: a call by promise has to make them without Python.
  bool records_views() const { return records_views_; }

  // What threads write at every call, each in a place of its own, so that it takes no atomic
  // addition. Threads beyond the first few share one.
  struct alignas(64) Shard {
    std::atomic<const ThreadState*> owner{nullptr};  // null: shared
    std::atomic<int64_t> visits[2] = {};
    std::atomic<int64_t> calls{0}, replayed{0}, untraced{0}, matched{0}, rested{0};
    GainCount gains;  // the owner's

    // To be called by the owner, or by anybody if it is shared.
    void Add(std::atomic<int64_t>* count, int64_t n) {
      AddTo(count, n, owner.load(std::memory_order_relaxed) != nullptr);
    }
    void CountCall(bool was_replayed, int64_t ops) {
      const bool owned = owner.load(std::memory_order_relaxed) != nullptr;
      AddTo(&calls, 1, owned);
      AddTo(&replayed, was_replayed, owned);
      AddTo(&matched, ops, owned);
    }

   private:
    static void AddTo(std::atomic<int64_t>* count, int64_t n, bool owned) {
      if (owned) {
        count->store(count->load(std::memory_order_relaxed) + n, std::memory_order_release);
      } else {
        count->fetch_add(n, std::memory_order_release);
      }
    }
  };
  Shard* OwnShard() {
    Shard* first = shards_;
    return __builtin_expect(first->owner.load(std::memory_order_relaxed) == &State(), 1)
               ? first
               : OtherShard();
  }

  // Between Enter and Leave a thread may walk the trie. Enter returns what Leave takes. Leaving in
  // another thread is by no shard.
  uint64_t Enter(Shard* shard);
  void Leave(Shard* shard, uint64_t epoch);
  uint64_t epoch() const { return epoch_.load(std::memory_order_relaxed); }

  // Publishes a child; returns the one that stands in the trie (an equal child of another thread
  // wins).
  Node* AddChild(Node* parent, std::unique_ptr<Node> child);
  // Makes `child` the first to be tried from now on.
  static void Predict(Node* parent, Node* child);

  // Null if there is none. It is there as long as `pin`.
  const SegmentPlan* FindPlan(Node* end, const LiveMask& live, Precision precision, Pin* pin,
                              int64_t* gain);
  // Why the plan was missing: nothing like it (kPlan), or what an earlier one had differently.
  struct Planned {
    Cause cause;
    LiveMask live;
    Precision precision;
  };
  Planned StorePlan(Node* end, const LiveMask& live, Precision precision,
                    std::shared_ptr<const SegmentPlan> plan, int64_t gain);

  // After a failure to compile, so many flushes run op by op before it is tried again: twice as
  // many each time.
  bool MayCompile(Node* end, const LiveMask& live, Precision precision);
  void CompileFailed(Node* end, const LiveMask& live, Precision precision);

  // Counts a cause and keeps it for explain(); FRAZIL_LOG=guard prints it. `effect` ends the
  // sentence. Returns the line.
  std::string Note(const Explanation& explanation, std::string_view effect = "");
  // The same for a place found before: locks are held that user code must not meet.
  std::string NoteAt(std::string where, const Explanation& explanation,
                     std::string_view effect = "");
  // Counts a cause without words: it was said before.
  void CountCause(Cause cause) {
    Count([&](TraceStats& s) { ++s.causes[static_cast<int>(cause)]; });
  }
  // True once per op.
  bool FirstBorrowed(OpId op);
  std::string Explain() { return Explain(stats()); }
  std::string Explain(const TraceStats& total);
  std::vector<TraceEvent> Events();
  TraceStats stats();
  template <typename F>
  void Count(const F& f) {
    MutexLock lock(&mutex_);
    f(stats_);
  }
  void CountInner() {  // a call inside another one, or not traced
    Shard* shard = OwnShard();
    shard->Add(&shard->calls, 1);
  }
  // True if a call that begins now is to run untraced, and counts it: the latest gained nothing by
  // being traced. Some still are, to see whether that has changed.
  bool Rests() {
    if (__builtin_expect(!resting_.load(std::memory_order_relaxed), 1)) return false;
    Shard* shard = OwnShard();
    shard->Add(&shard->rested, 1);
    if (shard->rested.load(std::memory_order_relaxed) % kProbe == 0) return false;
    shard->Add(&shard->calls, 1);
    shard->Add(&shard->untraced, 1);
    return true;
  }
  // After a replayed call.
  void CountGain(Shard* shard, int64_t gain);
  void CountCall(Shard* shard, bool replayed, int64_t matched, int kernels) {
    shard->CountCall(replayed, matched);
    if (last_kernels_.load(std::memory_order_relaxed) != kernels)
      last_kernels_.store(kernels, std::memory_order_relaxed);
  }
  // Of every plan that is kept.
  std::vector<PlanReport> Plans();
  void Clear();

  Mutex* mutex() { return &mutex_; }  // for forks

  // For tracer/bounds. What is kept: when it was last used, and its bytes. A call was used when a
  // segment last ended at or behind it.
  void WeighNodes(std::vector<Weight>* out);
  void WeighPlans(std::vector<Weight>* out);
  // Takes the victims out; returns how many. Plans are given to `garbage`.
  int64_t EvictNodes(Victims* victims, Garbage* garbage);
  int64_t EvictPlans(Victims* victims, Garbage* garbage);

 private:
  using Retired = std::vector<std::pair<uint64_t, std::unique_ptr<Node>>>;

  std::string Line(const TraceEvent& event) const;
  Node::PlanEntry* FindEntry(Node* end, const LiveMask& live, Precision precision)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  Node::PlanEntry* MakeEntry(Node* end, const LiveMask& live, Precision precision, Garbage* garbage)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  Node* FindEqual(Node* parent, const Node& child) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  int64_t EvictAll(Victims* victims, Garbage* garbage) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Takes out the child that `at`, a link among siblings, points at.
  void Unlink(std::atomic<Node*>* at, Garbage* garbage) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void DropPlan(Node* end, Node::PlanEntry* entry, Garbage* garbage)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Retire(std::unique_ptr<Node> node) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Reclaim();
  Shard* OtherShard();
  int64_t Visits(uint64_t epoch) const;
  // Adds, or takes away, what the shards have counted.
  void AddShards(TraceStats* stats, int64_t sign) const;
  void NoteThrashing(std::string_view what, Setting limit);

  static constexpr size_t kMaxEvents = 200;
  static constexpr size_t kMaxPlans = 64;  // of one segment

  std::string name_;
  const bool records_views_;
  Node root_;
  Mutex mutex_;
  TraceStats stats_ ABSL_GUARDED_BY(mutex_);
  std::deque<TraceEvent> events_ ABSL_GUARDED_BY(mutex_);
  absl::flat_hash_set<OpId> borrowed_ ABSL_GUARDED_BY(mutex_);
  int64_t dropped_events_ ABSL_GUARDED_BY(mutex_) = 0;

  // Visits are in the current epoch or the one before. A node retired in epoch e can be met, by way
  // of a stale prediction, by visits up to e + 1; it is freed on reaching e + 3.
  std::atomic<uint64_t> epoch_{2};
  static constexpr int kShards = 5;
  Shard shards_[kShards];  // the last is shared
  std::atomic<int> last_kernels_{0};
  static constexpr int64_t kProbe = 64;
  std::atomic<bool> resting_{false}, told_resting_{false};
  std::atomic<bool> any_retired_{false};
  Retired retired_ ABSL_GUARDED_BY(mutex_);
};

// Which slots may be overwritten where nothing else holds them when the plan runs.
struct Overwritable {
  bool all = false;
  absl::InlinedVector<uint64_t, 2> slots;  // bit i: slot i; words that are missing are 0
  // Some of them are still the content of cells, which the call replaces at its end.
  bool lent_by_cells = false;

  bool operator==(const Overwritable&) const = default;

  void Add(size_t slot) {
    if (slots.size() <= slot / 64) slots.resize(slot / 64 + 1);
    slots[slot / 64] |= uint64_t{1} << slot % 64;
  }
};

// Turns a program into a plan. Implemented by jit, registered once.
class SegmentCompiler {
 public:
  virtual ~SegmentCompiler() = default;
  // `live`: which of the results of its calls are wanted. `like` (may be null): a plan of the same
  // program, results and precision, with whatever may be spent; most of the work is not done again
  // then.
  virtual StatusOr<std::shared_ptr<const SegmentPlan>> Compile(const Program& program,
                                                               const LiveMask& live,
                                                               Precision precision,
                                                               const Overwritable& overwritable,
                                                               const SegmentPlan* like) = 0;
};
void SetSegmentCompiler(SegmentCompiler* compiler);
SegmentCompiler* GetSegmentCompiler();

}  // namespace frazil::tracer
#pragma GCC visibility pop
