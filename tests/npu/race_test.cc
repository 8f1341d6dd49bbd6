// The checker against a slow second one: random programs with flags, every pair of accesses
// compared, order as paths in the graph of all instructions. And what the checker lets pass leaves
// the same memory under every schedule.
#include <algorithm>
#include <bitset>
#include <map>
#include <random>
#include <set>

#include "absl/container/flat_hash_set.h"
#include "npu/checker.h"
#include "npu/schedule.h"
#include "tests/npu/harness.h"

namespace frazil::npu {
namespace {

constexpr int kMost = 256;  // instructions of a block

// What the slow checker says: where, and which codes are right there.
struct Verdict {
  int block = 0;
  uint32_t pc = 0;
  std::set<FaultCode> codes;  // empty: no fault
};

struct Event {
  Issue issue;
  Accesses accesses;
  std::bitset<kMost> before;  // events of the block that are complete when it starts
};

bool ShareByte(const Access& a, const Access& b) {
  for (int64_t r = 0; r < a.rows; ++r) {
    for (int64_t s = 0; s < b.rows; ++s) {
      const uint64_t x = a.address + uint64_t(r * a.stride), y = b.address + uint64_t(s * b.stride);
      if (x < y + uint64_t(b.row_bytes) && y < x + uint64_t(a.row_bytes)) return true;
    }
  }
  return false;
}

// Events of one block with all that is ordered before each.
std::vector<Event> EventsOf(absl::Span<const Issue> issues) {
  std::vector<Event> events;
  std::array<int, kNumQueues> last;
  last.fill(-1);
  std::map<std::array<uint64_t, 3>, int> sets;
  for (const Issue& issue : issues) {
    Event e{issue, {}, {}};
    Fault fault;
    EXPECT_TRUE(AccessesOf(issue, &e.accesses, &fault));
    const auto after = [&](int i) {
      if (i < 0) return;
      e.before |= events[size_t(i)].before;
      e.before.set(size_t(i));
    };
    after(last[issue.queue]);
    after(last[kS]);  // dispatch
    if (issue.op == Op::kHALT || (issue.op == Op::kBAR && issue.queue == kS)) {
      for (size_t i = 0; i < events.size(); ++i) after(int(i));
    }
    const std::array<uint64_t, 3> flag{issue.v[0], issue.v[1], issue.v[2]};
    if (issue.op == Op::kWAIT) after(sets.at(flag));
    if (issue.op == Op::kSET) sets[flag] = int(events.size());
    last[issue.queue] = int(events.size());
    events.push_back(std::move(e));
  }
  return events;
}

FaultCode Kind(bool earlier_writes, bool writes) {
  return !writes ? FaultCode::kRaceRaw : earlier_writes ? FaultCode::kRaceWaw : FaultCode::kRaceWar;
}

class SlowChecker {
 public:
  Verdict Check(absl::Span<const std::vector<Issue>> blocks) {
    std::vector<Event> earlier;  // of other blocks
    for (size_t block = 0; block < blocks.size(); ++block) {
      const std::vector<Event> events = EventsOf(blocks[block]);
      written_.clear();
      std::map<std::array<uint64_t, 3>, size_t> waits;
      for (size_t i = 0; i < events.size(); ++i) {
        Verdict v{int(block), events[i].issue.pc, {}};
        Flags(events, i, &waits, &v);
        if (v.codes.empty()) Memory(events, i, earlier, &v);
        if (!v.codes.empty()) return v;
      }
      earlier.insert(earlier.end(), events.begin(), events.end());
    }
    return {};
  }

 private:
  void Flags(const std::vector<Event>& events, size_t i,
             std::map<std::array<uint64_t, 3>, size_t>* waits, Verdict* v) {
    const Issue& issue = events[i].issue;
    const std::array<uint64_t, 3> flag{issue.v[0], issue.v[1], issue.v[2]};
    if (issue.op == Op::kWAIT) (*waits)[flag] = i;
    if (issue.op == Op::kSET && waits->contains(flag) && !events[i].before.test(waits->at(flag)))
      v->codes.insert(FaultCode::kFlagOverflow);
  }

  void Memory(const std::vector<Event>& events, size_t i, const std::vector<Event>& earlier,
              Verdict* v) {
    for (const Access& a : events[i].accesses) {
      for (int64_t i = 0; i < a.rows * a.row_bytes; ++i) {
        const uint64_t at = a.address + uint64_t(i / a.row_bytes * a.stride + i % a.row_bytes);
        if (a.write) {
          written_.insert(at);
        } else if (a.space() != kGM && !written_.contains(at)) {
          v->codes.insert(FaultCode::kUninitRead);
        }
      }
      for (size_t j = 0; j < i; ++j) {
        if (!events[i].before.test(j)) Conflicts(events[j], a, v);
      }
      if (a.space() == kGM) {
        for (const Event& e : earlier) Conflicts(e, a, v);
      }
    }
  }

  static void Conflicts(const Event& other, const Access& a, Verdict* v) {
    for (const Access& o : other.accesses) {
      if ((o.write || a.write) && ShareByte(o, a)) v->codes.insert(Kind(o.write, a.write));
    }
  }

