#include "kernels/gemm/float_gemm.h"

#include <algorithm>
#include <type_traits>
#include <utility>

#include "core/threads/long_work.h"
#include "core/tuned.h"
#include "kernels/gemm/blocked.h"
#include "kernels/gemm/codegen.h"
#include "kernels/gemm/convert.h"
#include "kernels/gemm/scratch.h"
#include "kernels/gemm/sum_rule.h"

namespace frazil::gemm {
namespace {

// The vectors run along the columns of C: whether the problem's transpose suits that better. The
// bits are the same, since a product commutes.
template <typename S>
bool BetterTransposed(const GemmArgs& g, Isa isa) {
  auto adjacent_rows = [](const MatrixRef& x) { return x.row_stride == 1 && x.col_stride != 1; };
  const bool dots = std::is_same_v<S, Acc<S>> && isa != Isa::kScalar;
  // A vector times a few vectors that each lie in their own memory: they are rows, the result a
  // column that takes a lane. There are too few of them to be transposed in registers.
  const auto one_lane = [&](const MatrixRef& few, int64_t count) {
    return dots && adjacent_rows(few) && count <= tuned::kFewRows &&
           count < Lanes(isa, sizeof(S) == 8);
  };
  if (g.m == 1) return one_lane(g.b, g.n);
  if (g.n == 1) return !one_lane({nullptr, g.a.col_stride, g.a.row_stride}, g.m);
  if (adjacent_rows(g.c)) return true;
  // A few rows against a B that would have to be transposed in memory, or a few columns beside an A
  // that need not be.
  if (!dots && g.m <= tuned::kFewRows && 4 * g.m <= g.n && adjacent_rows(g.b)) return true;
  return g.n <= tuned::kFewRows && 4 * g.n <= g.m && adjacent_rows(g.a);
}

// The problem as it is computed. Of a single column the next one lies wherever that suits.
template <typename S>
GemmArgs Oriented(const GemmArgs& args, Isa isa, bool* transposed) {
  *transposed = BetterTransposed<S>(args, isa);
  GemmArgs g = *transposed ? Transposed(args) : args;
  if (g.n == 1) g.b.col_stride = g.c.col_stride = 1;
  return g;
}

// All of k, into accumulators.
template <typename S>
void AllChunks(Isa isa, View<S> a, View<S> b, int64_t k, const Block<Acc<S>>& out,
               const Team& team) {
  if (k <= kChunk) return ChunkGemm(isa, a, b, k, out, team);
  auto leaf = [&](int64_t chunk, const Block<Acc<S>>& dst) {
    int64_t k0 = chunk * kChunk;
    View<S> a_part{a.At(0, k0), a.rs, a.cs}, b_part{b.At(k0, 0), b.rs, b.cs};
    ChunkGemm(isa, a_part, b_part, std::min(kChunk, k - k0), dst, team);
  };
  ChunkSum<Acc<S>>::Run((k + kChunk - 1) / kChunk, out, team, leaf);
}

template <typename S>
void StoreRow(const Acc<S>* from, int64_t n, S* to, int64_t stride) {
  if (stride == 1) return NarrowRun(from, n, to);
  for (int64_t j = 0; j < n; ++j) Narrow(from[j], to + j * stride);
}

// A part of the output that fits the temporary memory.
template <typename S>
void OneBlock(Isa isa, View<S> a, View<S> b, int64_t k, int64_t rows, int64_t cols, S* to,
              int64_t row_stride, int64_t col_stride, const Team& team) {
  using T = Acc<S>;
  if constexpr (std::is_same_v<S, T>) {
    if (col_stride == 1) return AllChunks(isa, a, b, k, Block<T>{to, rows, cols, row_stride}, team);
  }
  T* out = Scratch::ThisThread().Get<T>(Scratch::kOutput, rows * cols);
  AllChunks(isa, a, b, k, Block<T>{out, rows, cols, cols}, team);
  for (int64_t r = 0; r < rows; ++r)
    StoreRow(out + r * cols, cols, to + r * row_stride, col_stride);
}

// Kept out of line: a small product has no use for its frame.
template <typename S>
__attribute__((noinline)) void InBlocks(Isa isa, View<S> a, View<S> b, const GemmArgs& g,
                                        const Team& team) {
  int64_t columns = std::min(g.n, tuned::kBlockColumns);
  int64_t rows = std::min(g.m, std::max<int64_t>(1, tuned::kBlockElements / columns));
  for (int64_t j = 0; j < g.n; j += columns) {
    for (int64_t i = 0; i < g.m; i += rows) {
      if (Abandoned()) return;
      View<S> a_part{a.At(i, 0), a.rs, a.cs}, b_part{b.At(0, j), b.rs, b.cs};
      S* to = static_cast<S*>(g.c.data) + i * g.c.row_stride + j * g.c.col_stride;
      OneBlock(isa, a_part, b_part, g.k, std::min(rows, g.m - i), std::min(columns, g.n - j), to,
               g.c.row_stride, g.c.col_stride, team);
    }
  }
}

}  // namespace

template <typename S>
void FloatGemm(const GemmArgs& args, Isa isa, const Team& team) {
  bool transposed = false;
  const GemmArgs g = Oriented<S>(args, isa, &transposed);
  View<S> a{static_cast<const S*>(g.a.data), g.a.row_stride, g.a.col_stride};
  View<S> b{static_cast<const S*>(g.b.data), g.b.row_stride, g.b.col_stride};
  if constexpr (std::is_same_v<S, Acc<S>>) {
    if (g.k <= kChunk && g.c.col_stride == 1) {
      Block<S> c{static_cast<S*>(g.c.data), g.m, g.n, g.c.row_stride};
      return ChunkGemm(isa, a, b, g.k, c, transposed ? team.Quiet() : team);
    }
  }
  InBlocks(isa, a, b, g, team.Quiet());
}

template <typename S>
std::optional<SmallCalls> FloatCalls(const GemmArgs& args, Isa isa, bool* transposed) {
  const GemmArgs g = Oriented<S>(args, isa, transposed);
  if (isa == Isa::kScalar || g.k > kChunk || g.c.col_stride != 1) return std::nullopt;
  return ListCalls<S>(isa, {static_cast<const S*>(g.a.data), g.a.row_stride, g.a.col_stride},
                      {static_cast<const S*>(g.b.data), g.b.row_stride, g.b.col_stride}, g.k,
                      {static_cast<S*>(g.c.data), g.m, g.n, g.c.row_stride});
}

template <typename S>
std::optional<Repeated<S>> FloatSeries(const GemmArgs& like, Isa isa, bool* transposed) {
  const GemmArgs g = Oriented<S>(like, isa, transposed);
  if (isa == Isa::kScalar || g.k > kChunk || g.c.col_stride != 1) return std::nullopt;
  return Repeated<S>(isa, {nullptr, g.a.row_stride, g.a.col_stride},
                     {nullptr, g.b.row_stride, g.b.col_stride}, g.k,
                     {nullptr, g.m, g.n, g.c.row_stride});
}

template <typename S>
void FloatGemmAdd(const GemmArgs& g, Isa isa) {
  FZ_CHECK(g.k <= kChunk && g.c.col_stride == 1);
  View<S> a{static_cast<const S*>(g.a.data), g.a.row_stride, g.a.col_stride};
  View<S> b{static_cast<const S*>(g.b.data), g.b.row_stride, g.b.col_stride};
  Block<S> c{static_cast<S*>(g.c.data), g.m, g.n, g.c.row_stride};
  ChunkGemm(isa, a, b, g.k, c, Team(), true);
}

template std::optional<SmallCalls> FloatCalls<float>(const GemmArgs&, Isa, bool*);
template std::optional<SmallCalls> FloatCalls<double>(const GemmArgs&, Isa, bool*);
template std::optional<Repeated<float>> FloatSeries<float>(const GemmArgs&, Isa, bool*);
template std::optional<Repeated<double>> FloatSeries<double>(const GemmArgs&, Isa, bool*);
template void FloatGemmAdd<float>(const GemmArgs&, Isa);
template void FloatGemmAdd<double>(const GemmArgs&, Isa);
template void FloatGemm<float>(const GemmArgs&, Isa, const Team&);
template void FloatGemm<double>(const GemmArgs&, Isa, const Team&);
template void FloatGemm<Half>(const GemmArgs&, Isa, const Team&);
template void FloatGemm<BFloat16>(const GemmArgs&, Isa, const Team&);

}  // namespace frazil::gemm
