// ScriptBuilder: writes down what one call by validation does, for calls that may skip the body.
// Told by the session of segments and of what the program learns between them. Invariant: every
// value that it has seen stays alive until it is destroyed, so that pointers tell values apart; it
// changes nothing about the call.
#pragma once

#include <string>

#include "absl/container/flat_hash_map.h"
#include "tracer/script.h"

namespace frazil::tracer {

class ScriptBuilder {
 public:
  explicit ScriptBuilder(Cells cells);
  ScriptBuilder(const ScriptBuilder&) = delete;

  void OnSegment(std::vector<const CallRecord*> path, absl::Span<const ValueRef> slots,
                 absl::Span<const ValueRef> results, Precision precision);
  // The last segment was compiled for the results in `live`.
  void OnPlan(const std::shared_ptr<const SegmentPlan>& plan, const LiveMask& live);
  void OnRead(const Value& value, Reading how);
  void OnIndexCheck(std::string_view op, const Value& indices, int64_t n, std::string_view of);

  void OnGradient(const GradNode& leaf);

  // The call cannot be skipped, ever: why. The first reason counts.
  void Refuse(std::string_view why);
  // This call tells nothing: it recorded something new, an index was bad, or memory ended. The next
  // one may. What was kept for it goes.
  void Postpone();

  bool postponed() const { return postponed_; }
  const std::string& refusal() const { return refusal_; }

  // After the call has finished: adds its results and the writes to the cells, and gives the path
  // away. Null if refused or postponed.
  std::shared_ptr<PathRecord> Finish(absl::Span<const Tensor* const> outputs);

 private:
  Source Find(const Value& value);
  Link LinkTo(const GradNode* node) const;
  bool HistoriesUsed() const;
  bool RecordTape(absl::Span<const GradNode* const> roots);
  SegmentRecord& Ended(SegmentRecord::End end, const Value& value);

  Cells cells_;
  std::vector<Tensor> before_;  // the cells' content at the start
  // Of the cells that an op made: backward passes through that op until the start.
  std::vector<std::pair<const autograd::TapeNode*, uint32_t>> histories_;
  std::vector<ValueRef> seen_;  // keeps alive
  absl::flat_hash_map<const Value*, Source> sources_;
  absl::flat_hash_map<const GradNode*, Link> links_;
  std::shared_ptr<PathRecord> path_ = std::make_shared<PathRecord>();
  bool open_ = false;  // the last segment has no end yet
  int results_ = 0;
  bool postponed_ = false;
  std::string refusal_;
};

}  // namespace frazil::tracer
