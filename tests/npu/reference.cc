#include "tests/npu/reference.h"

#include <algorithm>
#include <cmath>
#include <deque>
#include <list>

#include "absl/container/flat_hash_set.h"
#include "core/check.h"

namespace frazil::npu {
namespace {

using Bytes = absl::flat_hash_set<std::pair<int, int64_t>>;  // (space, every fourth byte)

int64_t Up(int64_t a, int64_t b) { return a / b + (a % b != 0); }
// bytes / rate rounded up; rates are multiples of 1/4.
int64_t At(int64_t bytes, double rate) { return Up(bytes * 4, std::llround(rate * 4)); }

struct Work {
  int64_t occupancy = 1, tail = 0;
  bool gm_write = false;
  Bytes reads, writes;
};

// The list of L2: front is the newest.
class L2List {
 public:
  L2List(const Preset& p, const CycleOptions& options) : room_(p.l2_bytes / 512) {
    for (const auto& [address, bytes] : options.warm) {
      for (uint64_t s = address / 512; s <= (address + uint64_t(bytes) - 1) / 512; ++s) {
        if (int64_t(list_.size()) < room_ && !In(s)) list_.push_front(s);
      }
    }
  }
  bool Touch(uint64_t sector) {
    const bool in = In(sector);
    if (in) list_.remove(sector);
    if (!in && int64_t(list_.size()) >= room_ && !list_.empty()) list_.pop_back();
    if (room_ > 0) list_.push_front(sector);
    return in;
  }

 private:
  bool In(uint64_t s) const { return std::find(list_.begin(), list_.end(), s) != list_.end(); }
  int64_t room_;
  std::list<uint64_t> list_;
};

class Machine {
 public:
  Machine(const std::vector<Issue>& issues, const std::vector<bool>& taken, const Preset& preset,
          const CycleOptions& options)
      : issues_(issues),
        taken_(taken),
        p_(preset),
        l2_on_(options.l2 && preset.l2_bytes > 0),
        l2_(preset, options) {
    times_.instructions.resize(issues.size());
    work_.resize(issues.size());
  }

  ReferenceTimes Run() {
    for (now_ = 0; !halted_; ++now_) {
      RaiseFlags();
      for (int q = kLD; q < kNumQueues; ++q) StartHead(Queue(q));
      StepScalar();
      FZ_CHECK(now_ < 100'000'000);
    }
    return std::move(times_);
  }

 private:
  struct Entry {
    size_t index;
    int64_t ready;
  };
  struct Unit {
    std::deque<Entry> waiting;
    int64_t free = 0;
    std::vector<size_t> started;  // not known to be complete
  };
  struct SetInFlight {
    size_t index;
    int64_t fires = -1;  // -1: earlier instructions are not complete
  };

  static int Key(const Issue& i) { return int((i.v[0] * 8 + i.v[1]) * 8 + i.v[2]); }
  bool Complete(size_t i) const { return times_.instructions[i].done <= now_; }

  void RaiseFlags() {
    for (SetInFlight& s : sets_) {
      const Queue q = issues_[s.index].queue;
      const auto& started = units_[q].started;
      if (s.fires < 0 && std::all_of(started.begin(), started.end(),
                                     [&](size_t i) { return i >= s.index || Complete(i); })) {
        s.fires = now_ + 4;
      }
      if (s.fires == now_) {
        FZ_CHECK(!flags_[Key(issues_[s.index])]);
        flags_[Key(issues_[s.index])] = true;
      }
    }
    std::erase_if(sets_, [&](const SetInFlight& s) { return s.fires == now_; });
    for (Unit& u : units_) std::erase_if(u.started, [&](size_t i) { return Complete(i); });
  }

