// Moves, packing, the matrix unit and the drain against plain loops.
#include "npu/matrix.h"

#include <cmath>
#include <random>

#include "tests/npu/harness.h"
#include "tests/npu/model.h"

namespace frazil::npu {
namespace {

std::mt19937_64& Random() {
  static std::mt19937_64 random(7);
  return random;
}
int64_t In(int64_t low, int64_t high) {
  return low + int64_t(Random()() % uint64_t(high - low + 1));
}

// Elements of a type, as bits.
struct Matrix {
  Type type;
  int64_t rows, cols;
  std::vector<uint8_t> bytes;

  uint32_t At(int64_t r, int64_t c) const {
    return model::Get(type, &bytes[size_t((r * cols + c) * SizeOf(type))]);
  }
};

Matrix MakeMatrix(Type type, int64_t rows, int64_t cols) {
  Matrix m{type, rows, cols, std::vector<uint8_t>(size_t(rows * cols * SizeOf(type)))};
  for (int64_t i = 0; i < rows * cols; ++i) {
    const double x = double(In(-(1 << 24), 1 << 24)) / (1 << 22);
    model::Put(type, IsFloat(type) ? model::Encode(type, x) : uint32_t(Random()()),
               &m.bytes[size_t(i * SizeOf(type))]);
  }
  return m;
}

// The definition, on bits of f32 or i32.
uint32_t Dot(const Matrix& a, const Matrix& b, bool ta, bool tb, int64_t i, int64_t j, int64_t k,
             uint32_t start) {
  if (!IsFloat(a.type)) {
    uint32_t acc = start;
    for (int64_t l = 0; l < k; ++l)
      acc += uint32_t(int32_t(model::Decode(a.type, ta ? a.At(l, i) : a.At(i, l))) *
                      int32_t(model::Decode(b.type, tb ? b.At(j, l) : b.At(l, j))));
    return acc;
  }
  float acc = float(model::Decode(kF32, start));
  for (int64_t l = 0; l < k; ++l)
    acc = std::fma(float(model::Decode(a.type, ta ? a.At(l, i) : a.At(i, l))),
                   float(model::Decode(b.type, tb ? b.At(j, l) : b.At(l, j))), acc);
  return std::bit_cast<uint32_t>(acc);
}

std::string Set(int reg, int64_t value) { return StrCat("SLI s", reg, ", ", value, "\n"); }

// a @ b, twice if `again` (the second time onto the first), into rows of 32-bit accumulators.
void TryProduct(Type type, int64_t m, int64_t k, int64_t n, bool ta, bool tb, bool again) {
  const Matrix a = MakeMatrix(type, ta ? k : m, ta ? m : k);
  const Matrix b = MakeMatrix(type, tb ? n : k, tb ? k : n);
  Harness h;
  h.Input(a.bytes);
  h.Input(b.bytes);
  const int out = h.Output(size_t(m * n * 4));
  const auto stride = [&](const Matrix& x) { return (x.cols * SizeOf(type) + 31) / 32 * 32 + 32; };
  const std::string t(Name(type));
  const std::string drain = IsFloat(type) ? "DR.f32" : "DR.i32.i32";
  h.Run(StrCat("SLDP s1, #0\nSLDP s2, #1\nSLDP s3, #2\nLA s4, l1:0x0\nLA s5, l1:0x80000\n"
               "LA s6, l0a:0x0\nLA s7, l0b:0x200\nLA s8, l0c:0x400\nLA s9, ub:0x0\n",
               Set(10, m), Set(11, k), Set(12, n), Set(13, a.rows), Set(14, b.rows),
               Set(15, a.cols * SizeOf(type)), Set(16, b.cols * SizeOf(type)), Set(17, stride(a)),
               Set(18, stride(b)), Set(19, n * 4),
               "LD s4, s1, s13, s15, s17, s15, #0\nLD s5, s2, s14, s16, s18, s16, #0\nBAR all\n",
               ta ? "XA.t." : "XA.", t, " s6, s4, s10, s11, s17\n", tb ? "XB.t." : "XB.", t,
               " s7, s5, s11, s12, s18\nBAR all\nMMUL.", t, " s8, s6, s7, s10, s11, s12\n",
               again ? StrCat("MMUL.acc.", t, " s8, s6, s7, s10, s11, s12\n") : std::string(),
               "BAR all\n", drain, " s9, s8, s10, s12, #0, #0\nBAR all\n",
               "ST s3, s9, s10, s19, s19, s19\n"),
        {.mode = Mode::kCheck});
  const std::vector<uint32_t> got = h.Get<uint32_t>(out);
  ASSERT_EQ(got.size(), size_t(m * n));
  const Type result = IsFloat(type) ? kF32 : kI32;
  for (int64_t i = 0; i < m; ++i) {
    for (int64_t j = 0; j < n; ++j) {
      uint32_t want = Dot(a, b, ta, tb, i, j, k, 0);
      if (again) want = Dot(a, b, ta, tb, i, j, k, want);
      ASSERT_TRUE(model::Same(result, got[size_t(i * n + j)], want))
          << t << " " << m << "x" << k << "x" << n << " at " << i << ", " << j << ": "
          << model::Decode(result, got[size_t(i * n + j)]) << " want "
          << model::Decode(result, want);
    }
  }
}

TEST(MatrixUnit, Products) {
  for (const Type type : {kF32, kF16, kBF16, kI8, kU8}) {
    for (int i = 0; i < 16; ++i)
      TryProduct(type, In(1, 50), In(1, 70), In(1, 50), i & 1, i & 2, i & 4);
    TryProduct(type, 16, 32, 16, false, false, false);
    TryProduct(type, 1, 200, 1, false, true, true);
  }
}

TEST(MatrixUnit, TilesAreTheSameOnAllHosts) {
  std::vector<HostIsa> isas{HostIsa::kPlain};
  if (Host() >= HostIsa::kAvx2) isas.push_back(HostIsa::kAvx2);
  if (Host() >= HostIsa::kAvx512) isas.push_back(HostIsa::kAvx512);
  const int64_t k = 37;
  std::vector<float> a(k * 16), b(k * 16), start(256);
  std::vector<int16_t> ia(k * 32), ib(k * 32);
  for (auto* v : {&a, &b, &start}) {
    for (float& x : *v) x = float(In(-1000000, 1000000)) / 65536;
  }
  for (auto* v : {&ia, &ib}) {
    for (int16_t& x : *v) x = int16_t(In(-128, 255));
  }
  for (const bool accumulate : {false, true}) {
    std::vector<std::vector<float>> floats;
    std::vector<std::vector<float>> integers;  // bits
    for (const HostIsa isa : isas) {
      floats.push_back(start);
      FloatTile(isa)({a.data(), b.data(), k, accumulate, floats.back().data()});
      integers.push_back(start);
      IntegerTile(isa)({ia.data(), ib.data(), k, accumulate, integers.back().data()});
      EXPECT_EQ(std::memcmp(floats[0].data(), floats.back().data(), 1024), 0);
      EXPECT_EQ(std::memcmp(integers[0].data(), integers.back().data(), 1024), 0);
    }
    EXPECT_NE(std::memcmp(floats[0].data(), start.data(), 1024), 0);
  }
}

// What DR makes of one accumulator.
uint32_t Drained(uint32_t acc, Type type, int fn, float scale) {
  double x = model::Decode(fn & kDrainI32 ? kI32 : kF32, acc);
  bool floats = !(fn & kDrainI32);
  if (fn & kDrainScale) {
    x = double(float(x) * scale);
    floats = true;
  }
  if (fn & kDrainRelu) x = x != x ? x : x > 0 ? x : 0;
  if (IsFloat(type)) return model::Encode(type, x);
  if (floats) {
    if (x != x) return 0;
    x = std::nearbyint(x);
    const double low = type == kU32 ? 0 : -2147483648.0;
    x = std::max(low, std::min(x, type == kU32 ? 4294967295.0 : 2147483647.0));
  }
  if (fn & kDrainSaturate) {
    const double span = std::ldexp(1, SizeOf(type) * 8);
    const double low = type == kI8 || type == kI32 ? -span / 2 : 0;
    x = std::max(low, std::min(x, low + span - 1));
  }
  return model::Encode(type, x);
}

// Accumulators come from a product with one 1 in a row.
void TryDrain(Type type, int fn, bool to_gm) {
  const bool integers = fn & kDrainI32;
  const int64_t m = In(1, 20), n = In(1, 40);
  const Type operand = integers ? kI8 : kF32;
  Matrix b = MakeMatrix(operand, m, n);
  Matrix a = MakeMatrix(operand, m, m);
  for (int64_t i = 0; i < m; ++i) {
    for (int64_t j = 0; j < m; ++j)
      model::Put(operand, i == j ? model::Encode(operand, integers ? 100 : 40) : 0,
                 &a.bytes[size_t((i * m + j) * SizeOf(operand))]);
  }
  const float scale = -1.75f;
  Harness h;
  h.Input(a.bytes);
  h.Input(b.bytes);
  const int out = h.Output(size_t(m * n * SizeOf(type)));
  h.Number(std::bit_cast<uint32_t>(scale));
  const std::string t(Name(operand)), name(Info(Op::kDR).functions[size_t(fn)]);
  const std::string dr = StrCat("DR", name.empty() ? "" : ".", name, ".", Name(type));
  h.Run(StrCat("SLDP s1, #0\nSLDP s2, #1\nSLDP s3, #2\nSLDP s20, #3\nLA s4, l1:0x0\nLA s5, "
               "l1:0x8000\nLA s6, l0a:0x0\nLA s7, l0b:0x0\nLA s8, l0c:0x0\nLA s9, ub:0x0\n",
               Set(10, m), Set(12, n), Set(15, m * SizeOf(operand)), Set(16, n * SizeOf(operand)),
               Set(17, 512), Set(19, n * SizeOf(type)), Set(21, 192),
               "LD s4, s1, s10, s15, s17, s15, #0\nLD s5, s2, s10, s16, s17, s16, #0\nBAR all\n",
               "XA.", t, " s6, s4, s10, s10, s17\nXB.", t, " s7, s5, s10, s12, s17\nBAR all\nMMUL.",
               t, " s8, s6, s7, s10, s10, s12\nBAR all\n", dr,
               to_gm ? " s3, s8, s10, s12, s19, s20\n"
                     : " s9, s8, s10, s12, s21, s20\nBAR all\nST s3, s9, s10, s19, s19, s21\n"),
        {.mode = Mode::kCheck});
  const std::vector<uint8_t> got = h.Get<uint8_t>(out);
  for (int64_t i = 0; i < m; ++i) {
    for (int64_t j = 0; j < n; ++j) {
      const uint32_t acc = Dot(a, b, false, false, i, j, m, 0);
      const uint32_t want = Drained(acc, type, fn, scale);
      const uint32_t g = model::Get(type, &got[size_t((i * n + j) * SizeOf(type))]);
      ASSERT_TRUE(model::Same(type, g, want))
          << dr << " at " << i << ", " << j << ": " << model::Decode(type, g) << " want "
          << model::Decode(type, want);
    }
  }
}

TEST(MatrixUnit, Drains) {
  for (int type = 0; type < kNumTypes; ++type) {
    for (int fn = 0; fn < 16; ++fn) TryDrain(Type(type), fn, fn % 3 == 0);
  }
}

TEST(Moves, RowsStridesAndPads) {
  std::vector<uint8_t> x(4096);
  for (uint8_t& b : x) b = uint8_t(Random()());
  for (int i = 0; i < 20; ++i) {
    const int64_t rows = In(1, 7), bytes = In(1, 90), pad = In(0, 1) * In(0, 40);
    const int64_t gm_ld = In(0, 3) ? bytes + In(0, 9) : 0, skip = In(0, 33);
    const int64_t local_ld = (bytes + pad + 31) / 32 * 32, out_ld = bytes + pad + In(0, 5);
    Harness h;
    h.Input(x);
    const int out = h.Output(2048);
    // GM, UB, L1, UB again, GM: every mover; rows go back with their pads.
    h.Run(StrCat("SLDP s1, #0\nSLDP s2, #1\nLA s3, ub:0x0\nLA s4, l1:0x1000\nLA s5, ub:0x2000\n",
                 Set(6, rows), Set(7, bytes), Set(8, local_ld), Set(9, gm_ld), Set(10, pad),
                 Set(11, bytes + pad), Set(12, out_ld), Set(13, skip),
                 "SALU.add s1, s1, s13\nLD s3, s1, s6, s7, s8, s9, s10\nBAR all\n"
                 "CPL s4, s3, s6, s11, s8, s8\nBAR all\nXU s5, s4, s6, s11, s8, s8\nBAR all\n"
                 "ST s2, s5, s6, s11, s12, s8\n"),
          {.mode = Mode::kCheck});
    std::vector<uint8_t> want(2048);
    for (int64_t r = 0; r < rows; ++r) {
      for (int64_t c = 0; c < bytes; ++c)
        want[size_t(r * out_ld + c)] = x[size_t(skip + r * gm_ld + c)];
    }
    ASSERT_EQ(h.Get<uint8_t>(out), want) << i;
  }
}

TEST(Moves, MemoryBeginsAsA5) {
  Harness h;
  const int out = h.Output(64);
  h.Run("SLDP s1, #0\nLA s2, ub:0x40\nSLI s3, 64\nST s1, s2, #1, s3, #0, #0");
  EXPECT_EQ(h.Get<uint8_t>(out), std::vector<uint8_t>(64, 0xA5));
}

}  // namespace
}  // namespace frazil::npu
