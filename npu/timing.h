// The cycle model: event driven, one event an instruction, cycle-approximate. CycleModel is a sink
// of the scalar unit; reports and the tile search read the Timing it leaves. Invariant: cycles
// depend on the sequence of issues and the preset alone; with L2 off the model is max-plus (more
// cost never ends earlier).
//
//   dispatch(i) = max(dispatch(i-1) + 1, time a slot of its queue frees)
//   start(i)    = max(dispatch(i) + 4, free(queue), done of earlier ones in its queue whose bytes
//   it
//                     reads or overwrites, the write channel of device memory)
//   free(queue) = start + occupancy;  done = free + tail
//   SET         sets its flag at max(start, done of all earlier in its queue) + 4
//   WAIT        starts when its flag is set
//
// The channel serves ST and DR in the order of the program.
#pragma once

#include <memory>
#include <vector>

#include "npu/access.h"

namespace frazil::npu {

// What decided when an instruction started.
enum class Bound : uint8_t {
  kDispatch,    // the scalar unit came to it only then
  kSlot,        // the scalar unit waited for a slot of this queue
  kQueue,       // the instruction before it in its queue held the unit
  kDependence,  // an earlier instruction of its queue whose result it reads or overwrites
  kFlag,        // the SET it waited for
  kBarrier,     // earlier instructions of its queue, or of all queues
  kChannel,     // the write channel of device memory, which ST and DR share
};
std::string_view Name(Bound bound);

// One executed instruction in time (cycles).
struct Timed {
  uint32_t pc = 0;
  Op op = Op::kNOP;
  Queue queue = kS;
  Bound bound = Bound::kDispatch;
  bool gm = false;  // moves bytes of device memory
  uint16_t core = 0;
  int64_t dispatch = 0, start = 0, free = 0, done = 0;
  int64_t bytes = 0;   // moved, or written
  int32_t after = -1;  // number of the instruction that bound it; of a WAIT: its SET
};

// What an instruction read or wrote in L1 or UB.
struct LocalAccess {
  int32_t event = 0;  // number of the instruction
  Access access;
};

// Where the cycles of one queue went: busy + sync + all stalls + idle == cycles.
struct QueueTotals {
  int64_t busy = 0;  // executing, SET WAIT and BAR apart; of S: scalar instructions and dispatch
  int64_t sync = 0;  // SET, WAIT and BAR
  int64_t instructions = 0;
  std::array<int64_t, kNumQueues> flag_stall{};  // WAIT stood still for a flag of this queue
  int64_t dependence_stall = 0, barrier_stall = 0, channel_stall = 0;
  int64_t slot_stall = 0;  // of S: a queue was full (dispatch_full says which)
  int64_t idle = 0;        // nothing had been dispatched to it
};

struct Timing {
  int64_t cycles = 0;        // of the slowest core, launch cost not included
  double launch_cycles = 0;  // what a launch costs besides
  int cores = 1;             // that ran
  std::array<QueueTotals, kNumQueues> queues{};
  std::array<int64_t, kNumQueues> dispatch_full{};  // S stood still because this queue was full
  int64_t gm_read = 0, gm_write = 0;                // bytes
  int64_t gm_read_l2 = 0;                           // bytes of gm_read that lay in L2
  bool l2 = false;                                  // there was one
  int64_t macs = 0, vector_beats = 0;
  std::array<int64_t, kNumTypes> macs_of{};  // by operand type
  int64_t flag_instructions = 0;
  std::array<int64_t, kNumSpaces> scratch_peak{};  // highest byte touched
  // The chain of instructions that the last completion waited for, by queue (kS: dispatch); sums
  // to cycles.
  std::array<int64_t, kNumQueues> critical{};
  std::vector<Timed> events;         // if recorded
  std::vector<LocalAccess> touches;  // likewise, by event
};

struct CycleOptions {
  bool record = false;
  bool l2 = true;  // the model of L2, if the preset has one
  // Device addresses that are in L2 at the start, as far as it holds them, in this order.
  std::vector<std::pair<uint64_t, int64_t>> warm;
  double core_share = 1;  // of the chip's bandwidth, where several cores run
};

// One core. Blocks that it runs one after another are fed one after another: each begins when the
// HALT of the one before is done. A WAIT before its SET, a second SET and a flag left at HALT are
// faults. A program that breaks off without HALT counts to its last completion.
class CycleModel : public Sink {
 public:
  virtual Timing Finish() = 0;
};
std::unique_ptr<CycleModel> MakeCycleModel(const Preset& preset, const CycleOptions& options);

// The launch as a whole from its cores: times of the slowest, bytes and counts of all, events of
// all one core after another.
Timing CombineCores(std::vector<Timing> cores);

// Cycles an instruction holds its queue, and from then to completion. The closed form that the tile
// search adds up. `in_l2`: device memory at the rates of L2, where the preset has one; otherwise at
// the rate of a miss.
struct Cost {
  int64_t occupancy = 0, tail = 0;
};
Cost CostOf(const Issue& issue, const Preset& preset, bool in_l2 = false);

}  // namespace frazil::npu
