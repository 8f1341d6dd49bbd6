#include "kernels/gemm/word_gemm.h"

#include <algorithm>
#include <cstring>
#include <type_traits>
#include <utility>

#include "core/threads/long_work.h"
#include "core/tuned.h"
#include "kernels/gemm/blocked.h"
#include "kernels/gemm/scratch.h"
#include "kernels/gemm/tile_gemm.h"
#include "kernels/gemm/wide_dots.h"
#include "kernels/gemm/wide_panels.h"
#include "kernels/gemm/words.h"

namespace frazil::gemm {
namespace {

// Words of integers to elements of type S, `stride` apart.
template <typename S>
void NarrowWords(const float* words, int64_t n, S* to, int64_t stride) {
  const auto at = [&](int64_t j) {
    uint32_t word;
    std::memcpy(&word, words + j, sizeof(word));
    return static_cast<S>(word);
  };
  if (stride == 1) {
    for (int64_t j = 0; j < n; ++j) to[j] = at(j);
  } else {
    for (int64_t j = 0; j < n; ++j) to[j * stride] = at(j);
  }
}

template <typename S>
View<S> ViewOf(const MatrixRef& x) {
  return {static_cast<const S*>(x.data), x.row_stride, x.col_stride};
}

// The vectors run along the columns of C, and rows of A are copied as they are or read in place.
bool BetterTransposed(const GemmArgs& g) {
  if (g.n < tuned::kFewWordColumns && g.m > g.n) return true;
  if (g.m < tuned::kFewWordColumns && g.n > g.m) return false;
  return g.a.col_stride != 1 && g.b.row_stride == 1;
}

// What becomes of bytes: `kWiden` makes them 16 bits, with their sign, whose products are right in
// all 32. `kOffset` adds 128 to those of A, which are unsigned then, as the instruction for bytes
// wants them; a row of ones below A sums B's columns, 128 times of which is taken away again.
enum class Bytes : uint8_t { kSame, kWiden, kOffset };

// Of elements of type S, into those of type C.
template <typename S, typename C = S>
class WordGemm {
 public:
  WordGemm(const GemmArgs& g, Isa isa, Step step, Bytes bytes)
      : g_(g),
        a_(ViewOf<S>(g.a)),
        b_(ViewOf<S>(g.b)),
        isa_(isa),
        step_(step),
        widen_(bytes == Bytes::kWiden),
        offset_(bytes == Bytes::kOffset) {}

  bool Run() {
    for (int64_t j = 0; j < g_.n; j += tuned::kWordColumns) {
      for (int64_t i = 0; i < g_.m; i += tuned::kWordRows) {
        if (Abandoned()) return true;
        if (!OneBlock(i, std::min(tuned::kWordRows, g_.m - i), j,
                      std::min(tuned::kWordColumns, g_.n - j)))
          return false;
      }
    }
    return true;
  }

 private:
  bool OneBlock(int64_t i, int64_t rows, int64_t j, int64_t cols) {
    Scratch& scratch = Scratch::ThisThread();
    C* to = static_cast<C*>(g_.c.data) + i * g_.c.row_stride + j * g_.c.col_stride;
    const bool direct = sizeof(C) == 4 && g_.c.col_stride == 1 && !offset_;
    Block<float> out{nullptr, rows + offset_, cols, direct ? g_.c.row_stride : cols};
    out.data = direct ? reinterpret_cast<float*>(to)
                      : scratch.Get<float>(Scratch::kOutput, out.rows * cols);
    const int64_t part = tuned::kWordSteps * kInWord<S> / (widen_ ? 2 : 1);
    for (int64_t k0 = 0; k0 == 0 || k0 < g_.k; k0 += part) {
      const int64_t k = std::min(part, g_.k - k0);
      const int64_t words = widen_ ? WordsOf<uint16_t>(k) : WordsOf<S>(k);
      const View<float> a = Rows({a_.At(i, k0), a_.rs, a_.cs}, rows, k, words);
      const View<float> b = Columns({b_.At(k0, j), b_.rs, b_.cs}, cols, k, words);
      if (!TryStepGemm(isa_, step_, a, b, words, out, Team(), k0 != 0)) return false;
    }
    for (int64_t r = 0; r < rows && offset_; ++r)
      TakeAway(out.data + rows * cols, cols, out.data + r * cols);
    for (int64_t r = 0; r < rows && !direct; ++r)
      NarrowWords(out.data + r * cols, cols, to + r * g_.c.row_stride, g_.c.col_stride);
    return true;
  }

  View<float> Rows(View<S> from, int64_t rows, int64_t k, int64_t words) const {
    if (sizeof(S) == 4) return {reinterpret_cast<const float*>(from.data), from.rs, from.cs};
    if (offset_) return OffsetRows(from, rows, k, words);
    if (!widen_ && from.cs == 1 && k % kInWord<S> == 0 && from.rs % kInWord<S> == 0)
      return {reinterpret_cast<const float*>(from.data), from.rs / kInWord<S>, 1};
    float* to = Scratch::ThisThread().Get<float>(Scratch::kWordsA, rows * words);
    if (widen_) {
      RowWords(Widened(from, rows, k), rows, k, words, to, words);
    } else {
      RowWords(from, rows, k, words, to, words);
    }
    return {to, words, 1};
  }

  // Rows of A plus 128, and one of ones. What is behind k meets zeros of B.
  static View<float> OffsetRows(View<S> from, int64_t rows, int64_t k, int64_t words) {
    float* to = Scratch::ThisThread().Get<float>(Scratch::kWordsA, (rows + 1) * words);
    RowWords(from, rows, k, words, to, words);
    auto* bytes = reinterpret_cast<unsigned char*>(to);
    for (int64_t i = 0; i < rows * words * 4; ++i) bytes[i] ^= 0x80;
    std::memset(bytes + rows * words * 4, 1, size_t(words) * 4);
    return {to, words, 1};
  }

