// The fast matmul against the plain definition, bit for bit.
#include "kernels/gemm/gemm.h"

#include <gtest/gtest.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <xmmintrin.h>

#include <atomic>
#include <bit>
#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <random>
#include <string>
#include <vector>

#include "core/dtype.h"
#include "core/threads/long_work.h"
#include "kernels/blas.h"
#include "kernels/gemm/reference.h"
#include "kernels/gemm/resident.h"
#include "kernels/gemm/small_product.h"
#include "tests/kernels/gemm_check.h"

namespace frazil {
namespace {

// Chosen once, run twice; true where it is one.
template <typename T>
bool CheckSmall(std::mt19937_64& rng, const Shape& s, Layout la, Layout lb, Isa isa) {
  Matrix<T> a(rng, s.m, s.k, la, true), b(rng, s.k, s.n, lb, true);
  Matrix<T> want(rng, s.m, s.n, Layout::kRows, false), got = want;
  got.ref.data = got.memory.data();
  GemmArgs args{DTypeOf<T>::value, s.m, s.n, s.k, a.ref, b.ref, want.ref};
  gemm::ReferenceGemm(args);
  args.a.data = args.b.data = args.c.data = nullptr;
  const auto small = gemm::SmallProduct::Make(args, isa);
  if (!small) return false;
  Matrix<T> other(rng, s.m, s.k, la, false);
  small->Run(other.ref.data, b.ref.data, got.ref.data);
  small->Run(a.ref.data, b.ref.data, got.ref.data);
  ExpectSame(want, got, "small", s);
  return true;
}

template <typename T>
class GemmTest : public ::testing::Test {};

using AllTypes = ::testing::Types<float, double, Half, BFloat16, int8_t, int16_t, int32_t, int64_t,
                                  uint8_t, uint16_t, uint32_t, uint64_t>;
TYPED_TEST_SUITE(GemmTest, AllTypes);
using FloatTypes = ::testing::Types<float, double, Half, BFloat16>;
template <typename T>
class FloatGemmTest : public ::testing::Test {};
TYPED_TEST_SUITE(FloatGemmTest, FloatTypes);

TYPED_TEST(GemmTest, SmallShapes) {
  std::mt19937_64 rng(1);
  for (int64_t m : {1, 2, 5, 14, 15, 29}) {
    for (int64_t n : {1, 3, 16, 31, 33, 70, 130}) {
      for (int64_t k : {0, 1, 3, 4, 7, 33}) {
        Check<TypeParam>(rng, {m, n, k}, Layout::kRows, Layout::kRows, Layout::kRows, k == 7);
      }
    }
  }
}

TYPED_TEST(GemmTest, Layouts) {
  std::mt19937_64 rng(2);
  for (const Shape& s : {Shape{17, 45, 21}, Shape{1, 70, 37}, Shape{70, 1, 37}, Shape{3, 20, 9}}) {
    for (Layout la : kLayouts) {
      for (Layout lb : kLayouts) {
        for (Layout lc : {Layout::kRows, Layout::kColumns, Layout::kPadded, Layout::kGeneral,
                          Layout::kReversed}) {
          Check<TypeParam>(rng, s, la, lb, lc, true);
        }
      }
    }
  }
}

TYPED_TEST(GemmTest, RandomShapes) {
  std::mt19937_64 rng(3);
  for (int round = 0; round < 60; ++round) {
    Shape s{int64_t(rng() % 90), int64_t(rng() % 200), int64_t(rng() % 150)};
    Check<TypeParam>(rng, s, kLayouts[rng() % 5], kLayouts[rng() % 5], kLayouts[rng() % 5],
                     rng() % 2 == 0);
  }
}

// A few rows against columns that are adjacent in memory, which is transposed in registers.
TYPED_TEST(FloatGemmTest, FewRows) {
  std::mt19937_64 rng(11);
  for (int64_t m : {1, 2, 3, 4, 5, 8, 9, 16, 17, 23, 32, 33}) {
    for (int64_t n : {7, 8, 16, 19, 32, 45, 71}) {
      for (int64_t k : {0, 1, 2, 3, 7, 8, 12, 15, 16, 37}) {
        const Layout las[] = {Layout::kRows, Layout::kColumns, Layout::kGeneral};
        const Layout la = las[(m + n + k) % 3];
        Check<TypeParam>(rng, {m, n, k}, la, Layout::kColumns, Layout::kRows, k == 7);
      }
    }
  }
  for (int64_t m : {1, 3, 14, 20}) {  // more than the caches hold
    for (Layout lb : {Layout::kRows, Layout::kColumns}) {
      Check<TypeParam>(rng, {m, 530, 1105}, Layout::kRows, lb, Layout::kPadded, false);
    }
  }
}

// Products whose calls are listed: all that read both factors where they lie.
TEST(SmallProduct, EveryShapeAndLayout) {
  std::mt19937_64 rng(12);
  const auto check = [&](const Shape& s, Layout la, Layout lb, bool expected) {
    for (Isa isa : {Isa::kAvx2, Isa::kBest}) {
      EXPECT_EQ(CheckSmall<float>(rng, s, la, lb, isa), expected)
          << s.m << " " << s.n << " " << s.k;
      EXPECT_EQ(CheckSmall<double>(rng, s, la, lb, isa), expected)
          << s.m << " " << s.n << " " << s.k;
    }
    EXPECT_FALSE(CheckSmall<float>(rng, s, la, lb, Isa::kScalar));
  };
  for (int64_t m : {1, 2, 3, 7, 14, 15, 31}) {
    for (int64_t n : {1, 2, 7, 8, 16, 17, 33, 64}) {
      for (int64_t k : {2, 3, 8, 37, 64}) {
        if (n > 1 || m < 4 || m >= 16) check({m, n, k}, Layout::kRows, Layout::kRows, true);
        if (n >= 16) check({m, n, k}, Layout::kPadded, Layout::kColumns, true);
      }
    }
  }
  for (int64_t few : {1, 2, 3}) {  // a lane for the one column or row
    check({1, few, 1001}, Layout::kRows, Layout::kColumns, true);
    check({few, 1, 1001}, Layout::kRows, Layout::kColumns, true);
    check({few, 1, 1001}, Layout::kRows, Layout::kRows, true);
  }
  check({1, 256, 64}, Layout::kRows, Layout::kRows,
        true);  // a matrix that a first cache is too small for
  check({1, 150, 60}, Layout::kRows, Layout::kPadded, true);
  check({40, 40, 40}, Layout::kColumns, Layout::kRows, true);
  check({1, 300, 200}, Layout::kRows, Layout::kRows, false);
  check({5, 40, 40}, Layout::kGeneral, Layout::kRows, false);
  check({64, 64, 65}, Layout::kRows, Layout::kRows, false);
  check({1, 64, 4097}, Layout::kRows, Layout::kRows, false);
  EXPECT_FALSE(CheckSmall<int32_t>(rng, {4, 4, 4}, Layout::kRows, Layout::kRows, Isa::kBest));
  EXPECT_FALSE(CheckSmall<Half>(rng, {4, 4, 4}, Layout::kRows, Layout::kRows, Isa::kBest));
}

// The choice runs the code that makes a product, which asks whether it is to go on: of a plan that
// is made within abandoned work all calls are needed.
TEST(SmallProduct, IsChosenWholeWithinAbandonedWork) {
  static int token;
  SetHost({[]() -> void* { return &token; }, [](void*) {}, [](void*) { return true; }, 0});
  {
    LongWork work;
    while (!work.Stop()) {
    }
    std::mt19937_64 rng(21);
    for (const Shape& s : {Shape{7, 33, 64}, Shape{1, 64, 64}, Shape{31, 17, 64}}) {
      EXPECT_TRUE(CheckSmall<float>(rng, s, Layout::kRows, Layout::kRows, Isa::kBest));
      EXPECT_TRUE(CheckSmall<double>(rng, s, Layout::kPadded, Layout::kColumns, Isa::kBest));
    }
    for (const Shape& s : {Shape{1, 3, 1001}, Shape{3, 1, 1001}, Shape{1, 1, 1001}})
      EXPECT_TRUE(CheckSmall<float>(rng, s, Layout::kRows, Layout::kColumns, Isa::kBest));
    EXPECT_TRUE(Abandoned());
  }
  SetHost({});
}

// A factor that L1 does not hold is read there and back; every product of a batch has its place.
TEST(SmallProduct, Batches) {
  std::mt19937_64 rng(13);
  const auto check = [&]<typename T>(T, int64_t m, int64_t n, int64_t k, Layout lb,
                                     int64_t b_apart) {
    Matrix<T> a(rng, 4 * m, k, Layout::kRows, true), b(rng, 4 * k, n, Layout::kRows, true);
    Matrix<T> want(rng, 4 * m, n, Layout::kRows, false), got = want;
    got.ref.data = got.memory.data();
    if (lb == Layout::kColumns) b.ref.row_stride = 1, b.ref.col_stride = k;
    const GemmArgs like{DTypeOf<T>::value, m, n, k, a.ref, b.ref, want.ref};
    std::vector<gemm::BatchPlace> places;
    for (int64_t i = 0; i < 4; ++i) {
      places.push_back({(3 - i) * m * k, i * b_apart, i * m * n});
      GemmArgs one = like;
      one.a.data = static_cast<T*>(a.ref.data) + places.back().a;
      one.b.data = static_cast<T*>(b.ref.data) + places.back().b;
      one.c.data = static_cast<T*>(want.ref.data) + places.back().c;
      gemm::ReferenceGemm(one);
    }
    for (Isa isa : {Isa::kAvx2, Isa::kBest}) {
      const auto small = gemm::SmallProduct::Make(like, places, isa);
      ASSERT_TRUE(small);
      EXPECT_GT(small->bytes(), int64_t{4 * 32});
      for (int round = 0; round < 3; ++round) {
        std::fill(got.memory.begin(), got.memory.end(), T(1));
        small->Run(a.ref.data, b.ref.data, got.ref.data);
        ExpectSame(want, got, "batch", {m, n, k});
      }
    }
    places.resize(65, places[0]);
    EXPECT_FALSE(gemm::SmallProduct::Make(like, places));
  };
  for (const Layout lb : {Layout::kRows, Layout::kColumns}) {
    check(float(), 1, 64, 64, lb, 64 * 64);
    check(float(), 5, 37, 11, lb, 37 * 11);
    check(double(), 1, 32, 70, lb, 32 * 70);
    check(double(), 3, 17, 8, lb, 0);
  }
  check(float(), 1, 3, 65, Layout::kColumns, 3 * 65);  // columns taken for rows
}

// Large enough that every operand is packed, k is blocked, and the split has several parts.
TYPED_TEST(FloatGemmTest, Packed) {
  std::mt19937_64 rng(4);
  for (Layout la : {Layout::kRows, Layout::kColumns, Layout::kGeneral}) {
    for (Layout lb : {Layout::kRows, Layout::kColumns, Layout::kGeneral}) {
      Check<TypeParam>(rng, {75, 107, 1101}, la, lb, Layout::kRows, false);
    }
  }
  Check<TypeParam>(rng, {230, 66, 530}, Layout::kRows, Layout::kColumns, Layout::kColumns, true);
  Check<TypeParam>(rng, {40, 400, 1100}, Layout::kRows, Layout::kRows, Layout::kRows, false);
  Check<TypeParam>(rng, {2, 3000, 50}, Layout::kRows, Layout::kRows, Layout::kRows, false);
  Check<TypeParam>(rng, {3000, 3, 50}, Layout::kRows, Layout::kRows, Layout::kRows, false);
}

// Large enough for threads to pack operands together, with several blocks of A and parts of k.
TYPED_TEST(FloatGemmTest, PackedByTeam) {
  if (sizeof(TypeParam) == 2) GTEST_SKIP() << "16-bit floats are finished in parts";
  std::mt19937_64 rng(10);
  for (Layout la : {Layout::kRows, Layout::kColumns, Layout::kGeneral}) {
    Layout lb = la == Layout::kColumns ? Layout::kRows : Layout::kColumns;
    Check<TypeParam>(rng, {205, 203, 1100}, la, lb, Layout::kRows, false);
  }
  Check<TypeParam>(rng, {198, 430, 300}, Layout::kPadded, Layout::kRows, Layout::kColumns, true);
  Check<TypeParam>(rng, {600, 192, 150}, Layout::kRows, Layout::kRows, Layout::kPadded, true);
  Check<TypeParam>(rng, {192, 193, 4100}, Layout::kRows, Layout::kRows, Layout::kRows, false);
}

// Blocks of B that stay while A passes by, read where it is: panels of 3, 2 and less than a vector,
// tiles of 8 and 7 rows, several blocks of columns and of k, more and fewer columns than threads
// share, B transposed, and A, B and C with gaps.
// B by columns is read as it lies, by the rows of the transpose; C is turned tile by tile.
TYPED_TEST(FloatGemmTest, Turned) {
  std::mt19937_64 rng(15);
  for (const Shape& s : {Shape{12, 112, 64}, Shape{33, 130, 70}, Shape{64, 333, 65}}) {
    for (const Layout la : {Layout::kRows, Layout::kColumns, Layout::kGeneral}) {
      for (const Layout lc : {Layout::kRows, Layout::kColumns, Layout::kPadded, Layout::kGeneral})
        Check<TypeParam>(rng, s, la, Layout::kColumns, lc, s.k == 70);
    }
  }
  Check<TypeParam>(rng, {256, 161, 300}, Layout::kRows, Layout::kColumns, Layout::kRows, false);
  Check<TypeParam>(rng, {20, 119, 4500}, Layout::kRows, Layout::kColumns, Layout::kRows, false);
}

// Few rows beside a B that is larger than the second-level cache.
TYPED_TEST(FloatGemmTest, FewRowsBesideMuch) {
  std::mt19937_64 rng(16);
  for (const int64_t m : {32, 33, 40, 57})
    Check<TypeParam>(rng, {m, 600, 500}, Layout::kRows, Layout::kRows, Layout::kRows, false);
}

TYPED_TEST(FloatGemmTest, Resident) {
  std::mt19937_64 rng(11);
  for (Layout lb : {Layout::kRows, Layout::kColumns})
    Check<TypeParam>(rng, {171, 213, 931}, Layout::kRows, lb, Layout::kRows, true);
  for (Layout lb : {Layout::kRows, Layout::kColumns}) {  // A by columns, an odd number of tiles
    Check<TypeParam>(rng, {133, 413, 931}, Layout::kColumns, lb, Layout::kRows, true);
    Check<TypeParam>(rng, {171, 213, 931}, Layout::kColumns, lb, Layout::kRows, false);
  }
  Check<TypeParam>(rng, {261, 192, 1000}, Layout::kColumns, Layout::kRows, Layout::kPadded, false);
  Check<TypeParam>(rng, {90, 1189, 322}, Layout::kPadded, Layout::kPadded, Layout::kPadded, false);
  Check<TypeParam>(rng, {1300, 100, 262}, Layout::kRows, Layout::kRows, Layout::kRows, false);
  Check<TypeParam>(rng, {65, 129, 4100}, Layout::kRows, Layout::kRows, Layout::kRows, false);
}

TEST(Resident, TakesLargeProducts) {
  if (ResolveIsa(Isa::kBest) != Isa::kAvx512) GTEST_SKIP() << "needs AVX-512";
  const auto takes = [](int64_t m, int64_t n, int64_t k, int64_t ars, int64_t acs) {
    const gemm::View<float> a{nullptr, ars, acs}, b{nullptr, n, 1};
    return gemm::Resident<float>::Make(Isa::kAvx512, a, b, k, {nullptr, m, n, n}, {}) != nullptr;
  };
  EXPECT_TRUE(takes(512, 512, 512, 512, 1));
  EXPECT_TRUE(takes(1024, 1024, 192, 192, 1));
  EXPECT_FALSE(takes(1024, 1024, 64, 64, 1));
  EXPECT_FALSE(takes(1024, 64, 1024, 1024, 1));
  EXPECT_FALSE(takes(256, 256, 256, 256, 1));
  EXPECT_TRUE(takes(128, 512, 768, 1, 128));
  EXPECT_TRUE(takes(512, 128, 768, 1, 512));
  EXPECT_FALSE(takes(512, 512, 512, 1, 512));
  EXPECT_FALSE(takes(512, 512, 512, int64_t{1} << 32, 1));
}

// The accumulators that C holds are continued in each part of k.
TEST(Resident, Continues) {
  constexpr int64_t kM = 200, kN = 260, kK = 1400, kFirst = 650;
  std::mt19937_64 rng(12);
  for (const Layout la : {Layout::kRows, Layout::kColumns}) {
    Matrix<float> a(rng, kM, kK, la, false), b(rng, kK, kN, Layout::kRows, false);
    Matrix<float> want(rng, kM, kN, Layout::kRows, false), got(rng, kM, kN, Layout::kRows, false);
    const auto part = [&](const Matrix<float>& c, int64_t k0, int64_t k1) {
      MatrixRef left = a.ref, right = b.ref;
      left.data = a.memory.data() + k0 * a.ref.col_stride, right.data = b.memory.data() + k0 * kN;
      return GemmArgs{DType::kF32, kM, kN, k1 - k0, left, right, c.ref};
    };
    gemm::ReferenceGemm(part(want, 0, kK));
    Gemm(part(got, 0, kFirst));
    GemmAdd(part(got, kFirst, kK));
    ExpectSame(want, got, "continued", Shape{kM, kN, kK});
  }
}

// Each row is told of once, when it is complete, whichever way A is stored.
TEST(Resident, TellsRows) {
  constexpr int64_t kM = 300, kN = 413, kK = 931;
  std::mt19937_64 rng(14);
  for (const Layout la : {Layout::kRows, Layout::kColumns}) {
    Matrix<float> a(rng, kM, kK, la, false), b(rng, kK, kN, Layout::kRows, false);
    Matrix<float> want(rng, kM, kN, Layout::kRows, false), got(rng, kM, kN, Layout::kRows, false);
    gemm::ReferenceGemm(GemmArgs{DType::kF32, kM, kN, kK, a.ref, b.ref, want.ref});
    std::vector<std::atomic<int>> told(kM);
    std::atomic<int64_t> wrong{0};
    const auto done = [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        ++told[size_t(i)];
        wrong += std::memcmp(want.memory.data() + i * want.ref.row_stride,
                             got.memory.data() + i * got.ref.row_stride, kN * sizeof(float)) != 0;
      }
    };
    GemmOnPool(GemmArgs{DType::kF32, kM, kN, kK, a.ref, b.ref, got.ref}, done);
    EXPECT_EQ(wrong, 0);
    for (const auto& times : told) EXPECT_EQ(times, 1);
  }
}

TYPED_TEST(FloatGemmTest, Chunks) {
  std::mt19937_64 rng(5);
  for (int64_t k : {4095, 4096, 4097, 8192, 10000, 100000}) {
    for (const Shape& s : {Shape{1, 1, k}, Shape{3, 17, k}, Shape{1, 20, k}}) {
      if (s.n == 17 && k == 100000) continue;
      Check<TypeParam>(rng, s, Layout::kRows, Layout::kRows, Layout::kRows, false);
      Check<TypeParam>(rng, s, Layout::kColumns, Layout::kColumns, Layout::kRows, false);
    }
  }
}

// More chunks than lanes, and more than a group of 4096 chunks (65 and 4098 of them).
TEST(GemmRule, ManyChunks) {
  std::mt19937_64 rng(6);
  for (int64_t k : {int64_t(4096 * 131 + 5), int64_t(4096 * 4097 + 1)}) {
    std::vector<float> x(4099);
    for (float& v : x) v = Make<float>(rng, false);
    // Row stride 0 and a short period stand in for long vectors: a[0,k] is one value, b varies by
    // chunk.
    std::vector<float> b(static_cast<size_t>(k));
    for (size_t i = 0; i < b.size(); ++i) b[i] = x[i % x.size()];
    float a = 1.25f, want = 0, got = 1;
    GemmArgs g{DType::kF32, 1, 1, k, {&a, 0, 0}, {b.data(), 1, 1}, {&want, 1, 1}};
    gemm::ReferenceGemm(g);
    g.c.data = &got;
    Gemm(g);
    EXPECT_EQ(std::bit_cast<uint32_t>(want), std::bit_cast<uint32_t>(got)) << k;
  }
}

// By hand: 2^24 + 1 + 1 in one chunk loses both ones; a chunk of its own keeps them.
TEST(GemmRule, ChunksAreSeparateAccumulators) {
  std::vector<float> a(4098, 0.0f), ones(4098, 1.0f);
  auto dot = [&] {
    float c = -1;
    Gemm({DType::kF32, 1, 1, 4098, {a.data(), 4098, 1}, {ones.data(), 1, 1}, {&c, 1, 1}});
    return c;
  };
  a[4094] = 16777216.0f, a[4095] = 1, a[4096] = 1;
  EXPECT_EQ(dot(), 16777216.0f);
  a[4095] = 0, a[4097] = 1;
  EXPECT_EQ(dot(), 16777218.0f);
}

TEST(GemmRule, EmptyProductIsPositiveZero) {
  float a = 0, c[4] = {-1, -1, -1, -1};
  Gemm({DType::kF32, 2, 2, 0, {&a, 0, 0}, {&a, 0, 0}, {c, 2, 1}});
  for (float x : c) EXPECT_EQ(std::bit_cast<uint32_t>(x), 0u);
}

TEST(GemmRule, FlushToZeroOfTheCallerIsIgnored) {
  std::vector<float> a(64, 1e-30f), c(64, 1.0f);
  GemmArgs g{DType::kF32, 1, 64, 1, {a.data(), 64, 1}, {a.data(), 64, 1}, {c.data(), 64, 1}};
  for (float& x : a) x = 1e-20f;
  unsigned saved = _mm_getcsr();
  _mm_setcsr(saved | 0x8040);
  Gemm(g);
  unsigned after = _mm_getcsr();
  _mm_setcsr(saved);
  EXPECT_EQ(after & 0x8040, 0x8040u);
  for (float x : c) EXPECT_NE(x, 0.0f);
}

TEST(Gemm, ConcurrentCallsAgree) {
  std::mt19937_64 rng(7);
  Matrix<float> a(rng, 61, 83, Layout::kRows, false), b(rng, 83, 111, Layout::kRows, false);
  Matrix<float> want(rng, 61, 111, Layout::kRows, false);
  GemmArgs g{DType::kF32, 61, 111, 83, a.ref, b.ref, want.ref};
  gemm::ReferenceGemm(g);
  RunOnThreads(4, [&](int64_t) {
    std::vector<float> c(61 * 111);
    GemmArgs mine = g;
    mine.c = {c.data(), 111, 1};
    Gemm(mine);
    EXPECT_EQ(std::memcmp(c.data(), want.memory.data(), c.size() * 4), 0);
  });
}

TEST(Gemm, NoPageIsWritableAndExecutable) {
  float a[40 * 8] = {}, c[40 * 40];
  Gemm({DType::kF32, 40, 40, 8, {a, 8, 1}, {a, 40, 1}, {c, 40, 1}});
  std::ifstream maps("/proc/self/maps");
  ASSERT_TRUE(maps.is_open());
  for (std::string line; std::getline(maps, line);) {
    EXPECT_EQ(line.find("rwx"), std::string::npos) << line;
  }
}

// From here on this process gets no executable memory: mmap and mprotect with PROT_EXEC fail.
bool DenyExecutableMemory() {
  auto arg_low = [](int i) { return uint32_t(offsetof(seccomp_data, args) + 8 * size_t(i)); };
  sock_filter program[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_mmap, 1, 0),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_mprotect, 0, 3),
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, arg_low(2)),
      BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, PROT_EXEC, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  sock_fprog filter{sizeof(program) / sizeof(program[0]), program};
  return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0;
}

