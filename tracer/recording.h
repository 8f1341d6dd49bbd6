// What a traced callable has recorded: a trie of calls. A path from the root is a segment's
// content; the node where a segment was flushed keeps the plans compiled for it. Called by
// tracer/session (recording, matching, flushing) and tracer/trace (statistics, explanations).
//
// References. Inside a segment every result has a number, counted in order over the path; every
// tensor first met as an operand is a slot, counted in order too. Operand >= 0 is a result, operand
// < 0 is slot ~operand. Invariant: a node's content is immutable once it is published (children are
// only added in front), so readers need no lock; plans and events are guarded by `mutex`.
#pragma once

#include <array>
#include <atomic>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/container/inlined_vector.h"
#include "absl/synchronization/mutex.h"
#include "core/apply.h"
#include "tracer/trace.h"

namespace frazil::tracer {

using Operands = absl::InlinedVector<int32_t, 4>;

// What must hold of a tensor that is first met at a recorded operand.
struct SlotGuard {
  DType dtype;
  Device device;
  bool immediate;
  const Layout* layout;

  bool Admits(const Value& v) const {
    return v.layout == layout && v.dtype == dtype && v.immediate == immediate && v.device == device;
  }
};

struct Result {
  DType dtype;
  Device device;
  const Layout* layout;
};

// One primitive inside a composite. Operands: >= 0 local results, < 0: ~i is input i of the
// composite for i < inputs, otherwise constant i - inputs.
struct ExpandedOp {
  OpId op;
  Attrs attrs;
  Operands operands;
};

struct Expansion {
  std::vector<ExpandedOp> ops;
  std::vector<ValueRef> constants;  // immediates made by the body: they depend on metadata alone
  absl::InlinedVector<int32_t, 3> outputs;  // as operands of ExpandedOp
};

// Which of a segment's results are wanted after it.
using LiveMask = absl::InlinedVector<uint64_t, 4>;

// A compiled segment end: made by the compiler that jit registers.
class SegmentPlan {
 public:
  virtual ~SegmentPlan() = default;
  // slots and outputs (one per live result, ascending) as jit::Plan::Run.
  virtual Status Run(absl::Span<Value* const> slots, absl::Span<ValueRef> outputs) const = 0;
  virtual int kernels() const = 0;
  virtual int compiled() const = 0;     // kernels that were not in the cache
  virtual int interpreted() const = 0;  // kernels that run on the interpreter against its wish
};

struct Node {
  // Content
  bool composite = false;
  uint32_t op = 0;  // OpId or CompositeId
  Attrs attrs;
  Operands operands;
  absl::InlinedVector<SlotGuard, 2> slots;  // of the slots first met here, in operand order
  absl::InlinedVector<Result, 1> results;
  std::unique_ptr<Expansion> expansion;  // composite only
  std::string origin;                    // "train.py:12"

  // Place in the trie
  Node* parent = nullptr;
  int depth = 0;                         // calls from the root
  int first_result = 0, first_slot = 0;  // numbers before this call

  std::atomic<Node*> children{nullptr};   // newest first
  Node* next = nullptr;                   // sibling
  std::atomic<Node*> predicted{nullptr};  // the child taken last
  std::atomic<int> child_count{0};

  struct PlanEntry {
    LiveMask live;
    bool blas;
    std::shared_ptr<const SegmentPlan> plan;
  };
  std::vector<PlanEntry> plans;  // guarded by Recording::mutex
};

class Recording {
 public:
  explicit Recording(std::string name) : name_(std::move(name)) {}
  ~Recording();
  Recording(const Recording&) = delete;

  Node* root() { return &root_; }
  const std::string& name() const { return name_; }

  // Publishes a child; returns the one that stands in the trie (an equal child of another thread
  // wins).
  Node* AddChild(Node* parent, std::unique_ptr<Node> child);
  // Another child may be added here: a node with too many stops recording (every call differs).
  static bool MayGrow(const Node* parent) {
    return parent->child_count.load(std::memory_order_relaxed) < kMaxChildren;
  }

  std::shared_ptr<const SegmentPlan> FindPlan(Node* end, const LiveMask& live, bool blas);
  // Why the plan was missing: nothing like it (kPlan), or what an earlier one had differently.
  struct Planned {
    Cause cause;
    LiveMask live;
  };
  Planned StorePlan(Node* end, const LiveMask& live, bool blas,
                    std::shared_ptr<const SegmentPlan> plan);

  // Counts a cause and keeps it for explain(); FRAZIL_LOG=guard prints it. `effect` ends the
  // sentence. Returns the line.
  std::string Note(const Explanation& explanation, std::string_view effect = "");
  // Counts a cause without words: it was said before.
  // True once per op.
  bool FirstBorrowed(OpId op);
  void CountCause(Cause cause) {
    Count([&](TraceStats& s) { ++s.causes[static_cast<int>(cause)]; });
  }
  std::string Explain();
  std::vector<TraceEvent> Events();
  TraceStats stats();
  template <typename F>
  void Count(const F& f) {
    absl::MutexLock lock(&mutex_);
    f(stats_);
  }
  void Clear();

 private:
  std::string Line(const TraceEvent& event) const;

  static constexpr int kMaxChildren = 64;
  static constexpr size_t kMaxEvents = 200;
  static constexpr size_t kMaxPlans = 64;

  std::string name_;
  Node root_;
  absl::Mutex mutex_;
  TraceStats stats_ ABSL_GUARDED_BY(mutex_);
  std::deque<TraceEvent> events_ ABSL_GUARDED_BY(mutex_);
  absl::flat_hash_set<OpId> borrowed_ ABSL_GUARDED_BY(mutex_);
  int64_t dropped_events_ ABSL_GUARDED_BY(mutex_) = 0;
  // Nodes taken out by Clear while another thread may still walk them.
  std::vector<std::unique_ptr<Node>> nodes_ ABSL_GUARDED_BY(mutex_);
};

// Turns a path into a plan. Implemented by jit, registered once.
class SegmentCompiler {
 public:
  virtual ~SegmentCompiler() = default;
  virtual StatusOr<std::shared_ptr<const SegmentPlan>> Compile(absl::Span<const Node* const> path,
                                                               const LiveMask& live, bool blas) = 0;
};
void SetSegmentCompiler(SegmentCompiler* compiler);
SegmentCompiler* GetSegmentCompiler();

}  // namespace frazil::tracer
