// Session: one outermost traced call on one thread. It is the thread's door while the call runs: it
// matches each op against the recording and defers it (replaying), or runs it eagerly and records
// it (recording), and makes deferred values real at branch points and at the end. Called by
// core::Apply (as Door), by core::Read (as Pending) and by tracer::Call.
//
// Invariants. A value is deferred only while its session lives and only in the segment in progress.
// Deferred ops form the path from the trie's root to `cursor_`; slots_ and values_ pin what that
// path reads and makes, so the holder count of a value in values_ is 1 exactly when nobody else
// wants it. Views of values that are ready are made at once and are not part of a segment: a slice
// with other bounds each call is just another input; only a recording whose body may be skipped
// (Recording::records_views) needs them.
//
// What a traced call could not compute, because of Ctrl-C or for want of memory, stays deferred
// and is computed when somebody reads it, in any thread; the session lives on for that. Nothing is
// lost: a cell that was written holds what eager execution would have put there. It keeps what
// that needs and no more, and lets go of it once nobody can ask: when the next call begins, when
// statistics are asked for, and before an array of the CPU is refused for want of memory
// (core/memory/last_resort.h; devices refuse at once).
//
// A deferred tensor may be read by any thread. Sessions are never freed but used again, so a
// thread that asks one whose call has just ended finds that the value is no longer its own. Nobody
// waits for a session while holding the GIL: who has it may need the GIL to go on.
#pragma once

#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "tracer/deferred.h"
#include "tracer/recording.h"

namespace frazil::tracer {

class BodyRecorder;   // tracer/body_recorder.h
class ScriptBuilder;  // tracer/script_builder.h

class Session final : public Door, public Pending, public ReadObserver {
 public:
  // Sessions are used again and never destroyed: another thread may ask one for a value while its
  // call ends, and then finds that the value is no longer this session's.
  // `builder` (may be null) is told of every segment.
  static Session* Begin(Recording* recording, ScriptBuilder* builder);
  // After Finish. Keeps the session for a later call, or until somebody asks for what an
  // interrupted one left.
  static void End(Session* session);
  // Lets go of what ended calls kept for values that nobody waits for any more.
  static void SweepAbandoned();

  Tensor Call(const OpCall& call) override;
  Value* TryCall(OpId op, const Tensor& a) override;
  Value* TryCall(OpId op, const Tensor& a, const Tensor& b) override;
  Value* TryNumber(OpId op, const Tensor& a, uint64_t bits, bool first) override;
  void Composite(const CompositeCall& call, CompositeBody body,
                 absl::Span<Tensor> outputs) override;
  // A branch point: ends the segment. Any thread may ask.
  Status Force(const Value* value) override;
  bool LetGo(const Value* value) override;
  // A view of what was ready, which no segment has to end for.
  ValueRef Peek(const Value& value) override;
  // While recording, a segment ends where replaying it would have to: at a read of its results.
  void OnRead(const Value& value, Reading how) override;
  void OnIndexCheck(std::string_view op, const Value& indices, IndexRange range,
                    std::string_view of) override;
  void OnIndexError() override;
  void OnGradient(const GradNode& leaf) override;
  void OnLending();
  // The end of the call. `interrupted`: nothing is computed now; what is wanted will be when it is
  // read.
  Status Finish(bool interrupted);

 private:
  enum class Mode { kReplaying, kRecording };
  // One call as it is compared and recorded. What is called is one word, as two fields would be
  // compared as a word that was just written in halves.
  struct Request {
    uint64_t what;
    absl::Span<const Tensor* const> inputs;
    AttrSpan attrs;

    bool composite() const { return what >> 32; }
    uint32_t op() const { return static_cast<uint32_t>(what); }
  };
  static uint64_t Primitive(OpId op) { return static_cast<uint64_t>(op); }
  static uint64_t CompositeRow(uint32_t id) { return uint64_t{1} << 32 | id; }
  class Lock;
  class QuickLock;
  static Session* TakeSpare();

  // Views of what is ready are calls too where the body may be skipped.
  bool RecordsViews() const { return builder_ || recording_->records_views(); }
  Tensor CallUnpredicted(const OpCall& call);

