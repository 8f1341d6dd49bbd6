// Script: what a call that depends on its arguments only does, as data: segments, where each of
// their inputs comes from, what was read between them, and what comes out. Made by
// tracer/script_builder while the body runs by validation; run by tracer/promise in place of the
// body. Invariants: a script is immutable, so many threads may run one; running it changes nothing
// outside before it knows that it reached an end.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tracer/recording.h"
#include "tracer/tape_record.h"

#pragma GCC visibility push(default)
namespace frazil::tracer {

// What a path of calls did up to the next thing that the program learned from data.
struct SegmentRecord {
  enum class End : uint8_t { kContinue, kNumber, kIndexCheck };

  // Segments of one content share it: a loop that reads its condition has as many as iterations.
  std::shared_ptr<const std::vector<CallRecord>> content;
  std::vector<Source> slots;
  int results = 0;
  Precision precision = Precision::kDefault;

  End end = End::kContinue;
  Source read;           // kNumber, kIndexCheck
  uint64_t outcome = 0;  // kNumber: the bits
  IndexRange range{};    // kIndexCheck: where indices lie
  std::string check, of;
  std::string origin;  // where the number was read: "train.py:12"

  // A plan made for it when it was recorded, if that is still there: for the results in `live`.
  std::weak_ptr<const SegmentPlan> plan;
  LiveMask live;

  absl::Span<const CallRecord> calls() const {
    return content ? absl::Span<const CallRecord>(*content) : absl::Span<const CallRecord>();
  }
};

// One call from its start to its end.
struct PathRecord {
  std::vector<SegmentRecord> segments;
  std::vector<ValueRef> constants;
  std::vector<Origin> outputs;                 // the tensors of the result, in order
  std::vector<std::pair<int, Origin>> writes;  // cells whose content the call replaced
  std::vector<TapeRecord> tape;                // what results and cells hang off
  std::vector<uint64_t> shape;                 // the result's structure, in the bindings' words
  std::shared_ptr<const void> pins;            // what those words point to
};

// OK if both did the same up to a read that gave different numbers (then *outcome is false) or to
// the end. Otherwise the sentence that says what differs: op, the user's line, both values.
Status SamePath(const PathRecord& known, const PathRecord& now, bool* same_outcomes);

class Script {
 public:
  // The tree of `paths`, which agree as SamePath says. Plans of `previous` (may be null) are kept
  // where they still fit.
  static StatusOr<std::shared_ptr<const Script>> Build(
      std::vector<std::shared_ptr<const PathRecord>> paths, const Script* previous);
  ~Script();

  const std::vector<std::shared_ptr<const PathRecord>>& paths() const { return paths_; }
  int kernels() const { return kernels_; }    // of all plans
  int compiled() const { return compiled_; }  // by Build
  int64_t bytes() const { return bytes_; }    // about what it holds
  std::vector<MemoryReport> MemoryPlans() const;

  // Runs it on the cells' present content and commits the writes. Null, with nothing changed, if
  // an outcome is not known or an index check fails: the body has to run.
  StatusOr<const PathRecord*> Run(Cells cells, absl::InlinedVector<Tensor, 4>* outputs,
                                  int* kernels) const;

 private:
  friend class ScriptTree;  // tracer/script_tree.h, which fills it
  struct Stage;
  Script();
  Status RunStraight(Cells cells, absl::InlinedVector<Tensor, 4>* outputs) const;

  std::vector<std::shared_ptr<const PathRecord>> paths_;
  std::vector<std::unique_ptr<Stage>> stages_;  // the first is the root, before its followers
  int registers_ = 0;                           // results that are kept at a time
  bool unlocks_ = false;   // while a plan runs, the content of cells may be replaced
  bool merged_ = false;    // of segments put together (tracer/merge_segments)
  bool straight_ = false;  // one segment whose results, in order, are the call's; nothing else
  int kernels_ = 0, compiled_ = 0;
  int64_t bytes_ = 0;
};

}  // namespace frazil::tracer
#pragma GCC visibility pop
