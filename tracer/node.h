// A node of the trie of recorded calls: a path from the root is a program (tracer/program.h), whose
// parameters are its slots. Filled by tracer/session, kept by tracer/recording, read by
// explanations.
//
// Inside a segment every result has a number, counted in order over the path; every tensor first
// met as an operand is a slot, counted in order too. Invariant: a node's content is immutable once
// it is published.
#pragma once

#include <array>
#include <atomic>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "absl/functional/function_ref.h"
#include "absl/types/span.h"
#include "tracer/plan_report.h"
#include "tracer/program.h"

#pragma GCC visibility push(default)
namespace frazil::tracer {

// Which of a segment's results are wanted after it.
using LiveMask = absl::InlinedVector<uint64_t, 4>;
inline bool IsLive(const LiveMask& live, size_t result) {
  return live[result / 64] >> result % 64 & 1;
}

// Asked by a plan that had let go of the host's lock, before it overwrites what a slot holds: can
// still nobody else see that value? True of a cell's content that the cell has kept.
using StillLent = absl::FunctionRef<bool(int32_t slot)>;

// A compiled segment end: made by the compiler that jit registers.
class SegmentPlan {
 public:
  virtual ~SegmentPlan() = default;
  // slots and outputs (one per live result, ascending) as jit::Plan::Run.
  virtual Status Run(absl::Span<Value* const> slots, absl::Span<ValueRef> outputs,
                     StillLent still_lent) const = 0;
  // The same into values that are deferred; those that are not are left as they are.
  virtual Status Fill(absl::Span<Value* const> slots, absl::Span<Value* const> deferred) const = 0;
  // The same for one deferred value, where it is made by one small kernel and nothing is in the
  // way. False: nothing has happened. Runs no code of the host.
  virtual bool FillQuick(const ValueRef* slots, Value* deferred) const = 0;
  // Of at most kQuickSlots slots, one small kernel, one result: MakeQuick may do it.
  static constexpr size_t kQuickSlots = 6;
  virtual bool is_quick() const = 0;
  // The result, the caller's own. Null: nothing has happened. Runs no code of the host.
  virtual Value* MakeQuick(Value* const* slots) const = 0;
  // Running it may let other threads of the host go on (core/threads/long_work.h).
  virtual bool unlocks() const = 0;
  virtual int kernels() const = 0;
  virtual int compiled() const = 0;     // kernels that were not in the cache
  virtual int interpreted() const = 0;  // kernels that run on the interpreter against its wish
  // Why kernels run on the CPU though their values are elsewhere, one entry for each.
  virtual absl::Span<const std::string> elsewhere() const = 0;
  virtual int64_t bytes() const = 0;  // about what it holds, kernels apart
  virtual PlanReport report() const = 0;
};

// A plan and what it is for. Immutable, but for when it was used.
struct KeptPlan {
  const LiveMask live;
  const Precision precision;
  const std::shared_ptr<const SegmentPlan> plan;
  const int64_t gain;  // tracer/gain.h
  mutable std::atomic<uint64_t> used;

  // One result is wanted of at most 64.
  bool IsForOne(uint64_t l, Precision p) const {
    return precision == p && live[0] == l && live.size() == 1 && (l & (l - 1)) == 0;
  }
  // A segment of more calls than a word has bits is rare.
  bool Is(const LiveMask& l, Precision p) const {
    return precision == p && live[0] == l[0] && (live.size() == 1 || live == l);
  }
};

struct Node;

// The children of a node that has many, by the hash of their content. Buckets only grow at the
// front and lose entries, under Recording's mutex; readers walk them without it.
struct ChildIndex {
  static constexpr size_t kBuckets = 1024;
  std::array<std::atomic<Node*>, kBuckets> heads{};

