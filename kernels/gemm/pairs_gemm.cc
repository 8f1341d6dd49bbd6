#include "kernels/gemm/pairs_gemm.h"

#include <algorithm>
#include <cstring>

#include "core/threads/fp_mode.h"
#include "core/threads/long_work.h"
#include "core/tuned.h"
#include "kernels/gemm/blocked.h"
#include "kernels/gemm/pairs_rule.h"
#include "kernels/gemm/scratch.h"
#include "kernels/gemm/sum_rule.h"
#include "kernels/gemm/tile_gemm.h"

namespace frazil::gemm {
namespace {

using Matrix = View<BFloat16>;

Matrix ViewOf(const MatrixRef& x) {
  return {static_cast<const BFloat16*>(x.data), x.row_stride, x.col_stride};
}

// Tiles take bits.
View<uint16_t> Bits(const Matrix& x) {
  return {reinterpret_cast<const uint16_t*>(x.data), x.rs, x.cs};
}

void NarrowRow(const float* from, int64_t n, BFloat16* to, int64_t stride) {
  if (stride == 1) return NarrowRun(from, n, to);
  constexpr int64_t kSome = 32;
  BFloat16 some[kSome];
  for (int64_t j = 0; j < n; j += kSome) {
    const int64_t count = std::min(kSome, n - j);
    NarrowRun(from + j, count, some);
    for (int64_t i = 0; i < count; ++i) to[(j + i) * stride] = some[i];
  }
}

void PlainChunk(const Matrix& a, const Matrix& b, int64_t k, const Block<float>& out) {
  const DefaultFpMode mode;
  for (int64_t i = 0; i < out.rows && !Abandoned(); ++i) {
    for (int64_t j = 0; j < out.cols; ++j) {
      out.data[i * out.ld + j] = PairsChunk(
          k, [&](int64_t p) { return Widen(*a.At(i, p)); },
          [&](int64_t p) { return Widen(*b.At(p, j)); });
    }
  }
}

// k is at most kChunk.
void OneChunk(Isa units, const Matrix& a, const Matrix& b, int64_t k, const Block<float>& out) {
  const auto store = [&](const float* words, int64_t ld, int64_t i, int64_t j, int64_t rows,
                         int64_t cols) {
    for (int64_t r = 0; r < rows; ++r)
      std::memcpy(out.data + (i + r) * out.ld + j, words + r * ld, size_t(cols) * sizeof(float));
  };
  if (units == Isa::kAmx && TryTileGemm(Bits(a), Bits(b), out.rows, out.cols, k, store)) return;
  const Isa isa = ResolveIsa(units);
  if (isa != Isa::kScalar && TryStepGemm(isa, Step::kPairs, a, b, k, out, Team())) return;
  PlainChunk(a, b, k, out);
}

// Rows and columns of the output that fit the temporary memory.
void OneBlock(Isa units, const Matrix& a, const Matrix& b, int64_t k, const Block<float>& out) {
  if (k <= kChunk) return OneChunk(units, a, b, k, out);
  const auto leaf = [&](int64_t chunk, const Block<float>& dst) {
    const int64_t k0 = chunk * kChunk;
    OneChunk(units, {a.At(0, k0), a.rs, a.cs}, {b.At(k0, 0), b.rs, b.cs}, std::min(kChunk, k - k0),
             dst);
  };
  ChunkSum<float>::Run((k + kChunk - 1) / kChunk, out, Team(), leaf);
}

}  // namespace

void PairsGemm(const GemmArgs& args, Isa units) {
  const FlushingFpMode mode;
  const bool tiles = units == Isa::kAmx;
  const bool turn =
      tiles ? BetterTransposedOnTiles(args) : args.n < tuned::kFewPairsColumns && args.m > args.n;
  const GemmArgs g = turn ? Transposed(args) : args;
  const Matrix a = ViewOf(g.a), b = ViewOf(g.b);
  BFloat16* c = static_cast<BFloat16*>(g.c.data);
  const auto narrow = [&](const float* words, int64_t ld, int64_t i, int64_t j, int64_t rows,
                          int64_t cols) {
    for (int64_t r = 0; r < rows; ++r)
      NarrowRow(words + r * ld, cols, c + (i + r) * g.c.row_stride + j * g.c.col_stride,
                g.c.col_stride);
  };
  const auto narrow_tile = [&](const float* words, int64_t ld, int64_t i, int64_t j, int64_t rows,
                               int64_t cols) {
    if (g.c.col_stride != 1) return narrow(words, ld, i, j, rows, cols);
    NarrowTile(words, ld, rows, cols, c + i * g.c.row_stride + j, g.c.row_stride);
  };
  if (tiles && g.k <= kChunk && TryTileGemm(Bits(a), Bits(b), g.m, g.n, g.k, narrow_tile)) return;
  for (int64_t j = 0; j < g.n; j += tuned::kPairsColumns) {
    for (int64_t i = 0; i < g.m; i += tuned::kPairsRows) {
      if (Abandoned()) return;
      const int64_t rows = std::min(tuned::kPairsRows, g.m - i),
                    cols = std::min(tuned::kPairsColumns, g.n - j);
      float* out = Scratch::ThisThread().Get<float>(Scratch::kOutput, rows * cols);
      OneBlock(units, {a.At(i, 0), a.rs, a.cs}, {b.At(0, j), b.rs, b.cs}, g.k,
               {out, rows, cols, cols});
      narrow(out, cols, i, j, rows, cols);
    }
  }
}

}  // namespace frazil::gemm
