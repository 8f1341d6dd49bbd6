#include "kernels/conv/lines.h"

#include <algorithm>
#include <vector>

#include "core/caches.h"
#include "core/threads/fp_mode.h"
#include "core/threads/long_work.h"
#include "core/threads/parallel.h"
#include "core/tuned.h"
#include "kernels/conv/padded.h"
#include "kernels/conv/patches.h"
#include "kernels/conv/run_tiles.h"
#include "kernels/gemm/scratch.h"
#include "kernels/gemm/sum_rule.h"

namespace frazil::conv {
namespace {

using gemm::Scratch;

constexpr int64_t kRowsOfKernel = 128;    // that a thread cuts into slices at a time
constexpr int64_t kMostLinesAtOnce = 64;  // that a slice of the kernel is multiplied by

// A row of the windows of all outputs of a line is a matrix that lies in a line of the image, rows
// stride_w columns apart: a run of the sum.
template <typename S>
class Lines {
 public:
  Lines(const ConvArgs& g, Isa isa)
      : g_(g),
        s_(g.shape),
        row_(s_.kernel_w * s_.channels),
        tiles_(isa, gemm::ALayout::kRows, s_.out_w, s_.outputs) {}

  static bool Suits(const ConvArgs& g) {
    const ConvShape& s = g.shape;
    const int64_t extents[] = {s.kernel_h, s.kernel_w, s.channels};
    return LiesInLines(g) && OneStride(extents, g.other_strides.data(), 3) &&
           (g.other_strides[3] == 1 || s.outputs == 1) && s.window() <= gemm::kChunk &&
           s.kernel_w * s.channels >= tuned::kShortestWindowRow && s.out_w >= tuned::kShortestLine;
  }

  bool Run() {
    if (!tiles_.made()) return false;
    TakeKernel();
    ParallelFor(s_.batch * s_.out_h, 1, [&](int64_t begin, int64_t end) { Some(begin, end); });
    return true;
  }

 private:
  // Columns of the kernel that a line is multiplied by at a time.
  struct Slice {
    const S* data;
    int64_t stride;
  };

  // A kernel with many outputs is cut into slices, each dense.
  void TakeKernel() {
    const int64_t extents[] = {s_.kernel_h, s_.kernel_w, s_.channels};
    const int64_t stride = *OneStride(extents, g_.other_strides.data(), 3);
    const S* from = static_cast<const S*>(g_.other);
    if (tiles_.slices() == 1 && stride <= tiles_.width()) {
      slices_.push_back({from, stride});
      return;
    }
    const int64_t width = tiles_.width(), apart = s_.window() * width;
    S* const to = Scratch::ThisThread().Get<S>(Scratch::kSlices, s_.window() * s_.outputs);
    const int64_t whole = s_.outputs / width;
    for (int64_t i = 0; i < tiles_.slices(); ++i)
      slices_.push_back({to + i * apart, std::min(width, s_.outputs - i * width)});
    // Several slices at a time, so that memory is read in long runs.
    ParallelFor(s_.window(), kRowsOfKernel, [&](int64_t begin, int64_t end) {
      const gemm::View<S> rows{from + begin * stride, stride, 1};
      int64_t starts[tuned::kPackedPanels + 1];
      for (int64_t i = 0; i < whole; i += tuned::kPackedPanels) {
        const int64_t count = std::min(tuned::kPackedPanels, whole - i);
        for (int64_t j = 0; j <= count; ++j) starts[j] = (i + j) * width;
        gemm::PackStrips(rows, end - begin, starts, count, s_.outputs, width, apart,
                         to + i * apart + begin * width);
      }
      if (whole == tiles_.slices()) return;
      const Slice& last = slices_.back();
      const gemm::View<S> rest{rows.At(0, whole * width), stride, 1};
      gemm::PackPanel(rest, end - begin, last.stride, last.stride,
                      to + whole * apart + begin * last.stride);
    });
  }

  // How many lines of outputs are multiplied by a slice of the kernel before the next one is read:
  // as many as stay in the cache beside it, where the whole kernel does not.
  int64_t LinesAtOnce() const {
    const int64_t cache = SecondLevelCacheBytes(), kernel = s_.window() * s_.outputs;
    if (kernel * int64_t(sizeof(S)) <= cache / 4) return 1;
    const int64_t line = PaddedLines<S>::Columns(s_) * s_.channels * int64_t(sizeof(S));
    int64_t lines = std::clamp<int64_t>(cache / 3 / (line * s_.stride_h), 1, kMostLinesAtOnce);
    while (lines > 1 && PaddedLines<S>::Held(s_, lines) * line > cache) lines /= 2;
    return lines;
  }

  // Lines [begin, end) of outputs.
  void Some(int64_t begin, int64_t end) const {
    const DefaultFpMode mode;
    const int64_t most = std::min(end - begin, LinesAtOnce());
    const int64_t held = PaddedLines<S>::Held(s_, most);
    PaddedLines<S> lines(
        g_, held,
        Scratch::ThisThread().Get<S>(Scratch::kPatches, PaddedLines<S>::Elements(s_, held)));
    std::vector<gemm::Run> runs(size_t(s_.kernel_h * most), {nullptr, row_});
    for (int64_t at = begin; at < end && !Abandoned(); at += most) {
      const int64_t to = std::min(end, at + most);
      for (int64_t line = at; line < to; ++line) {
        const int64_t n = line / s_.out_h, y = line - n * s_.out_h;
        gemm::Run* first = runs.data() + (line - at) * s_.kernel_h;
        for (int64_t i = 0; i < s_.kernel_h; ++i)
          first[i].a = lines.Line(n, y * s_.stride_h + i * s_.dilation_h - s_.top);
      }
      for (int64_t o = 0; o < tiles_.slices(); ++o) {
        for (int64_t line = at; line < to; ++line)
          Multiply(line, o, runs.data() + (line - at) * s_.kernel_h);
      }
      if (g_.rows_done && !Abandoned()) (*g_.rows_done)(at * s_.out_w, to * s_.out_w);
    }
  }

  // One line of outputs, of slice o of the kernel.
  void Multiply(int64_t line, int64_t o, const gemm::Run* runs) const {
    const int64_t lda = s_.stride_w * s_.channels;
    const Slice& slice = slices_[size_t(o)];
    S* out = static_cast<S*>(g_.result) + line * s_.out_w * s_.outputs + o * tiles_.width();
    for (int64_t block = 0; block < tiles_.blocks(); ++block) {
      const int64_t x = tiles_.Start(block);
      tiles_.Run(block, o, runs, s_.kernel_h, x * lda, lda, slice.data, slice.stride,
                 out + x * s_.outputs, s_.outputs, false);
    }
  }

  const ConvArgs& g_;
  const ConvShape& s_;
  const int64_t row_;  // elements of a window's row
  const RunTiles<S> tiles_;
  std::vector<Slice> slices_;
};

}  // namespace

template <typename S>
bool TryLines(const ConvArgs& args, Isa isa) {
  return isa != Isa::kScalar && Lines<S>::Suits(args) && Lines<S>(args, isa).Run();
}

template bool TryLines<float>(const ConvArgs&, Isa);
template bool TryLines<double>(const ConvArgs&, Isa);

}  // namespace frazil::conv