  void StartHead(Queue q) {
    Unit& unit = units_[q];
    if (unit.waiting.empty() || unit.waiting.front().ready > now_ || unit.free > now_) return;
    const size_t index = unit.waiting.front().index;
    const Issue& issue = issues_[index];
    const Work& work = work_[index];  // of flags: one cycle
    if (issue.op == Op::kWAIT) {
      if (!flags_[Key(issue)]) return;
      flags_[Key(issue)] = false;
    } else if (issue.op == Op::kBAR) {
      if (!unit.started.empty()) return;
    } else if (issue.op != Op::kSET) {
      if (Blocked(unit, work) || (work.gm_write && !TakeChannel(index, work))) return;
    }
    unit.waiting.pop_front();
    unit.free = now_ + work.occupancy;
    times_.instructions[index].start = now_;
    times_.instructions[index].done = unit.free + work.tail;
    unit.started.push_back(index);
    if (issue.op == Op::kSET) {
      sets_.push_back({index});
      FireIfDone(&sets_.back(), unit);
    }
  }

  // A SET whose predecessors are all complete when it starts fires four cycles later.
  void FireIfDone(SetInFlight* set, const Unit& unit) {
    if (std::all_of(unit.started.begin(), unit.started.end(),
                    [&](size_t i) { return i >= set->index || Complete(i); }))
      set->fires = now_ + 4;
  }

  static bool Meet(const Bytes& a, const Bytes& b) {
    if (a.size() > b.size()) return Meet(b, a);
    return std::any_of(a.begin(), a.end(), [&b](const auto& byte) { return b.contains(byte); });
  }
  bool Blocked(const Unit& unit, const Work& work) const {
    for (size_t i : unit.started) {
      if (Complete(i)) continue;
      if (Meet(work_[i].writes, work.reads) || Meet(work_[i].writes, work.writes)) return true;
    }
    return false;
  }

  // Writers of device memory take turns in the order of the program.
  bool TakeChannel(size_t index, const Work& work) {
    if (writers_.front() != index || channel_ > now_) return false;
    writers_.pop_front();
    channel_ = now_ + work.occupancy;
    return true;
  }

  bool AllQuiet() const {
    return std::all_of(units_.begin(), units_.end(), [&](const Unit& u) {
      return u.waiting.empty() && u.free <= now_ &&
             std::all_of(u.started.begin(), u.started.end(), [&](size_t i) { return Complete(i); });
    });
  }

  void StepScalar() {
    if (scalar_free_ > now_) return;
    const Issue& issue = issues_[next_];
    auto& time = times_.instructions[next_];
    if (issue.queue != kS) {
      Unit& unit = units_[issue.queue];
      if (int64_t(unit.waiting.size()) >= p_.queue_depth) return;
      if (Info(issue.op).cost != CostClass::kFlag) work_[next_] = WorkOf(issue);
      if (work_[next_].gm_write) writers_.push_back(next_);
      unit.waiting.push_back({next_, now_ + 4});
      time.dispatch = now_;
      scalar_free_ = now_ + 1;
      ++next_;
      return;
    }
    if (!scalar_seen_) time.dispatch = now_;
    scalar_seen_ = true;
    const bool all = issue.op == Op::kBAR && issue.v[0] == kAllQueues;
    if ((all || issue.op == Op::kHALT) && !AllQuiet()) return;
    if (issue.op == Op::kWAIT) {
      if (!flags_[Key(issue)]) return;
      flags_[Key(issue)] = false;
    }
    if (issue.op == Op::kSET) sets_.push_back({next_, now_ + 4});
    scalar_free_ = now_ + ScalarTime(issue, taken_[next_]);
    time.start = now_;
    time.done = scalar_free_;
    scalar_seen_ = false;
    if (issue.op == Op::kHALT) {
      halted_ = true;
      times_.cycles = scalar_free_;
    }
    ++next_;
  }

  static int64_t ScalarTime(const Issue& issue, bool taken) {
    if (issue.op == Op::kSLD) return 8;
    if (issue.op == Op::kSBR && taken) return 3;
    if (issue.op == Op::kSALU && issue.fn == kAluMul) return 3;
    if (issue.op == Op::kSALU && (issue.fn == kAluDivu || issue.fn == kAluRemu)) return 16;
    return 1;
  }

