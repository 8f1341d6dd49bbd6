#include "kernels/gemm/tile_gemm.h"

#include <algorithm>

#include "core/caches.h"
#include "core/ceil_div.h"
#include "core/cpu.h"
#include "core/threads/long_work.h"
#include "core/tuned.h"
#include "kernels/gemm/scratch.h"
#include "kernels/gemm/tile_code.h"
#include "kernels/gemm/words.h"

namespace frazil::gemm {
namespace {

// Sizes that keep blocks in the caches. They change speed only.
constexpr int64_t kPanel = 32;  // rows or columns that a kernel computes
constexpr int64_t kTile = kPanel * kPanel;

template <typename S>
class Tiles {
 public:
  Tiles(View<S> a, View<S> b, int64_t m, int64_t n, int64_t k, TileSink sink)
      : a_(a), b_(b), m_(m), n_(n), k_(k), sink_(sink) {
    steps_ = std::max<int64_t>(1, CeilDiv(k, kStep));
    parts_ = steps_ <= tuned::kTileSteps ? 1 : CeilDiv(steps_, tuned::kTilePartSteps);
    direct_ = a.cs == 1 && k > 0 && k % kStep == 0 && n <= tuned::kTileDirectColumns;
    const int64_t column = CeilDiv(steps_, parts_) * kTileBytes;
    columns_ = std::max<int64_t>(1, SecondLevelCacheBytes() / 4 / column / kPanel) * kPanel;
    rows_ = parts_ == 1 ? m : tuned::kTileRowsAtOnce;
  }

  bool FindKernels() {
    for (int rows = 1; rows <= 2; ++rows) {
      for (int cols = 1; cols <= 2; ++cols) {
        kernels_[rows - 1][cols - 1] = GetTiles({sizeof(S) == 2, rows, cols});
        if (kernels_[rows - 1][cols - 1] == nullptr) return false;
      }
    }
    return true;
  }

  void Run() {
    for (int64_t j = 0; j < n_; j += columns_) {
      for (int64_t i = 0; i < m_; i += rows_)
        Block(i, std::min(m_, i + rows_), j, std::min(n_, j + columns_));
    }
  }

 private:
  static constexpr int64_t kStep = kTileBytes / int64_t(sizeof(S));  // of k

  // Rows [i0, i1) and columns [j0, j1) of the output.
  void Block(int64_t i0, int64_t i1, int64_t j0, int64_t j1) {
    const int64_t panels = CeilDiv(j1 - j0, kPanel);
    const int64_t sums = parts_ == 1 ? 2 * kTile : CeilDiv(i1 - i0, kPanel) * panels * kTile;
    float* c = Scratch::ThisThread().Get<float>(Scratch::kTiles, sums);
    for (int64_t p = 0; p < parts_; ++p) {
      const int64_t first = steps_ * p / parts_, steps = steps_ * (p + 1) / parts_ - first;
      const int64_t k0 = first * kStep, words = steps * kTileWords;
      const int64_t apart = kPanel * words + tuned::kTilePadding;
      float* packed = Scratch::ThisThread().Get<float>(Scratch::kWordsB, panels * apart);
      ColumnWords(View<S>{b_.At(k0, j0), b_.rs, b_.cs}, j1 - j0, k_ - k0, words,
                  {packed, kPanel, apart});
      TileCall call{};
      call.steps = steps;
      call.accumulate = p != 0;
      Complete complete;
      for (int64_t i = i0; i < i1 && !Abandoned(); i += kPanel) {
        const int64_t rows = std::min(kPanel, i1 - i);
        FindRows(i, rows, k0, words, &call);
        for (int64_t panel = 0; panel < panels; ++panel) {
          const int64_t j = j0 + panel * kPanel, cols = std::min(kPanel, j1 - j);
          const int64_t tile = (i - i0) / kPanel * panels + panel;
          call.b = packed + panel * apart;
          call.c = c + (parts_ == 1 ? tile % 2 : tile) * kTile;
          kernels_[rows > kTileRows][cols > kTileWords](&call);
          if (p + 1 < parts_) continue;
          Tell(complete);
          complete = {static_cast<const float*>(call.c), i, j, rows, cols};
        }
      }
      Tell(complete);
    }
  }

  // A tile that is complete. The sink hears of it when the next one has been started: what tiles
  // stored cannot be read at once.
  struct Complete {
    const float* words = nullptr;
    int64_t i = 0, j = 0, rows = 0, cols = 0;
  };
  void Tell(const Complete& tile) const {
    if (tile.words != nullptr) sink_(tile.words, kPanel, tile.i, tile.j, tile.rows, tile.cols);
  }

  // Where the kernel finds rows of A: in place, or where they are copied.
  void FindRows(int64_t i, int64_t rows, int64_t k0, int64_t words, TileCall* call) {
    call->a_step = kTileBytes;
    if (direct_ && rows % kTileRows == 0) {
      call->a[0] = a_.At(i, k0), call->a[1] = a_.At(i + kTileRows, k0);
      call->a_row = a_.rs * int64_t(sizeof(S));
      return;
    }
    const int64_t ld = words + tuned::kTileRowPadding;
    float* packed = Scratch::ThisThread().Get<float>(Scratch::kWordsA, kPanel * ld);
    RowWords(View<S>{a_.At(i, k0), a_.rs, a_.cs}, rows, k_ - k0, words, packed, ld);
    call->a[0] = packed, call->a[1] = packed + kTileRows * ld;
    call->a_row = ld * int64_t(sizeof(float));
  }

  const View<S> a_, b_;
  const int64_t m_, n_, k_;
  const TileSink sink_;
  int64_t steps_, parts_;   // of k: those of tiles, and between visits to C
  int64_t rows_, columns_;  // of C that are worked on at a time
  bool direct_;             // whole tiles of A are read where they lie
  TileKernel kernels_[2][2];
};

}  // namespace

template <typename S>
bool TryTileGemm(View<S> a, View<S> b, int64_t m, int64_t n, int64_t k, TileSink sink) {
  if (!AmxAllowed()) return false;
  Tiles<S> tiles(a, b, m, n, k, sink);
  if (!tiles.FindKernels()) return false;
  const TileScope scope;
  tiles.Run();
  return true;
}

bool BetterTransposedOnTiles(const GemmArgs& g) {
  if (g.a.col_stride != 1) return g.b.row_stride == 1;
  return g.b.row_stride == 1 && 4 * g.m <= g.n;
}

template bool TryTileGemm(View<uint8_t>, View<uint8_t>, int64_t, int64_t, int64_t, TileSink);
template bool TryTileGemm(View<uint16_t>, View<uint16_t>, int64_t, int64_t, int64_t, TileSink);

}  // namespace frazil::gemm
