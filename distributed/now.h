// Seconds of a clock that is never set, for waits between ranks. Used by distributed/liveness.cc and
// distributed/rendezvous.cc. Invariant: it goes forward, on this machine alone.
#pragma once

#include <chrono>

namespace frazil::distributed {

inline double Now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace frazil::distributed
