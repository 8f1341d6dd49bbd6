#include "kernels/gemm/integer_gemm.h"

#include <algorithm>
#include <type_traits>

#include "core/threads/long_work.h"
#include "core/tuned.h"
#include "kernels/gemm/scratch.h"

namespace frazil::gemm {
namespace {

// row[j] += x * b[j] for adjacent j, vectorised by the compiler.
template <typename W, typename U>
void AddScaled(U x, const U* b, int64_t n, U* row) {
  for (int64_t j = 0; j < n; ++j) row[j] = U(W(row[j]) + W(x) * W(b[j]));
}

}  // namespace

template <typename S>
void IntegerGemm(const GemmArgs& g) {
  using U = std::make_unsigned_t<S>;
  using W = std::conditional_t<(sizeof(U) < 4), uint32_t, U>;  // no promotion to a signed type
  const U* a = static_cast<const U*>(g.a.data);
  const U* b = static_cast<const U*>(g.b.data);
  U* c = static_cast<U*>(g.c.data);
  U* block = Scratch::ThisThread().Get<U>(Scratch::kPackedB,
                                          tuned::kIntegerColumns * tuned::kIntegerSteps);
  U* sums = Scratch::ThisThread().Get<U>(Scratch::kOutput,
                                         std::max<int64_t>(1, g.m) * tuned::kIntegerColumns);
  for (int64_t j0 = 0; j0 < g.n; j0 += tuned::kIntegerColumns) {
    int64_t nj = std::min(tuned::kIntegerColumns, g.n - j0);
    std::fill(sums, sums + g.m * tuned::kIntegerColumns, U(0));
    for (int64_t k0 = 0; k0 < g.k; k0 += tuned::kIntegerSteps) {
      int64_t nk = std::min(tuned::kIntegerSteps, g.k - k0);
      for (int64_t p = 0; p < nk; ++p) {
        const U* row = b + (k0 + p) * g.b.row_stride + j0 * g.b.col_stride;
        for (int64_t j = 0; j < nj; ++j)
          block[p * tuned::kIntegerColumns + j] = row[j * g.b.col_stride];
      }
      for (int64_t i = 0; i < g.m; ++i) {
        if (i % tuned::kRowsBetweenQuestions == 0 && Abandoned()) return;
        const U* x = a + i * g.a.row_stride + k0 * g.a.col_stride;
        for (int64_t p = 0; p < nk; ++p) {
          AddScaled<W, U>(x[p * g.a.col_stride], block + p * tuned::kIntegerColumns, nj,
                          sums + i * tuned::kIntegerColumns);
        }
      }
    }
    for (int64_t i = 0; i < g.m; ++i) {
      U* to = c + i * g.c.row_stride + j0 * g.c.col_stride;
      for (int64_t j = 0; j < nj; ++j)
        to[j * g.c.col_stride] = sums[i * tuned::kIntegerColumns + j];
    }
  }
}

void WideGemm(const GemmArgs& g) {
  const auto* a = static_cast<const int8_t*>(g.a.data);
  const auto* b = static_cast<const int8_t*>(g.b.data);
  auto* c = static_cast<uint32_t*>(g.c.data);
  for (int64_t i = 0; i < g.m; ++i) {
    if (i % tuned::kRowsBetweenQuestions == 0 && Abandoned()) return;
    for (int64_t j = 0; j < g.n; ++j) {
      uint32_t sum = 0;
      for (int64_t p = 0; p < g.k; ++p) {
        sum += uint32_t(int32_t(a[i * g.a.row_stride + p * g.a.col_stride]) *
                        int32_t(b[p * g.b.row_stride + j * g.b.col_stride]));
      }
      c[i * g.c.row_stride + j * g.c.col_stride] = sum;
    }
  }
}

template void IntegerGemm<uint8_t>(const GemmArgs&);
template void IntegerGemm<uint16_t>(const GemmArgs&);
template void IntegerGemm<uint32_t>(const GemmArgs&);
template void IntegerGemm<uint64_t>(const GemmArgs&);

}  // namespace frazil::gemm
