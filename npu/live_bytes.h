// How many bytes of L1 and UB hold something that is still to be read. Called by the timeline.
// Invariant: a byte lives from the start of the instruction that wrote it to the completion of the
// last one that read it before the next write; what nobody reads does not live.
#pragma once

#include <utility>
#include <vector>

#include "npu/timing.h"

namespace frazil::npu {

// (cycle, bytes from then on), ascending; of one core.
std::vector<std::pair<int64_t, int64_t>> LiveBytes(const Timing& timing, Space space, int core);

}  // namespace frazil::npu