  absl::flat_hash_set<uint64_t> written_;
};

// --- programs -----------------------------------------------------------------------------------

// Data instructions on a few places that overlap, in queues that are often but not always ordered.
class Generator {
 public:
  // `large`: pieces of one and two KiB, which the checker has one record for.
  Generator(uint64_t seed, bool large) : random_(seed), large_(large) {}

  std::string Body() {
    text_ =
        "SLDP s1, #0\nSLDP s2, #1\nSCSR s3, #0\nSLDP s4, #2\nSALU.mul s4, s4, s3\n"
        "SALU.add s2, s2, s4\nLA s5, ub:0x0\nLA s6, l1:0x0\nSLI s10, 64\nSLI s13, 1024\n"
        "SLI s14, 2048\nSLI s15, 1100\n";
    StrAppend(&text_, "SLI s7, ", large_ ? 4096 : 512, "\n");
    if (Chance(8)) {
      text_ += "LD s5, s1, #1, s7, #0, #0, #0\nLD s6, s1, #1, s7, #0, #0, #0\n";
      Order(1, 4);
      if (Chance(8)) text_ += "BAR all\n";
    }
    sync_ = int(In(3, 10));
    int queue = -1;
    for (int64_t i = In(1, 14); i > 0; --i) {
      const int next = int(In(0, 4));
      if (queue >= 0 && In(0, 9) < sync_) Order(kQueueOf[queue], kQueueOf[next]);
      Data(next);
      queue = next;
      if (In(0, 9) == 0) RandomFlag();
    }
    for (const auto& flag : set_) text_ += Flag("WAIT", flag);
    return text_;
  }

 private:
  using FlagName = std::array<int, 3>;
  static constexpr int kQueueOf[] = {kLD, kXP, kVE, kST, kST};

  int64_t In(int64_t low, int64_t high) {
    return low + int64_t(random_() % uint64_t(high - low + 1));
  }
  bool Chance(int of_ten) { return In(0, 9) < of_ten; }
  std::string Flag(std::string_view op, const FlagName& f) {
    return StrCat(op, " ", Name(Queue(f[0])), ">", Name(Queue(f[1])), ", #", f[2], "\n");
  }
  void Toggle(const FlagName& f) {
    const bool set = set_.contains(f);
    text_ += Flag(set ? "WAIT" : "SET", f);
    set ? void(set_.erase(f)) : void(set_.insert(f));
  }
  // The second queue goes on after the first.
  void Order(int from, int to) {
    if (from == to) return;
    if (Chance(1)) {
      text_ += "BAR all\n";
      return;
    }
    const FlagName f{from, to, int(In(0, 1))};
    Toggle(f);
    if (Chance(9)) Toggle(f);
  }
  void RandomFlag() {
    const int from = int(In(0, 6)), to = int(In(0, 6));
    if (from != to) Toggle({from, to, int(In(0, 1))});
  }
  // A register with a place near the base.
  std::string Place(int reg, int base) {
    StrAppend(&text_, "SLI s", reg, ", ", In(0, 1) * (large_ ? 512 * In(1, 2) : 32), "\nSALU.add s",
              reg, ", s", reg, ", s", base, "\n");
    return StrCat("s", reg);
  }
  // Rows and bytes of a row; strides of the two operands in local memory.
  void Data(int kind) {
    const bool rows = !large_ && Chance(3);
    const std::string shape = large_
                                  ? StrCat("#1, s", In(13, 15))
                                  : StrCat(rows ? "#2" : "#1", ", #",
                                           Chance(3) ? In(1, 31) : 16 * (rows ? 1 : In(0, 1)) + 15);
    const std::string stride = rows ? "s10" : "#0";
    switch (kind) {
      case 0: {
        const int base = Chance(3) ? 6 : 5;
        const std::string to = Place(11, base);
        StrAppend(&text_, "LD ", to, ", ", Chance(3) ? "s2" : "s1", ", ", shape, ", ", stride, ", ",
                  stride, ", #", In(0, 1), "\n");
        break;
      }
      case 1: {
        const std::string to = Place(11, 5), from = Place(12, 6);
        StrAppend(&text_, "XU ", to, ", ", from, ", ", shape, ", ", stride, ", ", stride, "\n");
        break;
      }
      case 2: {
        const std::string to = Place(11, 5);
        if (Chance(2)) {
          StrAppend(&text_, "VDUP.u8 ", to, ", s3, ", shape, ", ", stride, "\n");
        } else {
          const std::string from = Chance(5) ? Place(12, 5) : to;
          StrAppend(&text_, "VUN.neg.i8 ", to, ", ", from, ", ", shape, ", ", stride, ", ", stride,
                    "\n");
        }
        break;
      }
      case 3: {
        const std::string to = Place(11, 6), from = Place(12, 5);
        StrAppend(&text_, "CPL ", to, ", ", from, ", ", shape, ", ", stride, ", ", stride, "\n");
        break;
      }
      default: {
        const std::string from = Place(12, 5);
        StrAppend(&text_, "SALU.add s11, s2, #", In(0, 20), "\nST s11, ", from, ", ", shape, ", ",
                  stride, ", ", stride, "\n");
        if (Chance(2)) StrAppend(&text_, "SLD s20, ", Place(12, 5), "\n");
      }
    }
  }

