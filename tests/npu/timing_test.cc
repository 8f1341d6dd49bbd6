// The figures the cycle model was designed to give: profiles of the matrix unit, and how known
// schedules of known kernels fare.
#include "npu/timing.h"

#include "gtest/gtest.h"
#include "npu/cost.h"
#include "tests/npu/streams.h"

namespace frazil::npu {
namespace {

const Preset kDc16 = *FindPreset("dc16");
const Preset kEdge16 = *FindPreset("edge16");

Issue Mmul(uint64_t m, uint64_t k, uint64_t n, Type type) {
  Issue issue;
  issue.op = Op::kMMUL;
  issue.queue = kMM;
  issue.dt = type;
  issue.v = {Address(kL0C, 0), Address(kL0A, 0), Address(kL0B, 0), m, k, n};
  return issue;
}

Issue Load(uint64_t gm, uint64_t rows, uint64_t row_bytes, uint64_t stride) {
  Issue issue;
  issue.op = Op::kLD;
  issue.queue = kLD;
  issue.v = {Address(kL1, 0), kGmBase + gm, rows, row_bytes, 0, stride, 0};
  return issue;
}

Issue Vector(Op op, int fn, Type type, std::initializer_list<uint64_t> v) {
  Issue issue;
  issue.op = op;
  issue.queue = kVE;
  issue.fn = uint8_t(fn);
  issue.dt = type;
  std::copy(v.begin(), v.end(), issue.v.begin());
  return issue;
}

int64_t Total(const Cost& cost) { return cost.occupancy + cost.tail; }

TEST(Cost, MatrixProfiles) {
  EXPECT_EQ(Total(CostOf(Mmul(40, 50, 60, kF16), kDc16)), 54);
  EXPECT_EQ(Total(CostOf(Mmul(6, 7, 8, kI8), kDc16)), 7);
  EXPECT_EQ(Total(CostOf(Mmul(128, 128, 64, kF16), kDc16)), 262);
  EXPECT_EQ(Total(CostOf(Mmul(120, 110, 50, kF32), kDc16)), 902);
  EXPECT_EQ(Total(CostOf(Mmul(120, 110, 50, kBF16), kDc16)), 8 * 4 * 7 + 6);
  EXPECT_EQ(Total(CostOf(Mmul(16, 16, 16, kI8), kEdge16)), 32);
  EXPECT_EQ(Total(CostOf(Mmul(16, 16, 16, kF32), kEdge16)), 80);
}

TEST(Cost, BurstsAndSectors) {
  const auto gm = [](const Issue& issue, bool in_l2 = false) {
    return CostOf(issue, kDc16, in_l2).occupancy;
  };
  EXPECT_EQ(gm(Load(0, 1, 16384, 0)), 64 + 512);
  EXPECT_EQ(gm(Load(0, 1, 16384, 0), true), 64 + 149);
  EXPECT_EQ(gm(Load(64, 1, 16384, 0)), 64 + 514);     // one burst more
  EXPECT_EQ(gm(Load(0, 1, 1, 0)), 64 + 2);            // a burst at least
  EXPECT_EQ(gm(Load(0, 256, 512, 2048)), 64 + 4096);  // aligned rows
  EXPECT_EQ(gm(Load(0, 4, 256, 256)), 64 + (4 * 256 + 2 * 64) / 32);
  EXPECT_EQ(gm(Load(0, 1000, 64, 100)), 64 + (1000 * 64 + (1000 - 8) * 64) / 32);
  EXPECT_EQ(CostOf(Load(0, 1, 750, 0), kEdge16).occupancy, 32 + 103);  // ceil(768 / 7.5)
  EXPECT_EQ(CostOf(Load(0, 1, 750, 0), kEdge16).tail, 500);
}

TEST(Cost, BeatsOfPackedAndStridedRows) {
  const auto beats = [](const Issue& issue) { return BeatsOf(issue, kDc16); };
  const uint64_t ub = Address(kUB, 0);
  EXPECT_EQ(beats(Vector(Op::kVUN, kUnExp, kF32, {ub, ub, 8, 100, 0, 400})), 13);
  EXPECT_EQ(beats(Vector(Op::kVUN, kUnExp, kF32, {ub, ub, 8, 100, 0, 0})), 16);  // broadcast
  EXPECT_EQ(beats(Vector(Op::kVUN, kUnExp, kF32, {ub, ub, 8, 100, 512, 400})), 16);
  EXPECT_EQ(beats(Vector(Op::kVCVT, kF32, kF16, {ub, ub, 8, 100, 400, 200, 0})), 13);
  EXPECT_EQ(beats(Vector(Op::kVCMP, kCmpLt, kF32, {ub, ub, ub, 8, 64, 64, 256, 256})), 8);
  EXPECT_EQ(beats(Vector(Op::kVBINC, kBinSub, kF32, {ub, ub, ub, 8, 1, 4, 4, 0})), 8);
  EXPECT_EQ(beats(Vector(Op::kVTR, 0, kF32, {ub, ub, 32, 17, 128, 68})), 16);
}

TEST(Cost, ReductionIsLanesThenOneTreeARow) {
  const uint64_t ub = Address(kUB, 0);
  const auto cost = [&](int mode) {
    return CostOf(Vector(Op::kVRED, kRedSum, kF32, {ub, ub, 8, 1024, 0, 4096, uint64_t(mode)}),
                  kDc16);
  };
  EXPECT_EQ(cost(kRedFull).occupancy, 14 + 128 + 7 * 8);
  EXPECT_EQ(cost(kRedFull).tail, 32);
  EXPECT_EQ(cost(kRedFirst).occupancy, 14 + 128);
  EXPECT_EQ(cost(kRedFirst).tail, 24);
  EXPECT_EQ(cost(kRedFinal).occupancy, 14 + 7 * 8);
}

enum class L2 : uint8_t { kWarm, kCold, kOff };

double Utilisation(const GemmStream& g, L2 l2, const Preset& p, double peak) {
  CycleOptions options;
  options.l2 = l2 != L2::kOff;
  if (l2 == L2::kWarm) options.warm = GemmWindows(g);
  const Timing t = RunStream(Gemm(g), p, options);
  EXPECT_EQ(t.macs, g.m * g.n * g.k);
  return 100.0 * double(t.macs) / peak / double(t.cycles);
}

GemmStream Cube(int64_t size) {
  GemmStream g;
  g.m = g.n = g.k = size;
  return g;
}

constexpr double kPeak = 4096, kEdgePeak = 256;  // MAC a cycle, f16

void ExpectWithin(double value, double low, double high) {
  EXPECT_GE(value, low);
  EXPECT_LE(value, high);
}

TEST(Timing, GemmIsBoundByWhatItShouldBe) {
  const GemmStream g = Cube(1024);
  ExpectWithin(Utilisation(g, L2::kWarm, kDc16, kPeak), 95, 98.5);
  ExpectWithin(Utilisation(g, L2::kCold, kDc16, kPeak), 78, 90);
  ExpectWithin(Utilisation(g, L2::kOff, kDc16, kPeak), 45, 50);
  CycleOptions off;
  off.l2 = false;
  const Timing t = RunStream(Gemm(g), kDc16, off);
  EXPECT_GT(t.critical[kLD], t.cycles * 9 / 10);
  EXPECT_GT(t.queues[kLD].busy, t.cycles * 95 / 100);
}

TEST(Timing, GemmBySize) {
  ExpectWithin(Utilisation(Cube(256), L2::kWarm, kDc16, kPeak), 40, 55);
  ExpectWithin(Utilisation(Cube(512), L2::kWarm, kDc16, kPeak), 84, 90);
  ExpectWithin(Utilisation(Cube(2048), L2::kWarm, kDc16, kPeak), 98, 100);
}

TEST(Timing, GemmOnOneBufferIdlesHalf) {
  GemmStream g = Cube(1024);
  g.buffers = 1;
  g.load_ahead = false;
  ExpectWithin(Utilisation(g, L2::kWarm, kDc16, kPeak), 45, 56);
}

TEST(Timing, OrderOfIssueMatters) {
  GemmStream g = Cube(1024);
  g.load_ahead = false;
  ExpectWithin(Utilisation(g, L2::kWarm, kDc16, kPeak), 75, 92);
  g = Cube(1024);
  g.epilogue = 6;
  const double turns = Utilisation(g, L2::kWarm, kDc16, kPeak);
  g.interleave = false;
  const double block = Utilisation(g, L2::kWarm, kDc16, kPeak);
  ExpectWithin(block, 70, 88);
  EXPECT_GT(turns, block + 8);
}

// Dispatch runs ahead: neither shallow queues nor address arithmetic show.
TEST(Timing, GoodOrderNeedsNoDepth) {
  GemmStream g = Cube(1024);
  CycleOptions warm;
  warm.warm = GemmWindows(g);
  const int64_t cycles = RunStream(Gemm(g), kDc16, warm).cycles;
  Preset shallow = kDc16;
  shallow.queue_depth = 4;
  EXPECT_EQ(RunStream(Gemm(g), shallow, warm).cycles, cycles);
  g.scalars = 8;
  EXPECT_LE(RunStream(Gemm(g), kDc16, warm).cycles, cycles + 8);
}

TEST(Timing, GemmByType) {
  GemmStream g = Cube(1024);
  g.type = kI8;
  g.l0k = 128;
  EXPECT_GE(Utilisation(g, L2::kWarm, kDc16, 2 * kPeak), 93);
  g = Cube(1024);
  g.type = kF32;
  g.tk = 128;
  g.l0k = 32;
  EXPECT_GE(Utilisation(g, L2::kWarm, kDc16, kPeak / 4), 98);
}

TEST(Timing, GemmOnTheEdge) {
  GemmStream g = Cube(512);
  g.tm = g.tn = 128;
  g.l0m = 64;
  g.type = kI8;
  g.l0k = 64;
  EXPECT_GE(Utilisation(g, L2::kOff, kEdge16, kEdgePeak), 95);
  g.type = kF16;
  g.l0k = 32;
  EXPECT_GE(Utilisation(g, L2::kOff, kEdge16, kEdgePeak), 82);
  g.buffers = 1;
  g.load_ahead = false;
  ExpectWithin(Utilisation(g, L2::kOff, kEdge16, kEdgePeak), 36, 50);
}

// Share of the read rate of device memory.
double Streamed(const ChainStream& c) {
  CycleOptions options;
  options.l2 = false;
  const Timing t = RunStream(Chain(c), kDc16, options);
  EXPECT_EQ(t.gm_read, c.bytes);
  EXPECT_EQ(t.gm_write, c.bytes);
  return 100.0 * double(c.bytes) / kDc16.gm_read / double(t.cycles);
}

TEST(Timing, ElementwiseBySizeOfTile) {
  ChainStream c;
  EXPECT_GE(Streamed(c), 90);
  c.tile = 16 << 10;
  EXPECT_GE(Streamed(c), 85);
  c.tile = 2 << 10;
  EXPECT_LE(Streamed(c), 55);
  // The prototype gave the buffer back after all steps.
  const double expected[] = {93.0, 79.9, 55.3, 34.2, 19.4};
  for (int i = 0; i < 5; ++i) {
    c.free_early = false;
    c.tile = (32 << 10) >> i;
    ExpectWithin(Streamed(c), expected[i] * 0.97, expected[i] * 1.03);
  }
  c.tile = 32 << 10;
  c.buffers = 1;
  ExpectWithin(Streamed(c), 50, 53);
}

TEST(Timing, FusionPays) {
  using enum ChainStream::Step;
  CycleOptions options;
  options.l2 = false;
  ChainStream c;
  c.steps = {kMul, kAdd, kMul, kAdd, kMul, kAdd, kMul, kRelu};
  const int64_t fused = RunStream(Chain(c), kDc16, options).cycles;
  c.steps = {kMul};
  const int64_t one = RunStream(Chain(c), kDc16, options).cycles;
  EXPECT_GE(8 * one, 5 * fused);
}

TEST(Timing, SoftmaxIsBoundByTheVectorUnit) {
  CycleOptions options;
  options.l2 = false;
  const Timing t = RunStream(Softmax({}), kDc16, options);
  EXPECT_GE(100 * t.queues[kVE].busy, 85 * t.cycles);
}

}  // namespace
}  // namespace frazil::npu
