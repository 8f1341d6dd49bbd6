#include <algorithm>

#include "core/check.h"
#include "npu/cost.h"
#include "npu/moment.h"
#include "npu/sector_cache.h"

namespace frazil::npu {
namespace {

// A write of an earlier instruction of the same queue that may not be complete.
struct Pending {
  Access access;
  Moment done;
};

struct QueueState {
  Moment free;                 // the next instruction may start
  Moment done;                 // all so far are complete
  std::vector<Moment> starts;  // of the last `queue_depth` instructions, a ring
  size_t next = 0;
  std::vector<Pending> pending;
};

struct Flag {
  bool set = false;
  Moment at;
  int32_t setter = -1;
};

// What the preset says where several cores share the chip.
Preset Shared(Preset p, double share) {
  if (p.chip_read > 0) {
    p.gm_read = std::min(p.gm_read, p.chip_read * share);
    p.gm_write = std::min(p.gm_write, p.chip_read * share);
  }
  return p;
}

class Model : public CycleModel {
 public:
  Model(const Preset& preset, const CycleOptions& options)
      : preset_(Shared(preset, options.core_share)),
        record_(options.record),
        l2_(options.l2 && preset.l2_bytes > 0),
        cache_(preset.l2_bytes / kSectorBytes) {
    for (QueueState& q : queues_) q.starts.resize(size_t(preset.queue_depth));
    timing_.l2 = l2_;
    timing_.launch_cycles = preset.launch_us * preset.ghz * 1e3;
    if (l2_) Warm(options.warm);
  }

  bool On(const Issue& issue, bool taken, Fault* fault) override;
  Timing Finish() override;

 private:
  void Warm(absl::Span<const std::pair<uint64_t, int64_t>> ranges);
  bool Scalar(const Issue& issue, bool taken, Fault* fault);
  bool Enqueue(const Issue& issue, Fault* fault);
  Moment Dispatch(Queue q, bool* slot);
  bool Sync(const Issue& issue, Timed* timed, Moment* start, Fault* fault);
  bool Work(const Issue& issue, Timed* timed, Moment* start, Fault* fault);
  int64_t GmCyclesOf(const Issue& issue);
  void CountScratch(const Accesses& accesses);
  void Record(const Timed& timed) {
    if (record_) timing_.events.push_back(timed);
    ++number_;
  }
  Moment AllDone() const;
  bool Lift(const Issue& issue, Flag** flag, Fault* fault);
  bool Raise(const Issue& issue, const Moment& at, Fault* fault);
  Flag& FlagOf(const Issue& issue) {
    return flags_[(issue.v[0] * kNumQueues + issue.v[1]) * kFlagsPerPair + issue.v[2]];
  }
  bool CheckFlags(Fault* fault) const;