  // row[j] -= 128 * sums[j], both integers of 32 bits.
  static void TakeAway(const float* sums, int64_t n, float* row) {
    for (int64_t j = 0; j < n; ++j) {
      uint32_t sum, word;
      std::memcpy(&sum, sums + j, sizeof sum);
      std::memcpy(&word, row + j, sizeof word);
      word -= 128 * sum;
      std::memcpy(row + j, &word, sizeof word);
    }
  }

  View<float> Columns(View<S> from, int64_t cols, int64_t k, int64_t words) const {
    if (sizeof(S) == 4) return {reinterpret_cast<const float*>(from.data), from.rs, from.cs};
    float* to = Scratch::ThisThread().Get<float>(Scratch::kWordsB, cols * words);
    if (widen_) {
      ColumnWords(Widened(from, k, cols), cols, k, words, {to, cols, 0});
    } else {
      ColumnWords(from, cols, k, words, {to, cols, 0});
    }
    return {to, cols, 1};
  }

  static uint16_t WithSign(S x) {
    return static_cast<uint16_t>(static_cast<std::make_signed_t<S>>(x));
  }

  // A copy in 16 bits, with the longer runs adjacent.
  static View<uint16_t> Widened(View<S> from, int64_t rows, int64_t cols) {
    if (from.rs == 1 && from.cs != 1) return Widened(from.Transposed(), cols, rows).Transposed();
    uint16_t* to = Scratch::ThisThread().Get<uint16_t>(Scratch::kWidened, rows * cols);
    for (int64_t r = 0; r < rows; ++r) {
      if (from.cs == 1) {
        const S* row = from.At(r, 0);
        for (int64_t c = 0; c < cols; ++c) to[r * cols + c] = WithSign(row[c]);
      } else {
        for (int64_t c = 0; c < cols; ++c) to[r * cols + c] = WithSign(*from.At(r, c));
      }
    }
    return {to, cols, 1};
  }

  const GemmArgs& g_;
  const View<S> a_, b_;
  const Isa isa_;
  const Step step_;
  const bool widen_, offset_;
};

bool OnTiles(const GemmArgs& g) {
  uint8_t* c = static_cast<uint8_t*>(g.c.data);
  const auto narrow = [&](const float* words, int64_t ld, int64_t i, int64_t j, int64_t rows,
                          int64_t cols) {
    uint8_t* to = c + i * g.c.row_stride + j * g.c.col_stride;
    if (g.c.col_stride == 1) return NarrowTile(words, ld, rows, cols, to, g.c.row_stride);
    for (int64_t r = 0; r < rows; ++r)
      NarrowWords(words + r * ld, cols, to + r * g.c.row_stride, g.c.col_stride);
  };
  return TryTileGemm(ViewOf<uint8_t>(g.a), ViewOf<uint8_t>(g.b), g.m, g.n, g.k, narrow);
}

bool WideOnTiles(const GemmArgs& g) {
  auto* c = static_cast<uint32_t*>(g.c.data);
  const auto store = [&](const float* words, int64_t ld, int64_t i, int64_t j, int64_t rows,
                         int64_t cols) {
    for (int64_t r = 0; r < rows; ++r)
      NarrowWords(words + r * ld, cols, c + (i + r) * g.c.row_stride + j * g.c.col_stride,
                  g.c.col_stride);
  };
  return TryTileGemm(ViewOf<uint8_t>(g.a), ViewOf<uint8_t>(g.b), g.m, g.n, g.k, store);
}

bool HasVnni(Isa isa) { return isa == Isa::kAvx2Vnni || isa >= Isa::kAvx512Vnni; }

}  // namespace

template <typename S>
bool TryWordGemm(const GemmArgs& args, Isa isa) {
  if (isa == Isa::kScalar) return false;
  const bool tiles = sizeof(S) == 1 && isa == Isa::kAmx;
  const bool turn = tiles ? BetterTransposedOnTiles(args) : BetterTransposed(args);
  GemmArgs g = args;
  if (turn) g = Transposed(args);
  if (tiles && OnTiles(g)) return true;
  const Step halves = HasVnni(isa) ? Step::kHalves : Step::kPlainHalves;
  const Step step = sizeof(S) == 4                   ? Step::kWords
                    : sizeof(S) == 1 && HasVnni(isa) ? Step::kBytes
                                                     : halves;
  const Bytes bytes = sizeof(S) == 1 && step == Step::kPlainHalves ? Bytes::kWiden : Bytes::kSame;
  return WordGemm<S>(g, ResolveIsa(isa), step, bytes).Run();
}

bool TryWideGemm(const GemmArgs& args, Isa isa) {
  if (isa == Isa::kScalar) return false;
  if (TryWidePanels(args, isa)) return true;
  if (TryWideDots(args, isa) || TryWideDots(Transposed(args), isa)) return true;
  const bool tiles = isa == Isa::kAmx;
  const bool turn = tiles ? BetterTransposedOnTiles(args) : BetterTransposed(args);
  GemmArgs g = args;
  if (turn) g = Transposed(args);
  if (tiles && WideOnTiles(g)) return true;
  const bool units = HasVnni(isa);
  return WordGemm<uint8_t, uint32_t>(g, ResolveIsa(isa), units ? Step::kBytes : Step::kPlainHalves,
                                     units ? Bytes::kOffset : Bytes::kWiden)
      .Run();
}

template bool TryWordGemm<uint8_t>(const GemmArgs&, Isa);
template bool TryWordGemm<uint16_t>(const GemmArgs&, Isa);
template bool TryWordGemm<uint32_t>(const GemmArgs&, Isa);

}  // namespace frazil::gemm
