// A point in time and how it came about: the cycles on the way to it, by queue. The cycle model
// passes moments on instead of walking back through a recorded run, so the critical path costs no
// memory. Invariant: the shares sum to `at`.
#pragma once

#include "npu/isa.h"

namespace frazil::npu {

struct Moment {
  int64_t at = 0;
  std::array<int64_t, kNumQueues> share{};
  int32_t by = -1;  // number of the instruction that ends here

  // `cycles` later, spent in queue q by instruction `number`.
  Moment Later(int64_t cycles, Queue q, int32_t number) const {
    Moment later = *this;
    later.at += cycles;
    later.share[q] += cycles;
    later.by = number;
    return later;
  }
};

// *a = the later of both; at a tie *a stays. True if b won.
inline bool TakeLater(Moment* a, const Moment& b) {
  if (b.at <= a->at) return false;
  *a = b;
  return true;
}

}  // namespace frazil::npu
