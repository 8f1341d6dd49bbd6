#include "kernels/gemm/integer_gemm.h"

#include <algorithm>
#include <type_traits>

#include "core/threads/long_work.h"
#include "kernels/gemm/scratch.h"

namespace frazil::gemm {
namespace {

constexpr int64_t kColumns = 256, kSteps = 128;  // a block of B that stays in cache
constexpr int64_t kRowsBetweenQuestions = 64;

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
  U* block = Scratch::ThisThread().Get<U>(Scratch::kPackedB, kColumns * kSteps);
  U* sums = Scratch::ThisThread().Get<U>(Scratch::kOutput, std::max<int64_t>(1, g.m) * kColumns);
  for (int64_t j0 = 0; j0 < g.n; j0 += kColumns) {
    int64_t nj = std::min(kColumns, g.n - j0);
    std::fill(sums, sums + g.m * kColumns, U(0));
    for (int64_t k0 = 0; k0 < g.k; k0 += kSteps) {
      int64_t nk = std::min(kSteps, g.k - k0);
      for (int64_t p = 0; p < nk; ++p) {
        const U* row = b + (k0 + p) * g.b.row_stride + j0 * g.b.col_stride;
        for (int64_t j = 0; j < nj; ++j) block[p * kColumns + j] = row[j * g.b.col_stride];
      }
      for (int64_t i = 0; i < g.m; ++i) {
        if (i % kRowsBetweenQuestions == 0 && Abandoned()) return;
        const U* x = a + i * g.a.row_stride + k0 * g.a.col_stride;
        for (int64_t p = 0; p < nk; ++p) {
          AddScaled<W, U>(x[p * g.a.col_stride], block + p * kColumns, nj, sums + i * kColumns);
        }
      }
    }
    for (int64_t i = 0; i < g.m; ++i) {
      U* to = c + i * g.c.row_stride + j0 * g.c.col_stride;
      for (int64_t j = 0; j < nj; ++j) to[j * g.c.col_stride] = sums[i * kColumns + j];
    }
  }
}

template void IntegerGemm<uint8_t>(const GemmArgs&);
template void IntegerGemm<uint16_t>(const GemmArgs&);
template void IntegerGemm<uint32_t>(const GemmArgs&);
template void IntegerGemm<uint64_t>(const GemmArgs&);

}  // namespace frazil::gemm
