// Other orders in which the instructions of a block may take effect. Called by the simulator, which
// runs the same issues again in such an order and compares memory. Invariant: an order keeps that
// of each queue, every flag and every wait of the scalar unit, and nothing else.
#pragma once

#include "npu/simulator.h"

namespace frazil::npu {

// What a block did: kept by a run in program order.
class Recorder : public Sink {
 public:
  bool On(const Issue& issue, bool taken, Fault* fault) override {
    issues_.push_back(issue);
    return true;
  }
  const std::vector<Issue>& issues() const { return issues_; }

 private:
  std::vector<Issue> issues_;
};

// Numbers of the issues that touch memory, in the order in which they take effect.
//   kProgram  as issued
//   kTiming   as the cycle model completes them (L2 cold)
//   kEager    the queue that comes first in the flow of data goes as far as it can: loads early
//   kLazy     the queue that comes last goes first: a producer runs only when nothing else can
//   kRandom   any queue that can go on, by `seed`
// Nothing where no queue can advance though instructions are left, which the rule of flags
// excludes.
std::optional<std::vector<uint32_t>> OrderOf(absl::Span<const Issue> issues, Schedule schedule,
                                             uint64_t seed, const Preset& preset);

}  // namespace frazil::npu
