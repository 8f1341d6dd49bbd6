#include "kernels/conv/weight_lines.h"

#include <algorithm>
#include <vector>

#include "core/caches.h"
#include "core/threads/fp_mode.h"
#include "core/threads/long_work.h"
#include "core/threads/parallel.h"
#include "core/tuned.h"
#include "kernels/conv/padded.h"
#include "kernels/conv/run_tiles.h"
#include "kernels/gemm/scratch.h"
#include "kernels/gemm/sum_rule.h"

namespace frazil::conv {
namespace {

using gemm::Block;
using gemm::kChunk;
using gemm::Scratch;

constexpr int64_t kFewPositions = 256, kManyPositions = 512;  // at a time
constexpr int64_t kFewestReaders = 8;  // of a slice of the other operand, for it to be made dense

// For one row of the windows, an element of which is a column of the left factor: the outputs of a
// line are a run of the sum, and so are those of the next.
template <typename S>
class WeightLines {
 public:
  WeightLines(const ConvArgs& g, const gemm::View<S>& other, Isa isa)
      : g_(g),
        s_(g.shape),
        other_(other),
        row_(s_.kernel_w * s_.channels),
        tiles_(isa, gemm::ALayout::kColumns, row_, s_.outputs),
        positions_(s_.positions()),
        piece_(Bytes(kManyPositions) <= SecondLevelCacheBytes() ? kManyPositions : kFewPositions),
        chunks_((positions_ + kChunk - 1) / kChunk) {}

  bool Run() {
    if (!tiles_.made()) return false;
    const int64_t blocks = tiles_.blocks() * s_.kernel_h, size = s_.window() * s_.outputs;
    if (SharesChunks(blocks, size)) {
      ByChunks(blocks, size);
    } else {
      ParallelFor(blocks, 1, [&](int64_t begin, int64_t end) {
        const DefaultFpMode mode;
        S* out = static_cast<S*>(g_.result) + RowOf(begin) * s_.outputs;
        gemm::ChunkSum<S>::Run(
            chunks_, Block<S>{out, RowOf(end) - RowOf(begin), s_.outputs, s_.outputs}, gemm::Team(),
            [&](int64_t index, const Block<S>& part) { Chunk(index, begin, end, part); });
      });
    }
    return true;
  }

 private:
  // Lines of the image that so many positions take up, and their memory.
  int64_t Held(int64_t positions) const {
    return PaddedLines<S>::Held(s_, positions / s_.out_w + 2);
  }
  int64_t Bytes(int64_t positions) const {
    return PaddedLines<S>::Elements(s_, Held(positions)) * int64_t(sizeof(S));
  }

  // Whether each thread has chunks of its own rather than blocks of rows: then it reads its part of
  // the operands alone, but what each chunk gives is kept. Not where threads would wait for others.
  bool SharesChunks(int64_t blocks, int64_t size) const {
    const int64_t threads = NumThreads();
    if (threads == 1 || chunks_ == 1 ||
        chunks_ * size * int64_t(sizeof(S)) > tuned::kMostKeptChunks)
      return false;
    const auto longest = [&](int64_t parts) {
      return double((parts + threads - 1) / threads) / double(parts);
    };
    return longest(chunks_) <= 1.1 * longest(blocks);
  }

  // Blocks are counted over all rows of the window; the first element of one.
  int64_t RowOf(int64_t block) const {
    const int64_t i = block / tiles_.blocks();
    return i * row_ + tiles_.Start(block - i * tiles_.blocks());
  }

  void ByChunks(int64_t blocks, int64_t size) const {
    S* kept = Scratch::ThisThread().Get<S>(Scratch::kOutput, chunks_ * size);
    const auto block = [&](int64_t index) {
      return Block<S>{kept + index * size, s_.window(), s_.outputs, s_.outputs};
    };
    ParallelFor(chunks_, 1, [&](int64_t begin, int64_t end) {
      const DefaultFpMode mode;
      for (int64_t i = begin; i < end && !Abandoned(); ++i) Chunk(i, 0, blocks, block(i));
    });
    const DefaultFpMode mode;
    gemm::ChunkSum<S>::Run(
        chunks_, Block<S>{static_cast<S*>(g_.result), s_.window(), s_.outputs, s_.outputs},
        gemm::Team(), [&](int64_t index, const Block<S>& out) {
          std::copy_n(block(index).data, size, out.data);
        });
  }