template <typename T>
void MultiplyShort(std::mt19937_64& rng, bool pairs) {
  Matrix<T> a(rng, 33, 70, Layout::kRows, true), b(rng, 70, 40, Layout::kRows, true);
  Matrix<T> want(rng, 33, 40, Layout::kRows, false), got = want;
  got.ref.data = got.memory.data();
  gemm::ReferenceGemm({DTypeOf<T>::value, 33, 40, 70, a.ref, b.ref, want.ref, pairs});
  Gemm({DTypeOf<T>::value, 33, 40, 70, a.ref, b.ref, got.ref, pairs});
  for (size_t i = 0; i < got.memory.size(); ++i) {
    if (!SameBits(want.memory[i], got.memory[i])) std::exit(4);
  }
}

void MultiplyWithoutExecutableMemory() {
  if (!DenyExecutableMemory()) std::exit(2);
  void* page = mmap(nullptr, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (page != MAP_FAILED) std::exit(3);
  std::mt19937_64 rng(9);
  MultiplyShort<int8_t>(rng, false);
  MultiplyShort<uint16_t>(rng, false);
  MultiplyShort<BFloat16>(rng, true);
  for (int64_t n : {1, 40}) {
    Matrix<float> a(rng, 33, 21, Layout::kRows, false), b(rng, 21, n, Layout::kRows, false);
    Matrix<float> want(rng, 33, n, Layout::kRows, false), got = want;
    got.ref.data = got.memory.data();
    gemm::ReferenceGemm({DType::kF32, 33, n, 21, a.ref, b.ref, want.ref});
    Gemm({DType::kF32, 33, n, 21, a.ref, b.ref, got.ref});
    if (want.memory != got.memory) std::exit(1);
  }
  std::exit(0);
}

// In a process of its own, started anew, so that no kernel exists yet.
TEST(GemmDeathTest, WorksWithoutExecutableMemory) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_EXIT(MultiplyWithoutExecutableMemory(), testing::ExitedWithCode(0), "");
}

