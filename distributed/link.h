// What the network between the ranks gives, measured once when they join: what a message costs who
// sends it, how long it is on the way, how many bytes come through. Measured by distributed/world.cc,
// asked by distributed/collectives.cc and by the bindings, which choose the size of buckets by it.
//
// Invariant: all ranks have the numbers of rank 0, so that what is decided by them is decided alike;
// no bit of a result depends on them.
#pragma once

#include <cstdint>

#include "core/status.h"

#pragma GCC visibility push(default)
namespace frazil::distributed {

struct Link {
  double overhead = 0;   // seconds of a core that a small collective costs
  double latency = 0;    // seconds that a message is on the way
  double bandwidth = 0;  // bytes a second that a rank sends and receives; 0: not measured

  // Up to how many bytes an array goes to all of n ranks as a whole.
  int64_t Whole(int n) const;
};

const Link& TheLink();
// By collectives of all ranks, which call it together.
Status MeasureLink();

}  // namespace frazil::distributed
#pragma GCC visibility pop
