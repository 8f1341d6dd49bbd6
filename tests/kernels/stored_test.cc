// Products by matrices of 16-bit floats (kernels/gemm/stored_gemm.h) against the plain definition of
// the product by what they stand for, bit for bit.
#include <gtest/gtest.h>

#include <atomic>
#include <random>
#include <vector>

#include "kernels/gemm/convert.h"
#include "kernels/gemm/reference.h"
#include "kernels/gemm/stored_gemm.h"
#include "tests/kernels/gemm_check.h"

namespace frazil {
namespace {

template <typename S>
void CheckStored(std::mt19937_64& rng, const Shape& s, Layout la, Layout lb, Layout lc,
                 bool special) {
  Matrix<float> a(rng, s.m, s.k, la, special);
  Matrix<S> b(rng, s.k, s.n, lb, special);
  Matrix<float> want(rng, s.m, s.n, lc, false);
  const Matrix<float> empty = want;
  std::vector<float> widened(b.memory.size());
  for (size_t i = 0; i < widened.size(); ++i) widened[i] = gemm::Widen(b.memory[i]);
  const auto first = static_cast<S*>(b.ref.data) - b.memory.data();
  const auto origin = static_cast<float*>(want.ref.data) - want.memory.data();
  GemmArgs g{DType::kF32, s.m, s.n, s.k, a.ref, b.ref, want.ref};
  g.b.data = widened.data() + first;
  gemm::ReferenceGemm(g);
  g.b.data = b.ref.data;
  for (const Isa isa : {Isa::kScalar, Isa::kAvx2, Isa::kAvx512, Isa::kBest}) {
    Matrix<float> got = empty;
    g.c.data = got.memory.data() + origin;
    StoredGemmOnPool(g, DTypeOf<S>::value, isa);
    ExpectSame(want, got, kIsaNames[int(isa)], s);
  }
  Matrix<float> got = empty;
  g.c.data = got.memory.data() + origin;
  std::vector<std::atomic<int>> told(static_cast<size_t>(s.m));
  StoredGemmOnPool(g, DTypeOf<S>::value, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) ++told[static_cast<size_t>(i)];
  });
  ExpectSame(want, got, "by rows", s);
  for (const auto& count : told) EXPECT_EQ(count, s.n > 0 ? 1 : int(count));
}

template <typename S>
class StoredGemm : public ::testing::Test {};
using Halves = ::testing::Types<Half, BFloat16>;
TYPED_TEST_SUITE(StoredGemm, Halves);

// As weights lie: k adjacent. Up to 32 rows their words are turned in registers.
TYPED_TEST(StoredGemm, FewRows) {
  std::mt19937_64 rng(31);
  for (const int64_t m : {1, 2, 3, 4, 5, 11, 12, 17, 32, 33}) {
    for (const int64_t n : {7, 8, 16, 19, 32, 45, 130}) {
      for (const int64_t k : {1, 2, 3, 6, 14, 16, 30, 32, 34, 64, 97, 98}) {
        CheckStored<TypeParam>(rng, {m, n, k}, Layout::kRows, Layout::kColumns, Layout::kRows,
                               (m + n + k) % 3 == 0);
      }
    }
  }
}

TYPED_TEST(StoredGemm, Layouts) {
  std::mt19937_64 rng(32);
  for (const Shape& s : {Shape{17, 145, 70}, Shape{1, 70, 38}, Shape{70, 1, 38}, Shape{3, 20, 9},
                         Shape{300, 20, 64}, Shape{2, 3, 0}}) {
    for (const Layout la : {Layout::kRows, Layout::kColumns, Layout::kGeneral}) {
      for (const Layout lb : kLayouts) {
        for (const Layout lc : {Layout::kRows, Layout::kPadded, Layout::kColumns})
          CheckStored<TypeParam>(rng, s, la, lb, lc, true);
      }
    }
  }
}

// Shared by threads, in several blocks, and k of several chunks.
TYPED_TEST(StoredGemm, Large) {
  std::mt19937_64 rng(33);
  for (const Shape& s : {Shape{1, 1100, 4096}, Shape{4, 700, 1030}, Shape{40, 300, 700},
                         Shape{257, 260, 256}, Shape{3, 40, 9000}, Shape{20, 700, 4097}})
    CheckStored<TypeParam>(rng, s, Layout::kRows, Layout::kColumns, Layout::kRows, true);
  CheckStored<TypeParam>(rng, {20, 5000, 1100}, Layout::kRows, Layout::kRows, Layout::kRows, false);
}

}  // namespace
}  // namespace frazil