  // What chunk `index` of the positions gives to blocks [begin, end) of rows, which `out` has.
  void Chunk(int64_t index, int64_t begin, int64_t end, const Block<S>& out) const {
    const int64_t first = index * kChunk, last = std::min(positions_, first + kChunk);
    const int64_t held = Held(std::min(piece_, last - first));
    PaddedLines<S> image(
        g_, held,
        Scratch::ThisThread().Get<S>(Scratch::kPatches, PaddedLines<S>::Elements(s_, held)));
    std::vector<gemm::Run> runs;
    for (int64_t at = first; at < last && !Abandoned(); at += piece_) {
      const int64_t to = std::min(last, at + piece_);
      const int64_t i0 = begin / tiles_.blocks(), i1 = (end - 1) / tiles_.blocks() + 1;
      runs.clear();
      for (int64_t i = i0; i < i1; ++i) AddRuns(at, to, i, &image, &runs);
      const int64_t count = int64_t(runs.size()) / (i1 - i0);
      for (int64_t o = 0; o < tiles_.slices(); ++o) {
        const gemm::View<S> other = OthersOf(at, to, o, end - begin);
        for (int64_t b = begin; b < end; ++b) {
          const int64_t i = b / tiles_.blocks(), block = b - i * tiles_.blocks();
          tiles_.Run(block, o, runs.data() + (i - i0) * count, count, tiles_.Start(block),
                     s_.stride_w * s_.channels, other.data, other.rs,
                     out.data + (RowOf(b) - RowOf(begin)) * out.ld + o * tiles_.width(), out.ld,
                     at != first);
        }
      }
    }
  }

  // Slice o of the other operand at positions [at, to): dense, if several tiles read it.
  gemm::View<S> OthersOf(int64_t at, int64_t to, int64_t o, int64_t readers) const {
    const int64_t first = o * tiles_.width(), width = std::min(tiles_.width(), s_.outputs - first);
    const gemm::View<S> whole{other_.At(at, first), other_.rs, 1};
    if (readers < kFewestReaders || other_.rs <= tiles_.width()) return whole;
    S* to_slice = Scratch::ThisThread().Get<S>(Scratch::kSlices, piece_ * tiles_.width());
    gemm::PackPanel(whole, to - at, width, tiles_.width(), to_slice);
    return {to_slice, tiles_.width(), 1};
  }

  // Positions [at, to) under row i of the window.
  void AddRuns(int64_t at, int64_t to, int64_t i, PaddedLines<S>* image,
               std::vector<gemm::Run>* runs) const {
    int64_t line = at / s_.out_w, x = at - line * s_.out_w;
    for (int64_t p = at; p < to; ++line, x = 0) {
      const int64_t n = line / s_.out_h, y = line - n * s_.out_h;
      const int64_t count = std::min(to - p, s_.out_w - x);
      runs->push_back({image->Line(n, y * s_.stride_h + i * s_.dilation_h - s_.top) +
                           x * s_.stride_w * s_.channels,
                       count});
      p += count;
    }
  }

  const ConvArgs& g_;
  const ConvShape& s_;
  const gemm::View<S> other_;
  const int64_t row_;  // elements of a window's row
  const RunTiles<S> tiles_;
  const int64_t positions_, piece_, chunks_;  // piece: positions at a time
};

}  // namespace

template <typename S>
bool TryWeightLines(const ConvArgs& args, const gemm::View<S>& other, Isa isa) {
  if (isa == Isa::kScalar || !LiesInLines(args)) return false;
  if (other.cs != 1 && args.shape.outputs != 1) return false;
  return WeightLines<S>(args, other, isa).Run();
}

template bool TryWeightLines<float>(const ConvArgs&, const gemm::View<float>&, Isa);
template bool TryWeightLines<double>(const ConvArgs&, const gemm::View<double>&, Isa);

}  // namespace frazil::conv