  const Preset preset_;
  const bool record_, l2_;
  SectorCache cache_;
  Moment now_;      // the scalar unit is ready for the next instruction
  Moment channel_;  // the write channel of device memory is free
  std::array<QueueState, kNumQueues> queues_;
  std::array<Flag, kNumQueues * kNumQueues * kFlagsPerPair> flags_;
  uint32_t number_ = 0;  // of the instruction; wraps in runs too long to be recorded
  Timing timing_;
};

void Model::Warm(absl::Span<const std::pair<uint64_t, int64_t>> ranges) {
  for (const auto& [address, bytes] : ranges) {
    if (bytes <= 0) continue;
    const uint64_t last = (Offset(address) + uint64_t(bytes) - 1) / kSectorBytes;
    for (uint64_t s = Offset(address) / kSectorBytes; s <= last; ++s) {
      if (!cache_.Warm(s)) return;
    }
  }
}

bool BadFlag(FaultCode code, const Issue& issue, Fault* fault) {
  fault->code = code;
  fault->operand = 2;
  fault->detail = StrCat(Name(Queue(issue.v[0])), ">", Name(Queue(issue.v[1])), " #", issue.v[2]);
  return false;
}

// The flag of a WAIT, taken down.
bool Model::Lift(const Issue& issue, Flag** flag, Fault* fault) {
  *flag = &FlagOf(issue);
  if (!(*flag)->set) return BadFlag(FaultCode::kFlagOrder, issue, fault);
  (*flag)->set = false;
  return true;
}

bool Model::Raise(const Issue& issue, const Moment& at, Fault* fault) {
  Flag& flag = FlagOf(issue);
  if (flag.set) return BadFlag(FaultCode::kFlagOverflow, issue, fault);
  flag = {true, at, int32_t(number_)};
  return true;
}

bool Model::CheckFlags(Fault* fault) const {
  for (size_t i = 0; i < flags_.size(); ++i) {
    if (!flags_[i].set) continue;
    Issue set;
    set.v = {i / kFlagsPerPair / kNumQueues, i / kFlagsPerPair % kNumQueues, i % kFlagsPerPair};
    BadFlag(FaultCode::kFlagLeak, set, fault);
    fault->operand = -1;
    return false;
  }
  return true;
}

Moment Model::AllDone() const {
  Moment last;
  for (const QueueState& q : queues_) TakeLater(&last, q.done);
  return last;
}

bool Model::On(const Issue& issue, bool taken, Fault* fault) {
  ++timing_.queues[issue.queue].instructions;
  if (Info(issue.op).cost == CostClass::kFlag) ++timing_.flag_instructions;
  return issue.queue == kS ? Scalar(issue, taken, fault) : Enqueue(issue, fault);
}

bool Model::Scalar(const Issue& issue, bool taken, Fault* fault) {
  Timed timed{issue.pc, issue.op, kS};
  timed.dispatch = now_.at;
  timed.after = now_.by;
  QueueTotals& totals = timing_.queues[kS];
  Moment start = now_;
  if (issue.op == Op::kHALT || (issue.op == Op::kBAR && issue.v[0] == kAllQueues)) {
    if (TakeLater(&start, AllDone())) timed.bound = Bound::kBarrier;
    totals.barrier_stall += start.at - now_.at;
  } else if (issue.op == Op::kWAIT) {
    Flag* flag;
    if (!Lift(issue, &flag, fault)) return false;
    if (TakeLater(&start, flag->at)) timed.bound = Bound::kFlag;
    totals.flag_stall[issue.v[0]] += start.at - now_.at;
    timed.after = flag->setter;
  } else if (issue.op == Op::kSET) {
    if (!Raise(issue, start.Later(kFlagLatency, kS, number_), fault)) return false;
  } else if (issue.op == Op::kSLD) {
    Accesses accesses;
    if (!AccessesOf(issue, &accesses, fault)) return false;
    CountScratch(accesses);
  }
  if (timed.bound == Bound::kBarrier) timed.after = start.by;
  const int64_t cycles = ScalarCycles(issue, taken);
  (Info(issue.op).cost == CostClass::kFlag ? totals.sync : totals.busy) += cycles;
  now_ = start.Later(cycles, kS, number_);
  timed.start = start.at;
  timed.free = timed.done = now_.at;
  Record(timed);
  return issue.op != Op::kHALT || CheckFlags(fault);
}

// When the scalar unit hands over an instruction: a slot of the queue is free when the instruction
// that many before it has started.
Moment Model::Dispatch(Queue q, bool* slot) {
  QueueState& queue = queues_[q];
  Moment dispatch = now_;
  *slot = TakeLater(&dispatch, queue.starts[queue.next]);
  const int64_t stall = dispatch.at - now_.at;
  timing_.queues[kS].slot_stall += stall;
  timing_.dispatch_full[q] += stall;
  ++timing_.queues[kS].busy;
  now_ = dispatch.Later(1, kS, number_);
  return dispatch;
}

bool Model::Enqueue(const Issue& issue, Fault* fault) {
  const Queue q = issue.queue;
  QueueState& queue = queues_[q];
  Timed timed{issue.pc, issue.op, q};
  bool slot = false;
  const Moment dispatch = Dispatch(q, &slot);
  timed.dispatch = dispatch.at;
  timed.bound = slot ? Bound::kSlot : Bound::kDispatch;
  timed.after = dispatch.by;

  // A unit that would have been free earlier stood idle until the dispatch arrived.
  const Moment ready = dispatch.Later(kDispatchLatency, kS, dispatch.by);
  Moment start = queue.free;
  timing_.queues[q].idle += std::max<int64_t>(0, ready.at - start.at);
  if (!TakeLater(&start, ready)) {
    timed.bound = Bound::kQueue;
    timed.after = start.by;
  }
  const bool ok = Info(issue.op).cost == CostClass::kFlag ? Sync(issue, &timed, &start, fault)
                                                          : Work(issue, &timed, &start, fault);
  if (!ok) return false;
  queue.starts[queue.next] = start;
  queue.starts[queue.next].by = number_;
  queue.next = queue.next + 1 == queue.starts.size() ? 0 : queue.next + 1;
  timed.start = start.at;
  timed.free = queue.free.at;
  Record(timed);
  return true;
}

// SET, WAIT, BAR: one cycle of their queue.
bool Model::Sync(const Issue& issue, Timed* timed, Moment* start, Fault* fault) {
  QueueState& queue = queues_[issue.queue];
  QueueTotals& totals = timing_.queues[issue.queue];
  const int64_t ready = start->at;
  if (issue.op == Op::kWAIT) {
    Flag* flag;
    if (!Lift(issue, &flag, fault)) return false;
    if (TakeLater(start, flag->at)) timed->bound = Bound::kFlag;
    timed->after = flag->setter;
    totals.flag_stall[issue.v[0]] += start->at - ready;
  } else if (issue.op == Op::kBAR) {
    if (TakeLater(start, queue.done)) {
      timed->bound = Bound::kBarrier;
      timed->after = start->by;
    }
    totals.barrier_stall += start->at - ready;
  } else {
    Moment at = *start;
    TakeLater(&at, queue.done);
    if (!Raise(issue, at.Later(kFlagLatency, issue.queue, number_), fault)) return false;
  }
  queue.free = start->Later(1, issue.queue, number_);
  TakeLater(&queue.done, queue.free);
  ++totals.sync;
  timed->done = queue.free.at;
  return true;
}

bool Model::Work(const Issue& issue, Timed* timed, Moment* start, Fault* fault) {
  Accesses accesses;
  if (!AccessesOf(issue, &accesses, fault)) return false;
  CountScratch(accesses);
  QueueState& queue = queues_[issue.queue];
  QueueTotals& totals = timing_.queues[issue.queue];

  // Writes that are complete bind nobody any more: later instructions start later.
  std::erase_if(queue.pending, [&](const Pending& p) { return p.done.at <= start->at; });
  const int64_t ready = start->at;
  for (const Pending& p : queue.pending) {
    for (const Access& a : accesses) {
      if (p.done.at <= start->at || !Overlap(p.access, a)) continue;
      *start = p.done;
      timed->bound = Bound::kDependence;
    }
  }
  totals.dependence_stall += start->at - ready;
  const bool writes_gm = WritesGm(issue);
  if (writes_gm) {
    const int64_t before = start->at;
    if (TakeLater(start, channel_)) timed->bound = Bound::kChannel;
    totals.channel_stall += start->at - before;
  }
  if (start->at > ready) timed->after = start->by;

  const Cost cost = CostWithGm(issue, preset_, TouchesGm(issue) ? GmCyclesOf(issue) : 0);
  queue.free = start->Later(cost.occupancy, issue.queue, number_);
  const Moment done = queue.free.Later(cost.tail, issue.queue, number_);
  if (writes_gm) channel_ = queue.free;
  TakeLater(&queue.done, done);
  for (const Access& a : accesses) {
    if (a.write && cost.tail > 0) queue.pending.push_back({a, done});
  }
  totals.busy += cost.occupancy;
  timing_.macs += MacsOf(issue);
  if (issue.op == Op::kMMUL) timing_.macs_of[issue.dt] += MacsOf(issue);
  if (issue.queue == kVE) timing_.vector_beats += BeatsOf(issue, preset_);
  timed->done = done.at;
  timed->bytes = BytesOf(issue);
  timed->gm = TouchesGm(issue);
  return true;
}

// Looks every sector up; what a row is charged beyond its bytes goes at the rate of its first
// sector.
int64_t Model::GmCyclesOf(const Issue& issue) {
  const GmRows rows = GmRowsOf(issue);
  const bool write = WritesGm(issue);
  (write ? timing_.gm_write : timing_.gm_read) += rows.bytes();
  if (!l2_) return GmCycles(write, 0, rows.Charged(preset_.burst), false, preset_);
  int64_t part[2] = {0, 0};  // missing, in L2
  for (int64_t r = 0; r < rows.rows; ++r) {
    const uint64_t begin = rows.address + uint64_t(r * rows.stride);
    const uint64_t end = begin + uint64_t(rows.row_bytes);
    int64_t rest = rows.Charged(r, preset_.burst) - rows.row_bytes;
    for (uint64_t at = begin; at < end;) {
      const uint64_t next = std::min(end, (at / kSectorBytes + 1) * kSectorBytes);
      const bool hit = cache_.Touch(at / kSectorBytes);
      part[hit] += int64_t(next - at) + rest;
      rest = 0;
      if (hit && !write) timing_.gm_read_l2 += int64_t(next - at);
      at = next;
    }
  }
  return GmCycles(write, part[1], part[0], true, preset_);
}

void Model::CountScratch(const Accesses& accesses) {
  for (const Access& a : accesses) {
    const int tag = SpaceTag(a.address);
    if (tag == kGM || tag >= kNumSpaces) continue;
    timing_.scratch_peak[tag] = std::max(timing_.scratch_peak[tag], int64_t(a.end()));
    if (record_ && (tag == kL1 || tag == kUB)) timing_.touches.push_back({int32_t(number_), a});
  }
}

Timing Model::Finish() {
  Moment end = now_;
  TakeLater(&end, AllDone());
  timing_.cycles = end.at;
  timing_.critical = end.share;
  for (int q = kS; q < kNumQueues; ++q) {
    const Moment& free = q == kS ? now_ : queues_[q].free;
    timing_.queues[q].idle += end.at - free.at;
  }
  return std::move(timing_);
}

}  // namespace

std::string_view Name(Bound bound) {
  static constexpr std::string_view kNames[] = {"dispatch", "slot",    "queue",  "dependence",
                                                "flag",     "barrier", "channel"};
  return kNames[size_t(bound)];
}

std::unique_ptr<CycleModel> MakeCycleModel(const Preset& preset, const CycleOptions& options) {
  return std::make_unique<Model>(preset, options);
}

Timing CombineCores(std::vector<Timing> cores) {
  FZ_CHECK(!cores.empty());
  size_t slowest = 0;
  for (size_t i = 1; i < cores.size(); ++i) {
    if (cores[i].cycles > cores[slowest].cycles) slowest = i;
  }
  Timing all = cores[slowest];
  all.cores = int(cores.size());
  all.gm_read = all.gm_write = all.gm_read_l2 = 0;
  all.macs = all.vector_beats = all.flag_instructions = 0;
  all.macs_of = {};
  all.events.clear();
  all.touches.clear();
  for (size_t i = 0; i < cores.size(); ++i) {
    const Timing& core = cores[i];
    all.gm_read += core.gm_read;
    all.gm_write += core.gm_write;
    all.gm_read_l2 += core.gm_read_l2;
    all.macs += core.macs;
    all.vector_beats += core.vector_beats;
    all.flag_instructions += core.flag_instructions;
    for (int t = 0; t < kNumTypes; ++t) all.macs_of[t] += core.macs_of[t];
    for (int s = 0; s < kNumSpaces; ++s)
      all.scratch_peak[s] = std::max(all.scratch_peak[s], core.scratch_peak[s]);
    const int32_t shift = int32_t(all.events.size());
    for (Timed timed : core.events) {
      timed.core = uint16_t(i);
      if (timed.after >= 0) timed.after += shift;
      all.events.push_back(timed);
    }
    for (LocalAccess touch : core.touches) {
      touch.event += shift;
      all.touches.push_back(touch);
    }
  }
  return all;
}

}  // namespace frazil::npu
