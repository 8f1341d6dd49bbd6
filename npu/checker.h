// Finds accesses that no flag orders, flags that are set again too early and reads of bytes that
// nothing wrote: the mode check. Sees every instruction between its checks of bounds and its
// effect. Invariant: sound for the path that is executed - what passes gives the same memory under
// every schedule that queue order and flags allow - and the answer depends on the sequence of
// instructions alone, never on time.
#pragma once

#include "npu/machine.h"
#include "npu/shadow.h"

namespace frazil::npu {

class Checker : public AccessObserver {
 public:
  Checker();
  void StartBlock(int block);
  bool Before(const Issue& issue, const Accesses& accesses, Fault* fault) override;

 private:
  struct Flag {
    Clock set{};          // of the queue that set it
    uint32_t waited = 0;  // number of the last WAIT
  };
  Flag& FlagOf(const Issue& issue);
  void Dispatch(Queue queue);
  bool Synchronise(const Issue& issue, Fault* fault);
  void JoinAll();
  bool Fail(const Issue& issue, const Access& access, const Touch& touch, Fault* fault) const;

  std::vector<Shadow> shadows_;
  std::vector<uint32_t> pcs_;                     // by number
  std::vector<std::pair<uint32_t, int>> blocks_;  // first number, block
  std::array<Clock, kNumQueues> clocks_{};
  std::array<Flag, kNumQueues * kNumQueues * kFlagsPerPair> flags_{};
  // How often the scalar unit has learnt of other queues, and what each queue has seen of it.
  uint32_t scalar_version_ = 0;
  std::array<uint32_t, kNumQueues> seen_version_{};
  uint32_t block_start_ = 1;
};

}  // namespace frazil::npu