  std::mt19937_64 random_;
  const bool large_;
  std::string text_;
  std::set<FlagName> set_;
  int sync_ = 9;
};

std::vector<uint8_t> Bytes(int n) {
  std::vector<uint8_t> bytes(static_cast<size_t>(n));
  for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = uint8_t(i * 7 + i / 251);
  return bytes;
}

struct Prepared {
  explicit Prepared(uint64_t block_stride) {
    h.Input(Bytes(4096));
    out = h.Output(4096);
    h.Number(block_stride);
  }
  Harness h;
  int out;
};

TEST(Races, AgreeWithTheSlowChecker) {
  std::map<FaultCode, int> codes;
  int passes = 0, illegal = 0;
  for (uint64_t seed = 1; seed <= 3000; ++seed) {
    const std::string body = Generator(seed, seed % 10 == 0).Body();
    const int blocks = seed % 4 == 0 ? 3 : 1;
    Prepared p(seed % 8 == 0 ? 128 : 40);
    LaunchOptions options;
    options.blocks = blocks;
    // What each block issues; programs with other faults are no matter of the checker.
    const Program program = *p.h.Parse(body);
    std::vector<std::vector<Issue>> issues;
    const std::optional<Fault> other = p.h.Record(program, blocks, &issues);
    if (other) {
      ++illegal;
      continue;
    }
    const Verdict want = SlowChecker().Check(issues);
    options.mode = Mode::kCheck;
    const StatusOr<LaunchResult> got = p.h.Launch(program, options);
    ASSERT_TRUE(got.ok()) << got.status().ToString();
    if (want.codes.empty()) {
      ASSERT_FALSE(got->fault) << seed << "\n" << got->fault->Text() << "\n" << body;
      ++passes;
      continue;
    }
    ASSERT_TRUE(got->fault) << seed << " pc " << want.pc << " " << Name(*want.codes.begin()) << "\n"
                            << body;
    EXPECT_EQ(got->fault->pc, want.pc) << seed << "\n" << got->fault->Text() << "\n" << body;
    EXPECT_EQ(got->fault->block, want.block) << seed;
    ASSERT_TRUE(want.codes.contains(got->fault->code))
        << seed << " " << Name(*want.codes.begin()) << "\n"
        << got->fault->Text() << "\n"
        << body;
    ++codes[got->fault->code];
  }
  // All kinds are among them, and enough that pass.
  EXPECT_GT(passes, 300);
  EXPECT_LT(illegal, 150);  // half of a source overwritten
  for (const FaultCode code : {FaultCode::kRaceRaw, FaultCode::kRaceWar, FaultCode::kRaceWaw,
                               FaultCode::kUninitRead, FaultCode::kFlagOverflow})
    EXPECT_GT(codes[code], 20) << Name(code);
}

// Programs that pass leave one memory; programs that race are told apart by some schedule.
TEST(Races, SchedulesAgreeWhereThereIsNone) {
  int passes = 0, races = 0, differ = 0;
  for (uint64_t seed = 1; seed <= 1500; ++seed) {
    const std::string body = Generator(seed, seed % 3 == 0).Body();
    const auto run = [&](Mode mode, Schedule schedule, std::vector<uint8_t>* out) {
      Prepared p(128);
      LaunchOptions options;
      options.mode = mode;
      options.schedule = schedule;
      options.seed = seed;
      const StatusOr<LaunchResult> result = p.h.Launch(*p.h.Parse(body), options);
      EXPECT_TRUE(result.ok()) << result.status().ToString();
      if (out) *out = p.h.Get<uint8_t>(p.out);
      return result->fault;
    };
    bool differs = false;
    std::vector<uint8_t> program_order;
    const std::optional<Fault> fault = run(Mode::kRun, Schedule::kProgram, &program_order);
    if (fault) continue;
    const std::optional<Fault> race = run(Mode::kCheck, Schedule::kProgram, nullptr);
    for (const Schedule schedule :
         {Schedule::kTiming, Schedule::kEager, Schedule::kLazy, Schedule::kRandom}) {
      if (!race) {
        const std::optional<Fault> fault = run(Mode::kCheck, schedule, nullptr);
        ASSERT_FALSE(fault) << seed << "\n" << fault->Text() << "\n" << body;
      }
      std::vector<uint8_t> out;
      ASSERT_FALSE(run(Mode::kRun, schedule, &out)) << seed;
      differs |= out != program_order;
    }
    ++(race ? races : passes);
    if (race) differ += differs;
    if (!race) {
      ASSERT_FALSE(differs) << seed << "\n" << body;
    }
  }
  EXPECT_GT(passes, 150);
  EXPECT_GT(races, 150);
  EXPECT_GT(differ, races / 4);  // others lie in bytes that are stored nowhere
}

}  // namespace
}  // namespace frazil::npu