TEST(Blas, AgreesWithinRounding) {
  if (!BlasAvailable()) GTEST_SKIP() << "libopenblas.so.0 is not installed";
  std::mt19937_64 rng(8);
  for (Layout la : kLayouts) {
    for (Layout lc : {Layout::kRows, Layout::kColumns, Layout::kReversed}) {
      Matrix<double> a(rng, 7, 9, la, false), b(rng, 9, 5, la, false), c(rng, 7, 5, lc, false);
      Matrix<double> want(rng, 7, 5, Layout::kRows, false);
      ASSERT_TRUE(BlasGemm({DType::kF64, 7, 5, 9, a.ref, b.ref, c.ref}).ok());
      gemm::ReferenceGemm({DType::kF64, 7, 5, 9, a.ref, b.ref, want.ref});
      for (int i = 0; i < 7; ++i) {
        for (int j = 0; j < 5; ++j) {
          double got =
              static_cast<double*>(c.ref.data)[i * c.ref.row_stride + j * c.ref.col_stride];
          EXPECT_NEAR(got, want.memory[size_t(i * 5 + j)], 1e-12);
        }
      }
    }
  }
  EXPECT_EQ(BlasGemm({DType::kI32, 1, 1, 1, {}, {}, {}}).message(),
            "[blas] matmul takes f32 or f64: got i32.");
  EXPECT_FALSE(SetBlasThreads(0).ok());
}

}  // namespace
}  // namespace frazil
