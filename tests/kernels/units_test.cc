// Products by the units for short integers and bfloat16 (VNNI, AMX) and by what stands in for them,
// against the plain definition, bit for bit.
#include <gtest/gtest.h>
#include <xmmintrin.h>

#include <bit>
#include <random>
#include <vector>

#include "core/cpu.h"
#include "kernels/gemm/gemm.h"
#include "kernels/gemm/reference.h"
#include "tests/kernels/gemm_check.h"

namespace frazil {
namespace {

constexpr Layout kInputs[] = {Layout::kRows, Layout::kColumns, Layout::kGeneral};

// What is blocked or ends within a tile, a vector or a word; `check` gets a shape and layouts.
template <typename CheckOne>
void EachSmallSize(const CheckOne& check) {
  int turn = 0;
  for (const int64_t k : {1, 2, 3, 4, 5, 31, 32, 33, 63, 64, 65, 70, 128}) {
    for (const int64_t m : {1, 2, 7, 15, 16, 17, 31, 32, 33, 48, 64, 70}) {
      for (const int64_t n : {1, 3, 15, 16, 17, 31, 32, 33, 63, 70}) {
        ++turn;
        check(Shape{m, n, k}, kInputs[turn % 3], kInputs[turn / 3 % 3]);
      }
    }
  }
}

template <typename T>
class ShortIntegers : public ::testing::Test {};
using ShortTypes = ::testing::Types<int8_t, uint8_t, int16_t, uint32_t>;
TYPED_TEST_SUITE(ShortIntegers, ShortTypes);

TYPED_TEST(ShortIntegers, SmallSizes) {
  std::mt19937_64 rng(1);
  EachSmallSize([&](const Shape& s, Layout la, Layout lb) {
    if (s.m * s.n * s.k % 3 == 0) Check<TypeParam>(rng, s, la, lb, Layout::kRows, false);
  });
}

// Several parts of k, blocks of rows and of columns.
TYPED_TEST(ShortIntegers, LargeSizes) {
  std::mt19937_64 rng(2);
  for (const Layout la : kInputs) {
    for (const Layout lb : kInputs)
      Check<TypeParam>(rng, {37, 75, 2500}, la, lb, Layout::kRows, false);
  }
  Check<TypeParam>(rng, {1050, 40, 2100}, Layout::kRows, Layout::kRows, Layout::kPadded, false);
  Check<TypeParam>(rng, {40, 1100, 192}, Layout::kRows, Layout::kColumns, Layout::kRows, false);
  Check<TypeParam>(rng, {5, 9, 20000}, Layout::kRows, Layout::kRows, Layout::kColumns, false);
  // Shared between threads.
  Check<TypeParam>(rng, {257, 260, 256}, Layout::kRows, Layout::kRows, Layout::kRows, false);
}

// Sums of products of the least values pass 2^31 on the way.
TYPED_TEST(ShortIntegers, ExtremeValuesWrap) {
  constexpr int64_t kSize = 40, kLength = 9000;
  const TypeParam least = std::numeric_limits<TypeParam>::min();
  const TypeParam most = std::numeric_limits<TypeParam>::max();
  for (const auto& [x, y] : {std::pair(least, least), {least, most}, {most, most}}) {
    std::vector<TypeParam> a(kSize * kLength, x), b(kSize * kLength, y);
    for (size_t i = 0; i < a.size(); i += 7) a[i] = TypeParam(i);
    std::vector<TypeParam> want(kSize * kSize), got(kSize * kSize);
    GemmArgs g{DTypeOf<TypeParam>::value,
               kSize,
               kSize,
               kLength,
               {a.data(), kLength, 1},
               {b.data(), kSize, 1},
               {want.data(), kSize, 1}};
    gemm::ReferenceGemm(g);
    g.c.data = got.data();
    for (const Isa isa : IsasFor<TypeParam>(false)) {
      std::fill(got.begin(), got.end(), TypeParam(1));
      Gemm(g, isa);
      EXPECT_EQ(got, want) << kIsaNames[int(isa)];
    }
  }
}

// int8 into int32, on every instruction set, threads included: signed, all 32 bits.
void CheckWide(std::mt19937_64& rng, const Shape& s, Layout la, Layout lb, bool by_columns,
               bool extreme) {
  const auto filled = [&](int64_t rows, int64_t cols, Layout layout, MatrixRef* ref) {
    std::vector<int8_t> x(size_t(rows * cols * (layout == Layout::kGeneral ? 2 : 1)));
    for (int8_t& v : x) v = extreme ? int8_t(rng() % 2 ? -128 : 127) : int8_t(rng());
    ref->row_stride = layout == Layout::kColumns ? 1 : layout == Layout::kRows ? cols : 2 * cols;
    ref->col_stride = layout == Layout::kColumns ? rows : layout == Layout::kRows ? 1 : 2;
    return x;
  };
  GemmArgs g{DType::kI8, s.m, s.n, s.k, {}, {}, {}};
  g.wide = true;
  std::vector<int8_t> a = filled(s.m, s.k, la, &g.a), b = filled(s.k, s.n, lb, &g.b);
  std::vector<int32_t> want(size_t(s.m * s.n)), got(want.size());
  g.a.data = a.data(), g.b.data = b.data();
  g.c = by_columns ? MatrixRef{want.data(), 1, s.m} : MatrixRef{want.data(), s.n, 1};
  gemm::ReferenceGemm(g);
  g.c.data = got.data();
  for (const Isa isa :
       {Isa::kScalar, Isa::kAvx2, Isa::kAvx2Vnni, Isa::kAvx512, Isa::kAvx512Vnni, Isa::kAmx}) {
    for (const bool pool : {false, true}) {
      std::fill(got.begin(), got.end(), 1);
      pool ? GemmOnPool(g, isa) : Gemm(g, isa);
      ASSERT_EQ(got, want) << kIsaNames[int(isa)] << " m=" << s.m << " n=" << s.n << " k=" << s.k;
    }
  }
}

TEST(WideIntegers, SmallSizes) {
  std::mt19937_64 rng(21);
  int turn = 0;
  EachSmallSize([&](const Shape& s, Layout la, Layout lb) {
    if (++turn % 7 == 0) CheckWide(rng, s, la, lb, turn % 2 == 0, turn % 3 == 0);
  });
}

TEST(WideIntegers, LargeSizes) {
  std::mt19937_64 rng(22);
  for (const Layout la : kInputs) {
    for (const Layout lb : kInputs) CheckWide(rng, {37, 75, 2500}, la, lb, false, false);
  }
  CheckWide(rng, {1050, 40, 700}, Layout::kRows, Layout::kRows, false, false);
  CheckWide(rng, {40, 1100, 192}, Layout::kRows, Layout::kColumns, true, true);
  CheckWide(rng, {3, 5, 9000}, Layout::kRows, Layout::kRows, false, true);
  CheckWide(rng, {257, 260, 256}, Layout::kRows, Layout::kColumns, false, false);
}

// Few rows, or few columns, times what lies along k (kernels/gemm/wide_dots.h).
TEST(WideIntegers, FewRows) {
  std::mt19937_64 rng(24);
  for (const int64_t rows : {1, 2, 3, 4, 5, 7, 16, 17, 31, 32, 33, 65}) {
    for (const int64_t columns : {1, 3, 4, 6, 37}) {
      for (const int64_t k : {1, 15, 16, 63, 64, 65, 200}) {
        const bool turned = (rows + columns + k) % 2 == 0;
        const Shape shape = turned ? Shape{columns, rows, k} : Shape{rows, columns, k};
        CheckWide(rng, shape, Layout::kRows, Layout::kColumns, k % 3 == 0, k % 5 == 0);
      }
    }
  }
  CheckWide(rng, {1, 1024, 4097}, Layout::kRows, Layout::kColumns, false, true);
}

TEST(WideIntegers, EmptySums) {
  std::mt19937_64 rng(23);
  CheckWide(rng, {5, 6, 0}, Layout::kRows, Layout::kRows, false, false);
}

void CheckPairs(std::mt19937_64& rng, const Shape& s, Layout la, Layout lb, Layout lc,
                bool special) {
  Check<BFloat16>(rng, s, la, lb, lc, special, true);
}

TEST(NativeRule, SmallSizes) {
  std::mt19937_64 rng(3);
  EachSmallSize([&](const Shape& s, Layout la, Layout lb) {
    if (s.m * s.n * s.k % 5 < 2) CheckPairs(rng, s, la, lb, Layout::kRows, s.m % 2 == 0);
  });
}

TEST(NativeRule, Layouts) {
  std::mt19937_64 rng(4);
  for (const Shape& s : {Shape{17, 45, 67}, Shape{1, 70, 37}, Shape{70, 1, 96}, Shape{3, 20, 9}}) {
    for (const Layout la : kLayouts) {
      for (const Layout lb : kLayouts) {
        for (const Layout lc : {Layout::kRows, Layout::kColumns, Layout::kGeneral})
          CheckPairs(rng, s, la, lb, lc, true);
      }
    }
  }
}

TEST(NativeRule, LargeSizes) {
  std::mt19937_64 rng(5);
  CheckPairs(rng, {70, 75, 2500}, Layout::kRows, Layout::kRows, Layout::kRows, false);
  CheckPairs(rng, {33, 70, 1100}, Layout::kColumns, Layout::kColumns, Layout::kRows, false);
  CheckPairs(rng, {1050, 20, 1300}, Layout::kRows, Layout::kRows, Layout::kPadded, false);
  CheckPairs(rng, {20, 1100, 96}, Layout::kRows, Layout::kRows, Layout::kRows, false);
  // Shared between threads.
  CheckPairs(rng, {257, 260, 256}, Layout::kRows, Layout::kRows, Layout::kRows, false);
  for (const int64_t k : {4096, 4097, 10000, 300000}) {
    CheckPairs(rng, {3, 17, k}, Layout::kRows, Layout::kRows, Layout::kRows, false);
    CheckPairs(rng, {2, 1, k}, Layout::kRows, Layout::kRows, Layout::kRows, false);
  }
}

TEST(NativeRule, EmptySums) {
  std::mt19937_64 rng(6);
  CheckPairs(rng, {5, 6, 0}, Layout::kRows, Layout::kRows, Layout::kRows, false);
}

// Factors around 2^-63, so that products and sums lie around the least normal number; all bits at
// random; a whole last block and one that is not.
TEST(NativeRule, FlushesWhatIsSubnormal) {
  std::mt19937_64 rng(7);
  const auto fill = [&](std::vector<BFloat16>* x, bool any) {
    for (BFloat16& v : *x) {
      const uint64_t r = rng();
      v.bits = any ? uint16_t(r) : uint16_t((r & 0x807F) | (61 + (r >> 16) % 4) << 7);
    }
  };
  int64_t zeros = 0;
  for (const bool any : {false, true}) {
    for (const int64_t k : {1, 2, 4, 7, 30, 31, 32, 33, 64}) {
      for (const int64_t size : {3, 40}) {
        std::vector<BFloat16> a(size_t(size * k)), b(size_t(size * k));
        std::vector<BFloat16> want(size_t(size * size)), got(want);
        fill(&a, any), fill(&b, any);
        GemmArgs g{DType::kBF16,           size, size, k, {a.data(), k, 1}, {b.data(), size, 1},
                   {want.data(), size, 1}, true};
        gemm::ReferenceGemm(g);
        g.c.data = got.data();
        for (const Isa isa : IsasFor<BFloat16>(true)) {
          Gemm(g, isa);
          for (size_t i = 0; i < got.size(); ++i) {
            ASSERT_TRUE(SameBits(want[i], got[i]))
                << kIsaNames[int(isa)] << " k=" << k << " " << want[i].bits << " " << got[i].bits;
            zeros += (want[i].bits & 0x7FFF) == 0;
          }
        }
      }
    }
  }
  EXPECT_GT(zeros, 1000);
}

// By hand: 2^24 + 1 at even k loses the one, which odd k keep: 2^24 + 2 + 1 + 1 is 2^24 + 2 + 2.
TEST(NativeRule, SumsEvenAndOddApart) {
  const auto dot = [](std::vector<float> x, bool pairs) {
    std::vector<BFloat16> a, b(x.size(), ToBFloat16(1.0));
    for (const float v : x) a.push_back(ToBFloat16(double(v)));
    const int64_t k = int64_t(x.size());
    BFloat16 c{};
    Gemm({DType::kBF16, 1, 1, k, {a.data(), k, 1}, {b.data(), 1, 1}, {&c, 1, 1}, pairs});
    return ToFloat(c);
  };
  const float big = 16777216, far = -16777216;
  // The odd ones meet before they meet the even one; one after the other, each is lost.
  EXPECT_EQ(dot({big, 1, far, 1}, true), 2.0f);
  EXPECT_EQ(dot({big, 1, 0, 1, far}, false), 0.0f);
  EXPECT_EQ(dot({big, 1, 0, 1, far}, true), 2.0f);
  std::vector<float> blocks(64, 0.0f);
  blocks[0] = big, blocks[2] = 1, blocks[32] = 1, blocks[34] = 1, blocks[36] = far;
  EXPECT_EQ(dot(blocks, false), 0.0f);
  EXPECT_EQ(dot(blocks, true), 2.0f);  // the ones of the second block meet far before the sum
}

TEST(NativeRule, TheCallersModeIsKept) {
  std::vector<BFloat16> a(64, ToBFloat16(0x1p-70)), c(64);
  const GemmArgs g{DType::kBF16,      1,   64, 1, {a.data(), 64, 1}, {a.data(), 64, 1},
                   {c.data(), 64, 1}, true};
  for (const unsigned mode : {0x1F80u, 0x9FC0u}) {
    const unsigned saved = _mm_getcsr();
    _mm_setcsr(mode);
    Gemm(g);
    const unsigned after = _mm_getcsr();
    _mm_setcsr(saved);
    EXPECT_EQ(after & ~0x3Fu, mode);
    for (const BFloat16 x : c) EXPECT_EQ(x.bits, 0);
  }
}

TEST(Units, FallBackToTheBestBelow) {
  EXPECT_EQ(ResolveUnits(Isa::kScalar), Isa::kScalar);
  for (const Isa isa : {Isa::kAvx2, Isa::kAvx2Vnni, Isa::kAvx512, Isa::kAvx512Vnni, Isa::kAmx}) {
    EXPECT_LE(ResolveUnits(isa), isa);
    EXPECT_EQ(ResolveIsa(ResolveUnits(isa)), ResolveIsa(isa));
  }
  if (Cpu().amx) {
    EXPECT_EQ(ResolveUnits(Isa::kAmx), Isa::kAmx);
    EXPECT_EQ(ResolveIsa(Isa::kAmx), Isa::kAvx512);
  }
}

}  // namespace
}  // namespace frazil
