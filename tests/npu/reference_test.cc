// The event model against the machine stepped cycle by cycle, and properties that hold for every
// program.
#include "tests/npu/reference.h"

#include <list>
#include <numeric>

#include "gtest/gtest.h"
#include "npu/metrics.h"
#include "npu/sector_cache.h"
#include "tests/npu/random_issues.h"

namespace frazil::npu {
namespace {

constexpr int kPrograms = 1000;

Timing Model(const RandomStream& s, const Preset& preset, const CycleOptions& options) {
  const std::unique_ptr<CycleModel> model = MakeCycleModel(preset, options);
  Fault fault;
  for (size_t i = 0; i < s.issues.size(); ++i) {
    EXPECT_TRUE(model->On(s.issues[i], s.taken[i], &fault)) << i << ": " << fault.detail;
  }
  return model->Finish();
}

TEST(Reference, EqualsTheEventModelExactly) {
  std::mt19937_64 rng(7);
  for (int program = 0; program < kPrograms; ++program) {
    const RandomStream s = MakeRandomStream(&rng, 20 + int(rng() % 100));
    const Preset preset = MakeRandomPreset(&rng);
    CycleOptions options;
    options.record = true;
    if (rng() % 2) options.warm = {{kGmBase, 1024}};
    const Timing timing = Model(s, preset, options);
    const ReferenceTimes times = StepByCycle(s.issues, s.taken, preset, options);
    ASSERT_EQ(timing.events.size(), s.issues.size());
    for (size_t i = 0; i < s.issues.size(); ++i) {
      const Timed& t = timing.events[i];
      const auto& r = times.instructions[i];
      ASSERT_TRUE(t.dispatch == r.dispatch && t.start == r.start && t.done == r.done)
          << "program " << program << " instruction " << i << " " << Info(t.op).name << ": model "
          << t.dispatch << " " << t.start << " " << t.done << ", stepped " << r.dispatch << " "
          << r.start << " " << r.done;
    }
    ASSERT_EQ(timing.cycles, times.cycles) << program;
  }
}

// What every run must satisfy.
void CheckConservation(const Timing& t) {
  for (int q = 0; q < kNumQueues; ++q) {
    const QueueTotals& totals = t.queues[q];
    const int64_t sum =
        std::accumulate(totals.flag_stall.begin(), totals.flag_stall.end(),
                        totals.busy + totals.sync + totals.dependence_stall + totals.barrier_stall +
                            totals.channel_stall + totals.slot_stall + totals.idle);
    ASSERT_EQ(sum, t.cycles) << Name(Queue(q));
  }
  ASSERT_EQ(std::accumulate(t.critical.begin(), t.critical.end(), int64_t{0}), t.cycles);
  ASSERT_EQ(std::accumulate(t.dispatch_full.begin(), t.dispatch_full.end(), int64_t{0}),
            t.queues[kS].slot_stall);
  std::array<int64_t, kNumQueues> free{};
  int64_t read = 0, channel = 0;
  for (const Timed& e : t.events) {
    ASSERT_GE(e.start, free[e.queue]);
    ASSERT_GE(e.free, e.start);
    ASSERT_GE(e.done, e.free);
    ASSERT_LE(e.done, t.cycles);
    ASSERT_LT(e.after, int32_t(&e - t.events.data()));
    free[e.queue] = e.free;
    if (e.op == Op::kLD) read += e.bytes;
    if (e.op == Op::kST) {
      ASSERT_GE(e.start, channel);
      channel = e.free;
    }
  }
  ASSERT_EQ(read, t.gm_read);
}

TEST(Properties, NothingIsLost) {
  std::mt19937_64 rng(11);
  for (int program = 0; program < kPrograms; ++program) {
    const RandomStream s = MakeRandomStream(&rng, 100);
    CycleOptions options;
    options.record = true;
    KernelReport report;
    report.preset = MakeRandomPreset(&rng);
    report.timing = Model(s, report.preset, options);
    CheckConservation(report.timing);
    for (double roof : Measure(report).roof) ASSERT_LE(roof, double(report.timing.cycles));
    if (HasFatalFailure()) FAIL() << "program " << program;
  }
}

// With L2 off no cost that grows makes a program end earlier.
TEST(Properties, MoreCostNeverEndsEarlier) {
  std::mt19937_64 rng(13);
  CycleOptions options;
  options.l2 = false;
  for (int program = 0; program < kPrograms; ++program) {
    const RandomStream s = MakeRandomStream(&rng, 100);
    const Preset base = MakeRandomPreset(&rng);
    const int64_t cycles = Model(s, base, options).cycles;
    Preset slow = base;
    switch (rng() % 8) {
      case 0:
        slow.gm_latency += 17;
        break;
      case 1:
        slow.dma_setup += 3;
        break;
      case 2:
        slow.matrix_head += 5;
        break;
      case 3:
        slow.gm_read /= 2;
        break;
      case 4:
        slow.gm_write /= 2;
        break;
      case 5:
        slow.queue_depth = std::max(1, slow.queue_depth - 3);
        break;
      case 6:
        slow.vector[rng() % slow.vector.size()].slope += 2;
        break;
      default:
        slow.vector[rng() % slow.vector.size()].tail += 9;
    }
    ASSERT_GE(Model(s, slow, options).cycles, cycles) << program;
  }
}

// All costs of the preset times c: the fixed ones of dispatch and flags stay.
TEST(Properties, Scaling) {
  std::mt19937_64 rng(17);
  CycleOptions options;
  options.l2 = false;
  for (int program = 0; program < kPrograms; ++program) {
    const RandomStream s = MakeRandomStream(&rng, 100);
    const Preset base = MakeRandomPreset(&rng);
    constexpr int kTimes = 4;
    Preset slow = base;
    for (double* rate : {&slow.gm_read, &slow.gm_write, &slow.gm_port_write, &slow.xp_l0a,
                         &slow.xp_l0b, &slow.xp_ub, &slow.dr_ub, &slow.st_l1}) {
      *rate /= kTimes;
    }
    for (int* cost : {&slow.gm_latency, &slow.gm_write_latency, &slow.dma_setup, &slow.matrix_head,
                      &slow.matrix_cycles, &slow.matrix_cycles_f32}) {
      *cost *= kTimes;
    }
    for (VectorCost& v : slow.vector) v = {v.head * kTimes, v.slope * kTimes, v.tail * kTimes};
    const int64_t cycles = Model(s, base, options).cycles, scaled = Model(s, slow, options).cycles;
    ASSERT_GE(scaled, cycles) << program;
    ASSERT_LE(scaled, kTimes * cycles) << program;
  }
}

// Against the definition: a list, the newest in front.
TEST(SectorCache, IsLeastRecentlyUsed) {
  std::mt19937_64 rng(19);
  for (int64_t capacity : {0, 1, 3, 64, 200}) {
    SectorCache cache(capacity);
    std::list<uint64_t> list;
    for (int i = 0; i < 20000; ++i) {
      // Runs of neighbours, far apart.
      const uint64_t sector = rng() % 8 * 1000 + uint64_t(i % 40) + rng() % 3;
      const auto it = std::find(list.begin(), list.end(), sector);
      const bool in = it != list.end();
      if (i % 500 == 0 && !in && int64_t(list.size()) < capacity) {
        ASSERT_TRUE(cache.Warm(sector));
      } else {
        ASSERT_EQ(cache.Touch(sector), in) << "capacity " << capacity << " step " << i;
      }
      if (in) list.erase(it);
      list.push_front(sector);
      if (int64_t(list.size()) > capacity) list.pop_back();
    }
  }
}

// Blocks that one core runs one after another take the sum of their times; a launch takes as long
// as its slowest core.
TEST(CombineCores, TimeOfTheSlowestAndWorkOfAll) {
  std::mt19937_64 rng(23);
  const Preset preset = MakeRandomPreset(&rng);
  CycleOptions options;
  options.record = true;
  options.l2 = false;
  const RandomStream a = MakeRandomStream(&rng, 100), b = MakeRandomStream(&rng, 200);
  RandomStream both = a;
  both.issues.insert(both.issues.end(), b.issues.begin(), b.issues.end());
  both.taken.insert(both.taken.end(), b.taken.begin(), b.taken.end());
  const Timing one = Model(a, preset, options), two = Model(b, preset, options);
  EXPECT_EQ(Model(both, preset, options).cycles, one.cycles + two.cycles);
  const Timing all = CombineCores({one, two});
  EXPECT_EQ(all.cycles, std::max(one.cycles, two.cycles));
  EXPECT_EQ(all.cores, 2);
  EXPECT_EQ(all.gm_read, one.gm_read + two.gm_read);
  EXPECT_EQ(all.macs, one.macs + two.macs);
  ASSERT_EQ(all.events.size(), one.events.size() + two.events.size());
  for (size_t i = 0; i < all.events.size(); ++i) {
    EXPECT_EQ(all.events[i].core, i >= one.events.size());
    EXPECT_LT(all.events[i].after, int32_t(i));
  }
}

// The model does not guess what a program that breaks the flag rules would do.
TEST(CycleModel, BrokenFlagRulesAreFaults) {
  const auto fault = [](std::initializer_list<Op> ops) {
    const std::unique_ptr<CycleModel> model = MakeCycleModel(*FindPreset("dc16"), {});
    Fault fault;
    for (Op op : ops) {
      Issue issue;
      issue.op = op;
      issue.queue = op == Op::kSET ? kLD : op == Op::kWAIT ? kVE : kS;
      if (op != Op::kHALT) issue.v = {kLD, kVE, 3};
      if (!model->On(issue, false, &fault)) return StrCat(Name(fault.code), " ", fault.detail);
    }
    return std::string("none");
  };
  EXPECT_EQ(fault({Op::kWAIT}), "FLAG_ORDER LD>VE #3");
  EXPECT_EQ(fault({Op::kSET, Op::kSET}), "FLAG_OVERFLOW LD>VE #3");
  EXPECT_EQ(fault({Op::kSET, Op::kHALT}), "FLAG_LEAK LD>VE #3");
  EXPECT_EQ(fault({Op::kSET, Op::kWAIT, Op::kHALT}), "none");
}

}  // namespace
}  // namespace frazil::npu