  std::atomic<Node*>& Bucket(uint64_t hash) { return heads[hash % kBuckets]; }
};

// What most matches read, a cache line. A plain call has no attributes, one result and one or two
// operands; it may be a composite.
struct NodeHead {
  static constexpr int32_t kFirst = std::numeric_limits<int32_t>::min();
  struct Operand {
    int32_t ref = 0;                 // kFirst: the first operand again, which is a fresh slot
    uint32_t kind = 0;               // Value::kind() and
    const Layout* layout = nullptr;  // layout of a fresh slot, one first met here; otherwise null
  };
  std::atomic<Node*> predicted{nullptr};  // the child taken last
  uint64_t plain_what = kNotPlain;        // Plain of what is called
  const Layout* result_layout = nullptr;
  uint32_t result_kind = 0;
  uint32_t num_fresh = 0;
  std::array<Operand, 2> plain{};

  static constexpr uint64_t kNotPlain = 0;
  // What is called, as CallHash takes it, with how many operands.
  static constexpr uint64_t Plain(uint64_t what, size_t arity) {
    return what | uint64_t{arity} << 40;
  }
};
static_assert(sizeof(NodeHead) == 64);

// Where a path repeats a body (segment_end.h).
struct Bodies {
  int first;  // where the first one begins
  int length;
};

// What a call takes, as numbered along the path.
struct NodeOperands {
  Operands operands;
  absl::InlinedVector<Parameter, 2> slots;  // of the slots first met here, in operand order
};

// A call in its place in the trie. The head is a part of the rest, set by SetHead.
struct alignas(64) Node : NodeHead, NodeOperands, CallRecord {
  uint64_t hash = 0;       // CallHash of the call
  uint64_t path_hash = 0;  // of the calls up to this one

  // Place in the trie
  Node* parent = nullptr;
  int depth = 0;                         // calls from the root
  int first_result = 0, first_slot = 0;  // numbers before this call

  std::atomic<Node*> children{nullptr};  // newest first
  std::atomic<Node*> next{nullptr};      // sibling
  std::atomic<Node*> next_in_bucket{nullptr};
  std::atomic<ChildIndex*> index{nullptr};  // once there are more than kScanned children
  std::atomic<int> child_count{0};
  std::atomic<bool> evicted{false};  // no longer in the trie
  std::atomic<bool> lost{false};     // a child was evicted
  std::atomic<uint64_t> used{0};     // Bounds::Now when a segment last ended here
  enum class End : uint8_t { kUnknown, kNo, kYes };
  std::atomic<End> end{End::kUnknown};  // of every segment that comes here (segment_end.h)
  std::atomic<Bodies> bodies{};         // once `end` is known: what it was decided by
  int64_t bytes = 0;

  struct PlanEntry {
    LiveMask live;
    Precision precision;
    uint64_t failed;                       // when it could not be compiled, if so
    std::shared_ptr<const KeptPlan> kept;  // null: evicted, or it could not be compiled
    int failures = 0;                      // to compile it
    int wait = 0;                          // flushes until it is tried again

    uint64_t used() const { return kept ? kept->used.load(std::memory_order_relaxed) : failed; }
  };
  std::vector<PlanEntry> plans;  // guarded by Recording::mutex
  // The one found last, to be pinned (core/memory/pin.h). Written under the mutex.
  std::atomic<const KeptPlan*> latest{nullptr};

  static constexpr int kScanned = 8;

  Node() = default;
  void SetHead();
  // Op, attributes, operands and guards are equal; where the user wrote it may differ.
  bool SameContent(const Node& other) const;
  ~Node() { delete index.load(std::memory_order_relaxed); }
};

// What of a call decides which child it may be; equal calls have equal hashes.
inline uint64_t CallHash(uint64_t what, absl::Span<const Tensor* const> inputs, AttrSpan attrs) {
  uint64_t h = what * 0x9E3779B97F4A7C15u + inputs.size();
  const auto mix = [&h](uint64_t word) { h = (h ^ word ^ h >> 29) * 0xD6E8FEB86659FD93u; };
  for (const Tensor* t : inputs) {
    const Value& v = *t->value();
    mix(v.layout->id << 16 | uint64_t(v.dtype) << 1 | uint64_t{v.immediate});
  }
  for (const int64_t attr : attrs) mix(static_cast<uint64_t>(attr));
  return h ^ h >> 32;
}

// The path that ends at a node, which is not the root; and as a program.
std::vector<const Node*> PathTo(const Node& end);
Program ProgramOf(absl::Span<const Node* const> path);

}  // namespace frazil::tracer
#pragma GCC visibility pop
