// The cycle model: event driven, one event an instruction, cycle-approximate. CycleModel is a sink
// of the scalar unit; reports and the tile search read the Timing it leaves. Invariant: cycles
// depend on the sequence of issues and the preset alone; with L2 off the model is max-plus (more
// cost never ends earlier).
//
//   dispatch(i) = max(dispatch(i-1) + 1, time a slot of its queue frees)
//   start(i)    = max(dispatch(i) + 4, free(queue), done of earlier ones in its queue that it
//   depends on) free(queue) = start + occupancy;  done = free + tail SET: the flag is set at
//   max(start, done of all earlier in its queue) + 4; WAIT starts when it is
#pragma once

#include <memory>
#include <vector>

#include "jit/npu_sim/issue.h"

namespace frazil::npu {

// What an instruction waited for longest before it started.
enum class Bound : uint8_t { kDispatch, kSlot, kQueue, kDependence, kFlag, kBarrier };

// One executed instruction in time (cycles).
struct Timed {
  uint32_t pc = 0;
  Queue queue = kS;
  Bound bound = Bound::kDispatch;
  int64_t dispatch = 0, start = 0, free = 0, done = 0;
  int64_t bytes = 0;   // moved
  int32_t after = -1;  // number of the instruction that bound it; of a WAIT: its SET
};

struct QueueTotals {
  int64_t busy = 0, instructions = 0;
  // Cycles this queue stood still because of: flags from each queue, a full slot (charged to the
  // queue that was full), its own dependences.
  std::array<int64_t, kNumQueues> flag_stall{};
  int64_t dependence_stall = 0, idle = 0;
};

struct Timing {
  int64_t cycles = 0;        // of the slowest block, launch cost not included
  double launch_cycles = 0;  // what a launch costs besides
  std::array<QueueTotals, kNumQueues> queues{};
  std::array<int64_t, kNumQueues> dispatch_full{};  // S stood still because this queue was full
  int64_t gm_read = 0, gm_write = 0, l2_hits = 0, l2_misses = 0;  // bytes, bytes, sectors
  int64_t macs = 0, vector_beats = 0;
  int64_t flag_instructions = 0;
  std::array<int64_t, kNumSpaces> scratch_peak{};  // highest byte touched
  // Share of the way back from the last completion that each queue (kS: dispatch) is on; sums to
  // cycles.
  std::array<int64_t, kNumQueues> critical{};
  std::vector<Timed> events;  // if recorded
};

struct CycleOptions {
  bool record = false;
  bool l2 = true;  // the model of L2, if the preset has one
  // Device addresses that are in L2 at the start.
  std::vector<std::pair<uint64_t, int64_t>> warm;
  double core_share = 1;  // of the chip's bandwidth, where several cores run
};

class CycleModel : public Sink {
 public:
  virtual Timing Finish() = 0;
};
std::unique_ptr<CycleModel> MakeCycleModel(const Preset& preset, const CycleOptions& options);

// Cycles an instruction holds its queue, and from then to completion; L2 apart (GM at the rate of a
// miss). The closed form that the tile search adds up.
struct Cost {
  int64_t occupancy = 0, tail = 0;
};
Cost CostOf(const Issue& issue, const Preset& preset);

}  // namespace frazil::npu
