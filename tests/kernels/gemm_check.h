// Products of random matrices by every instruction set and split, against the plain definition.
// Called by gemm_test.cc and units_test.cc. Invariant: the whole memory of an output is compared.
#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <thread>
#include <vector>

#include "core/dtype.h"
#include "kernels/gemm/gemm.h"
#include "kernels/gemm/reference.h"
#include "tests/guarded_bytes.h"
#include "tests/kernels/values.h"

namespace frazil {

struct Shape {
  int64_t m, n, k;
};

// How a matrix lies in memory.
enum class Layout { kRows, kColumns, kPadded, kGeneral, kReversed, kSameRow, kSameColumn };
constexpr Layout kLayouts[] = {Layout::kRows,      Layout::kColumns,  Layout::kPadded,
                               Layout::kGeneral,   Layout::kReversed, Layout::kSameRow,
                               Layout::kSameColumn};

// A matrix with memory of its own in a given layout; filled whole, and an inaccessible page behind
// it, so that stray reads would show.
template <typename T>
struct Matrix {
  GuardedVector<T> memory;
  MatrixRef ref;

  Matrix(std::mt19937_64& rng, int64_t rows, int64_t cols, Layout layout, bool special) {
    int64_t origin = 0, size = std::max<int64_t>(1, rows * cols);
    int64_t rs = cols, cs = 1;
    switch (layout) {
      case Layout::kRows:
        break;
      case Layout::kColumns:
        rs = 1, cs = rows;
        break;
      case Layout::kPadded:
        rs = cols + 3, size = rows * rs + 1;
        break;
      case Layout::kGeneral:
        cs = 3, rs = 3 * cols + 2, size = rows * rs + 1;
        break;
      case Layout::kReversed:
        rs = -cols, cs = -1, origin = size - 1;
        break;
      case Layout::kSameRow:
        rs = 0;
        break;
      case Layout::kSameColumn:
        rs = 1, cs = 0;
        break;
    }
    memory.resize(size_t(size));
    for (T& x : memory) x = Make<T>(rng, special);
    ref = {memory.data() + origin, rs, cs};
  }
};

template <typename T>
void ExpectSame(const Matrix<T>& want, const Matrix<T>& got, const char* what, const Shape& s) {
  for (size_t i = 0; i < want.memory.size(); ++i) {
    ASSERT_TRUE(SameBits(want.memory[i], got.memory[i]))
        << what << " m=" << s.m << " n=" << s.n << " k=" << s.k << " at " << i;
  }
}

inline void RunOnThreads(int64_t count, absl::FunctionRef<void(int64_t)> body) {
  std::vector<std::thread> threads;
  for (int64_t i = 0; i < count; ++i) threads.emplace_back([body, i] { body(i); });
  for (std::thread& t : threads) t.join();
}

constexpr const char* kIsaNames[] = {"scalar",      "avx2", "avx2 vnni", "avx512",
                                     "avx512 vnni", "amx",  "best"};

// Those that have code of their own for the type.
template <typename T>
std::vector<Isa> IsasFor(bool pairs) {
  if constexpr (std::is_integral_v<T> && sizeof(T) < 8) {
    return {Isa::kScalar, Isa::kAvx2, Isa::kAvx2Vnni, Isa::kAvx512, Isa::kAvx512Vnni, Isa::kBest};
  } else {
    if (pairs) return {Isa::kScalar, Isa::kAvx2, Isa::kAvx512, Isa::kBest};
    return {Isa::kScalar, Isa::kAvx2, Isa::kBest};
  }
}

// Every instruction set, and the parallel split, against the reference. The whole memory of the
// output is compared, so a write outside of it shows too.
template <typename T>
void Check(std::mt19937_64& rng, const Shape& s, Layout la, Layout lb, Layout lc, bool special,
           bool pairs = false) {
  Matrix<T> a(rng, s.m, s.k, la, special), b(rng, s.k, s.n, lb, special);
  Matrix<T> want(rng, s.m, s.n, lc, false);
  auto args = [&](Matrix<T>& c) {
    return GemmArgs{DTypeOf<T>::value, s.m, s.n, s.k, a.ref, b.ref, c.ref, pairs};
  };
  auto fresh = [&] {
    Matrix<T> c = want;
    c.ref.data = c.memory.data() + (static_cast<T*>(want.ref.data) - want.memory.data());
    return c;
  };
  Matrix<T> split = fresh();
  gemm::ReferenceGemm(args(want));
  for (const Isa isa : IsasFor<T>(pairs)) {
    Matrix<T> c = fresh();
    Gemm(args(c), isa);
    ExpectSame(want, c, kIsaNames[int(isa)], s);
  }
  GemmParallel(args(split), 3, RunOnThreads);
  ExpectSame(want, split, "split", s);
  split = fresh();
  GemmOnPool(args(split));
  ExpectSame(want, split, "pool", s);
  split = fresh();
  std::vector<std::atomic<int>> told(static_cast<size_t>(s.m));
  std::atomic<bool> complete{true};
  const auto element = [](const MatrixRef& x, int64_t i, int64_t j) {
    return static_cast<T*>(x.data)[i * x.row_stride + j * x.col_stride];
  };
  const auto done = [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      ++told[static_cast<size_t>(i)];
      for (int64_t j = 0; j < s.n; ++j) {
        if (!SameBits(element(want.ref, i, j), element(split.ref, i, j))) complete = false;
      }
    }
  };
  GemmOnPool(args(split), RowsDone(done));
  ExpectSame(want, split, "by rows", s);
  EXPECT_TRUE(complete) << "m=" << s.m << " n=" << s.n << " k=" << s.k;
  for (const std::atomic<int>& times : told) ASSERT_EQ(times, 1);
  for (const Isa isa : IsasFor<T>(pairs)) {
    // Plain loops have nothing that is kept from run to run: small ones show that.
    if (isa == Isa::kScalar && s.m * s.n * s.k > 1'000'000) continue;
    Matrix<T> other(rng, s.m, s.k, la, false), repeated = fresh();
    GemmSeries series(args(repeated), isa);
    series.Run(other.ref.data, b.ref.data, repeated.ref.data);
    series.Run(a.ref.data, b.ref.data, repeated.ref.data);
    ExpectSame(want, repeated, "series", s);
  }
}

}  // namespace frazil
