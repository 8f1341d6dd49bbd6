#include "kernels/conv/plane.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "core/threads/fp_mode.h"
#include "core/threads/long_work.h"
#include "core/threads/parallel.h"
#include "core/tuned.h"
#include "kernels/conv/padded.h"
#include "kernels/gemm/scratch.h"
#include "kernels/gemm/sum_rule.h"

namespace frazil::conv {
namespace {

using gemm::Scratch;

constexpr int64_t kTogether = 256;  // bytes of outputs whose sums stay in registers

// The windows of a line of outputs: rows of the image from the first window's place on.
template <typename S>
struct Windows {
  const S* const* lines;
  const S* weights;  // dense
  int64_t rows, cols;
};

// Outputs [x, x + count).
template <int64_t count, typename S>
[[gnu::always_inline]] inline void Some(const Windows<S>& w, int64_t x, S* out) {
  S sums[count] = {};
  const S* weight = w.weights;
  for (int64_t i = 0; i < w.rows; ++i) {
    const S* from = w.lines[i] + x;
    for (int64_t j = 0; j < w.cols; ++j, ++from, ++weight) {
      for (int64_t k = 0; k < count; ++k) sums[k] = std::fma(from[k], *weight, sums[k]);
    }
  }
  std::copy_n(sums, count, out + x);
}

// The last outputs of a line are computed with some of those before them once more.
template <typename S>
[[gnu::always_inline]] inline void Line(const Windows<S>& w, int64_t width, S* out) {
  constexpr int64_t kMany = kTogether / int64_t{sizeof(S)}, kFew = kMany / 8;
  int64_t x = 0;
  for (; x + kMany <= width; x += kMany) Some<kMany>(w, x, out);
  for (; x + kFew <= width; x += kFew) Some<kFew>(w, x, out);
  if (x == width) return;
  if (width >= kFew) return Some<kFew>(w, width - kFew, out);
  for (; x < width; ++x) Some<1>(w, x, out);
}

template <typename S>
__attribute__((target("avx512f,fma"))) void LineAvx512(const Windows<S>& w, int64_t width, S* out) {
  Line(w, width, out);
}
template <typename S>
__attribute__((target("avx2,fma"))) void LineAvx2(const Windows<S>& w, int64_t width, S* out) {
  Line(w, width, out);
}

bool Suits(const ConvArgs& g) {
  const ConvShape& s = g.shape;
  return s.channels == 1 && s.outputs == 1 && s.stride_w == 1 && s.window() <= gemm::kChunk &&
         LiesInLines(g);
}

}  // namespace

template <typename S>
bool TryPlane(const ConvArgs& g, Isa isa) {
  if (isa == Isa::kScalar || !Suits(g)) return false;
  const ConvShape& s = g.shape;
  std::vector<S> weights;
  for (int64_t i = 0; i < s.kernel_h; ++i) {
    for (int64_t j = 0; j < s.kernel_w; ++j) {
      const int64_t at = i * g.other_strides[0] + j * g.other_strides[1];
      weights.push_back(static_cast<const S*>(g.other)[at]);
    }
  }
  const auto run = isa == Isa::kAvx512 ? LineAvx512<S> : LineAvx2<S>;
  const int64_t read = s.out_w * s.window() * int64_t{sizeof(S)};  // bytes for a line
  ParallelFor(s.batch * s.out_h, tuned::kCopyGrain / read + 1, [&](int64_t begin, int64_t end) {
    const DefaultFpMode mode;
    const int64_t held = PaddedLines<S>::Held(s, 1);
    PaddedLines<S> padded(
        g, held,
        Scratch::ThisThread().Get<S>(Scratch::kPatches, PaddedLines<S>::Elements(s, held)));
    std::vector<const S*> lines(static_cast<size_t>(s.kernel_h));
    for (int64_t line = begin; line < end && !Abandoned(); ++line) {
      const int64_t n = line / s.out_h, y = line - n * s.out_h;
      for (int64_t i = 0; i < s.kernel_h; ++i)
        lines[static_cast<size_t>(i)] = padded.Line(n, y * s.stride_h + i * s.dilation_h - s.top);
      run({lines.data(), weights.data(), s.kernel_h, s.kernel_w}, s.out_w,
          static_cast<S*>(g.result) + line * s.out_w);
    }
    if (g.rows_done && !Abandoned()) (*g.rows_done)(begin * s.out_w, end * s.out_w);
  });
  return true;
}

template bool TryPlane<float>(const ConvArgs&, Isa);
template bool TryPlane<double>(const ConvArgs&, Isa);

}  // namespace frazil::conv
