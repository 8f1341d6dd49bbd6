// ScriptBuilder: writes down as a program what one call by validation does, for calls that may skip
// the body. Told by the session of segments and of what is learnt from data between them.
// Invariant: every value that it has seen stays alive as long as anybody else could show it again,
// so that pointers tell values apart, until there is nothing to learn any more; it changes nothing
// about the call.
//
// The second call of a kind is the first that may be learnt from, as the first records. Compared
// calls write a second program and compare it with the first (SameProgram), which is how a broken
// promise is found and named. A call during which another thread may have written to the same
// cells, by a pure call or in place (tracer/learning.h), and which read something like their
// content from elsewhere, tells nothing: the next one may. History for gradients is data too
// (tracer/tape_record.h): the nodes that results hang off are made again. What the structure is,
// and what is refused, is one rule, in the header of nest.h; class_info.h knows of each class where
// its instances' state lies. Modules, optimizers and generators (frazil/_tracked.py) count
// assignments to attributes; a snapshot (bindings/python/module_type.h) is good while the count
// stands.
//
// A recording whose body may be skipped records views of ready values as calls; others do not need
// to. A check of indices (cross_entropy(logits, labels.reshape(-1))) looks at such a view without
// ending the segment (Session::Peek), so that forward and backward pass stay one plan; in the
// program the view is a segment of its own, before the one in progress.
#pragma once

#include <string>

#include "absl/container/flat_hash_map.h"
#include "autograd/tape.h"
#include "tracer/counted_loop.h"
#include "tracer/script.h"

#pragma GCC visibility push(default)
namespace frazil::tracer {

// Tells at a read what the program that runs the body is, but for what its tensors hold: from equal
// states and equal data it goes on alike.
class StateObserver {
 public:
  struct State {
    std::vector<uint64_t> words;
    std::vector<const Tensor*> tensors;  // borrowed until the program goes on
  };
  virtual ~StateObserver() = default;
  // False if it cannot be told.
  virtual bool Look(State* state) = 0;
};

class ScriptBuilder {
 public:
  explicit ScriptBuilder(Cells cells);
  ScriptBuilder(const ScriptBuilder&) = delete;

  // So that loops of any length can be found (tracer/while_loop.h). It outlives the body. `alike`:
  // for a program that is saved: states are noted as UseAlikeStates has them, too.
  void Observe(StateObserver* observer, bool alike = false) {
    observer_ = observer;
    notes_alike_ = alike;
  }
  // Which object holds a tensor made no difference in this call, so that it is no part of the state:
  // the first state of a loop, an argument, is like those that its iterations make.
  void UseAlikeStates();

  // The calls are nodes of a visited trie, so that equal ones are the same.
  void OnSegment(absl::Span<const Node* const> path, absl::Span<const ValueRef> slots,
                 absl::Span<const ValueRef> results, Precision precision);
  // Views of `base`, each of the one before, that were made ahead of the segment in progress.
  void OnViews(absl::Span<const Node* const> views, const Value& base,
               absl::Span<const ValueRef> results, Precision precision);
  // The last segment was compiled for the results in `live`.
  void OnPlan(const std::shared_ptr<const SegmentPlan>& plan, const LiveMask& live);
  void OnRead(const Value& value, Reading how);
  void OnIndexCheck(std::string_view op, const Value& indices, IndexRange range,
                    std::string_view of);
  // A script knows only what follows good indices.
  void OnIndexError();

  void OnGradient(const GradNode& leaf);
  // Other processes see a call of the segment in progress.
  void OnEffect() { has_effect_ = true; }

  // The call cannot be skipped, ever: why. The first reason counts. What was kept for it goes.
  void Refuse(std::string_view why);
  // This call tells nothing: it recorded something new, an index was bad, or memory ended. The next
  // one may. What was kept for it goes.
  void Postpone();

  bool postponed() const { return postponed_; }
  const std::string& refusal() const { return refusal_; }

  // After the call has finished: adds its results and the writes to the cells, and gives the path
  // away. Null if refused or postponed.
  std::shared_ptr<LearntCall> Finish(absl::Span<const Tensor* const> outputs);

 private:
  bool done() const { return postponed_ || !refusal_.empty(); }
  // True: the segment is the last one again, and is counted.
  bool Repeat(absl::Span<const Node* const> path, absl::Span<const ValueRef> slots,
              Precision precision);
  void Keep(absl::Span<const ValueRef> results);
  // A call with its results.
  void Add(const Node& node, Operands operands, absl::Span<const ValueRef> results);
  void Cut(Precision precision);
  // Lets go of values that nobody else holds.
  void Sweep();
  void LetGo();
  ValueId Find(const Value& value);
  Link LinkTo(const GradNode* node) const;
  bool HistoriesUsed() const;
  bool RecordTape(absl::Span<const GradNode* const> roots);
  // The last mark, or a new one, as of what was read from `value`.
  Mark& MarkOf(Mark::Kind kind, const Value& value);
  void NoteState(Mark* mark);

  Cells cells_;
  uint64_t start_ = autograd::NextSequence();
  std::vector<Tensor> before_;  // the cells' content at the start
  // Of the cells that an op made: backward passes through that op until the start.
  std::vector<std::pair<const autograd::TapeNode*, uint32_t>> histories_;
  static constexpr size_t kSweepAt = 1024;
  std::vector<ValueRef> seen_;  // keeps alive
  size_t sweep_at_ = kSweepAt;
  absl::flat_hash_map<const Node*, std::shared_ptr<const CallRecord>> records_;
  absl::flat_hash_map<const Value*, ValueId> ids_;
  absl::flat_hash_map<const GradNode*, Link> links_;
  std::shared_ptr<LearntCall> learnt_ = std::make_shared<LearntCall>();
  // The slots of the last segment hold different values; where some are one now, its plan takes
  // more than the program does.
  bool slots_differ_ = true;
  bool open_ = false;  // nothing was learnt yet behind the last segment
  ValueId results_ = 0;
  Repeats last_;                  // the last segment, and
  std::vector<Repeats> repeats_;  // those before that came more than once (tracer/counted_loop.h)
  StateObserver* observer_ = nullptr;
  using States = absl::flat_hash_map<std::vector<uint64_t>, int32_t>;
  States states_, alike_states_;
  bool notes_alike_ = false;
  std::vector<int32_t> alike_;  // of each mark up to the last one that has a state
  // What a state holds that no call has taken yet: known at the end, or not at all.
  std::vector<ValueRef> unknown_;
  static constexpr size_t kMaxUnknown = 1 << 12, kMaxWords = 1 << 14;
  static constexpr ValueId kFirstUnknown = kNoValue + 1;
  bool has_effect_ = false;  // so far
  bool postponed_ = false;
  std::string refusal_;
};

}  // namespace frazil::tracer
#pragma GCC visibility pop
