// The bounded queues of the machine as they run: instructions wait in them for flags, and the
// scalar unit for a slot. For programs that break the order of flags, which program order cannot
// interpret: they may stand still. Called by the simulator. Invariant: an instruction takes effect
// as soon as its queue and flags allow; when nothing can advance the fault says who waits for whom.
#pragma once

#include <deque>

#include "npu/issue.h"

namespace frazil::npu {

class Queues : public Sink {
 public:
  // Effects go to `effects`, or nowhere if null.
  Queues(const Preset& preset, const Program& program, Sink* effects)
      : depth_(size_t(preset.queue_depth)), program_(program), effects_(effects) {}

  void StartBlock();
  bool On(const Issue& issue, bool taken, Fault* fault) override;

 private:
  bool& FlagOf(const Issue& issue) {
    return flags_[size_t((issue.v[0] * kNumQueues + issue.v[1]) * kFlagsPerPair + issue.v[2])];
  }
  // Runs the heads of all queues as far as they get; false on a fault.
  bool Advance(Fault* fault);
  bool CanRun(const Issue& head);
  bool RunHead(Queue queue, Fault* fault);
  bool Enqueue(const Issue& issue, Fault* fault);
  bool Empty() const;
  bool Stuck(const Issue& issue, Fault* fault);
  bool Leak(Fault* fault) const;
  // Who waits for whom, as .dot; `issue` is where the scalar unit stands.
  std::string Graph(const Issue& issue);

  const size_t depth_;
  const Program& program_;
  Sink* const effects_;
  std::array<std::deque<Issue>, kNumQueues> queues_;
  std::array<bool, kNumQueues * kNumQueues * kFlagsPerPair> flags_{};
};

}  // namespace frazil::npu