  // Matching
  Node* Predicted() const;
  bool MatchesOperand(const NodeHead::Operand& expected, const Value* v, const Value* first) const;
  Value* TryPlain(uint64_t what, Value* a, Value* b);
  Value* TryFew(uint64_t what, absl::Span<const Tensor* const> inputs);
  Value* Take(Node* call);
  void AddSlots(const NodeHead& call, Value* a, Value* b);
  // A long recording is not in the cache: what the next match reads is fetched while the program
  // gets there.
  void Advance(Node* node) {
    cursor_ = node;
    ++matched_;
    const auto next = reinterpret_cast<uintptr_t>(node->predicted.load(std::memory_order_relaxed));
    for (size_t line = 0; line < kMatched; line += 64)
      __builtin_prefetch(reinterpret_cast<const void*>(next + line));
  }
  static constexpr size_t kMatched = sizeof(NodeHead) + sizeof(NodeOperands) + sizeof(CallRecord);
  Node* FindChild(const Request& request);
  Node* SearchChild(const Request& request) const;
  bool Matches(const Node& node, const Request& request) const;
  void Defer(Node* node, const Request& request, absl::Span<Tensor> outputs);
  Value* DeferResult(uint32_t kind, const Layout* layout);

  // Recording
  Tensor RunAndRecord(const OpCall& call);
  Tensor RunEagerly(const OpCall& call);
  // body: of a composite.
  void Record(const Request& request, absl::Span<const Tensor> outputs,
              std::shared_ptr<const Program> body);
  void RunComposite(const CompositeCall& call, CompositeBody body, absl::Span<Tensor> outputs);
  // The call fits nothing recorded. An error in strict mode, if calls were deferred.
  Status StartRecording(const Request& request);
  Status LeaveReplay();
  void NoteBorrowed(OpId op);

  // Segments
  Status Flush();
  // Makes what is wanted of it ready, and forgets its results.
  bool EndQuickly();
  Status EndSegment();
  Status ChangePrecision();
  std::shared_ptr<const SegmentPlan> MakePlan(const LiveMask& live, Precision precision,
                                              Status* refusal);
  Status RunPlan(const SegmentPlan& plan, const LiveMask& live);
  Status RunOneByOne(LiveMask live);
  // Results of calls that other processes see are wanted, whoever holds them: the last one, which
  // in a plan waits for those before, or all.
  bool WantEffects(bool all, LiveMask* live) const;
  void StartSegment();
  // The error it is in strict mode.
  Status NoteRefusal(Cause cause, const Status& status);
  // The views, outermost first, that made `value` from what this segment found ready; none if
  // anything else did.
  std::vector<const Node*> ViewsOf(const Value& value) const;

  Session() = default;
  ~Session() override = default;

  Recording* recording_ = nullptr;
  ScriptBuilder* builder_ = nullptr;
  std::shared_ptr<Recording> kept_;  // while an interrupted call's values wait
  Mode mode_ = Mode::kReplaying;
  Recording::Shard* shard_ = nullptr;  // of the recording and the thread
  uint64_t epoch_ = 0;                 // of the visit
  Node* cursor_ = nullptr;
  std::vector<ValueRef> slots_;          // replaying: what first-met operands were, in order
  DeferredValues values_;                // replaying: deferred results, in order
  int num_slots_ = 0, num_results_ = 0;  // recording: numbers given so far in this segment
  int32_t last_effect_ = -1;             // replaying: the last result that has to be computed
  uint64_t serial_ = 0;                  // tags of this segment's values carry it
  BodyRecorder* body_ = nullptr;         // set while a composite's body is being recorded
  bool fell_back_ = false, recorded_ = false;
  bool strict_ = false;
  Precision precision_ = Precision::kDefault;
  bool flushing_ = false;
  int kernels_ = 0;
  int64_t matched_ = 0, gain_ = 0;
  std::atomic<bool> inside_{false}, busy_{false};   // Lock: the owner, another thread
  std::atomic<const ThreadState*> owner_{nullptr};  // whose address tells threads apart
  std::atomic<uint32_t> generation_{0};             // of the process that began it
  int lock_depth_ = 0;
};

}  // namespace frazil::tracer