  static void Put(Bytes* out, uint64_t address, int64_t rows, int64_t row_bytes, int64_t stride) {
    for (int64_t r = 0; r < rows; ++r) {
      for (int64_t b = 0; b < row_bytes; b += 4)
        out->insert({int(address >> 60), int64_t(address << 4 >> 4) + r * stride + b});
    }
  }

  Work WorkOf(const Issue& i);
  int64_t Gm(uint64_t gm, int64_t rows, int64_t row_bytes, int64_t stride, bool write);
  void Matrix(const Issue& i, Work* w);
  void Vector(const Issue& i, Work* w);

  const std::vector<Issue>& issues_;
  const std::vector<bool>& taken_;
  const Preset p_;
  const bool l2_on_;
  L2List l2_;
  ReferenceTimes times_;
  std::vector<Work> work_;
  std::array<Unit, kNumQueues> units_;
  std::vector<SetInFlight> sets_;
  std::array<bool, 512> flags_{};
  std::deque<size_t> writers_;
  int64_t now_ = 0, channel_ = 0, scalar_free_ = 0;
  size_t next_ = 0;
  bool halted_ = false, scalar_seen_ = false;
};

// Setup, bursts, sectors: cycles of the channel.
int64_t Machine::Gm(uint64_t gm, int64_t rows, int64_t row_bytes, int64_t stride, bool write) {
  int64_t in = 0, out = 0;
  for (int64_t r = 0; r < rows; ++r) {
    const uint64_t row = gm + uint64_t(r * stride);
    int64_t extra = Up(row_bytes, p_.burst) * p_.burst - row_bytes + (row % 512 ? p_.burst : 0);
    for (int64_t b = 0; b < row_bytes;) {
      const int64_t piece =
          std::min<int64_t>(row_bytes - b, 512 - int64_t((row + uint64_t(b)) % 512));
      const bool hit = l2_on_ && l2_.Touch((row + uint64_t(b)) / 512);
      (hit ? in : out) += piece + extra;
      extra = 0;
      b += piece;
    }
  }
  if (write) {
    const double rate = std::min(p_.gm_port_write, l2_on_ ? p_.l2_write : p_.gm_write);
    return p_.dma_setup + At(in + out, rate);
  }
  // ceil(in / r1 + out / r2)
  const int64_t r1 = std::llround(p_.l2_read * 4), r2 = std::llround(p_.gm_read * 4);
  return p_.dma_setup + Up(in * 4 * r2 + out * 4 * r1, r1 * r2);
}

void Machine::Matrix(const Issue& i, Work* w) {
  const int64_t es = SizeOf(i.type()), m = int64_t(i.v[3]), k = int64_t(i.v[4]),
                n = int64_t(i.v[5]);
  const int64_t tk = es == 1 ? p_.tk_i8 : es == 2 ? p_.tk_f16 : p_.tk_f32;
  w->occupancy =
      Up(m, p_.tm) * Up(n, p_.tn) * Up(k, tk) * (es == 4 ? p_.matrix_cycles_f32 : p_.matrix_cycles);
  w->tail = p_.matrix_head;
  Put(&w->writes, i.v[0], 1, Up(m, 16) * Up(n, 16) * 1024, 0);
}

void Machine::Vector(const Issue& i, Work* w) {
  const int64_t es = SizeOf(i.type());
  const auto cost = [&](VectorClass c, int64_t beats) {
    const VectorCost& v = p_.vector[size_t(c)];
    w->occupancy = v.head + v.slope * beats;
    w->tail = v.tail;
  };
  if (i.op == Op::kVUN || i.op == Op::kVBINS) {
    const int at = i.op == Op::kVUN ? 2 : 3;
    const int64_t rows = int64_t(i.v[at]), cols = int64_t(i.v[at + 1]);
    const int64_t d_ld = int64_t(i.v[at + 2]), x_ld = int64_t(i.v[at + 3]), row = cols * es;
    const bool packed = rows == 1 || ((d_ld == 0 || d_ld == row) && x_ld == row);
    const int64_t beats =
        packed ? Up(rows * row, p_.vector_bytes) : rows * Up(row, p_.vector_bytes);
    if (i.op == Op::kVUN) {
      cost(i.fn == kUnExp ? VectorClass::kExp : VectorClass::kAbsNeg, beats);
    } else {
      cost(i.fn == kBinMul ? VectorClass::kMulScalar : VectorClass::kAddScalar, beats);
    }
    Put(&w->reads, i.v[1], rows, row, x_ld);
    Put(&w->writes, i.v[0], rows, row, d_ld ? d_ld : row);
    return;
  }
  FZ_CHECK(i.op == Op::kVRED && i.v[6] == kRedFull && es == 4);
  const int64_t rows = int64_t(i.v[2]), cols = int64_t(i.v[3]);
  const VectorCost& lanes = p_.vector[size_t(VectorClass::kGroupReduce)];
  const VectorCost& tree = p_.vector[size_t(VectorClass::kRowReduce)];
  w->occupancy = lanes.head + lanes.slope * rows * Up(cols * 4, p_.vector_bytes) +
                 tree.slope * rows * Up(256, p_.vector_bytes);
  w->tail = tree.tail;
  Put(&w->reads, i.v[1], rows, cols * 4, int64_t(i.v[5]));
  Put(&w->writes, i.v[0], rows, 4, i.v[4] ? int64_t(i.v[4]) : 4);
}

Work Machine::WorkOf(const Issue& i) {
  Work w;
  const int64_t es = SizeOf(i.type()), a = int64_t(i.v[2]), b = int64_t(i.v[3]);
  switch (i.op) {
    case Op::kLD:
      w.occupancy = Gm(i.v[1], a, b, int64_t(i.v[5]), false);
      w.tail = p_.gm_latency;
      Put(&w.writes, i.v[0], a, b, i.v[4] ? int64_t(i.v[4]) : b);
      break;
    case Op::kST:
      w.occupancy = Gm(i.v[0], a, b, i.v[4] ? int64_t(i.v[4]) : b, true);
      w.tail = p_.gm_write_latency;
      w.gm_write = true;
      Put(&w.reads, i.v[1], a, b, int64_t(i.v[5]));
      Put(&w.writes, i.v[0], a, b, i.v[4] ? int64_t(i.v[4]) : b);
      break;
    case Op::kCPL:
    case Op::kXU:
      w.occupancy = 16 + At(a * b, i.op == Op::kCPL ? p_.st_l1 : p_.xp_ub);
      w.tail = 8;
      Put(&w.reads, i.v[1], a, b, int64_t(i.v[5]));
      Put(&w.writes, i.v[0], a, b, i.v[4] ? int64_t(i.v[4]) : b);
      break;
    case Op::kXA:
    case Op::kXB: {
      const bool left = i.op == Op::kXA;
      const int64_t bytes = Up(left ? a : b, 16) * Up(left ? b : a, 32 / es) * 512;
      w.occupancy = 8 + At(bytes, left ? p_.xp_l0a : p_.xp_l0b);
      w.tail = 8;
      Put(&w.writes, i.v[0], 1, bytes, 0);
      break;
    }
    case Op::kMMUL:
      Matrix(i, &w);
      break;
    case Op::kDR: {
      w.occupancy = 16 + At(a * b * 4, p_.dr_ub);
      w.tail = 8;
      const int64_t ld = i.v[4] ? int64_t(i.v[4]) : b * es;
      w.gm_write = i.v[0] >> 60 == kGM;
      if (w.gm_write) {
        w.occupancy = std::max(w.occupancy, Gm(i.v[0], a, b * es, ld, true));
        w.tail += p_.gm_write_latency;
      }
      Put(&w.writes, i.v[0], a, b * es, ld);
      break;
    }
    default:
      Vector(i, &w);
  }
  return w;
}

}  // namespace

ReferenceTimes StepByCycle(const std::vector<Issue>& issues, const std::vector<bool>& taken,
                           const Preset& preset, const CycleOptions& options) {
  return Machine(issues, taken, preset, options).Run();
}

}  // namespace frazil::npu
