#include "kernels/conv/channels.h"

#include <algorithm>
#include <vector>

#include "core/ceil_div.h"
#include "core/cost.h"
#include "core/threads/fp_mode.h"
#include "core/threads/long_work.h"
#include "core/threads/parallel.h"
#include "kernels/conv/dense.h"

namespace frazil {
namespace {

using gemm::Scratch;

constexpr int64_t kToldBytes = 16 << 10;  // of outputs, about, that readers find in the first cache

// The windows of some outputs of a line: where each element of the kernel meets the image at the
// first of them.
template <typename S>
struct Taps {
  const S* const* from;
  const S* weights;  // of each block of channels (InBlocks), count x those
  int64_t count, channels;
  int64_t step;  // elements from an output's window to the next one's
};

template <typename V, typename S>
constexpr int64_t kLanesOf = int64_t{sizeof(V)} / int64_t{sizeof(S)};

// `places` outputs next to each other, of `vectors` vectors of channels.
template <typename V, int places, int vectors, typename S>
struct Tile {
  static constexpr int64_t kLanes = kLanesOf<V, S>;
  V sums[places][vectors];

  template <bool first>
  [[gnu::always_inline]] inline void Add(const S* from, const S* weight, int64_t step) {
    for (int v = 0; v < vectors; ++v) {
      const V by = *reinterpret_cast<const V*>(weight + v * kLanes);
      for (int p = 0; p < places; ++p) {
        const V product = *reinterpret_cast<const V*>(from + p * step + v * kLanes) * by;
        sums[p][v] = first ? product : sums[p][v] + product;
      }
    }
  }
};

// Those at x of channels from `c` on.
template <typename V, int places, int vectors, typename S>
[[gnu::always_inline]] inline void Some(const Taps<S>& t, const S* weight, int64_t x, int64_t c,
                                        S* out) {
  Tile<V, places, vectors, S> tile;
  constexpr int64_t kLanes = Tile<V, places, vectors, S>::kLanes;
  const int64_t at = x * t.step + c;
  tile.template Add<true>(t.from[0] + at, weight, t.step);
  for (int64_t tap = 1; tap < t.count; ++tap)
    tile.template Add<false>(t.from[tap] + at, weight += vectors * kLanes, t.step);
  out += x * t.channels + c;
  for (int p = 0; p < places; ++p) {
    for (int v = 0; v < vectors; ++v)
      *reinterpret_cast<V*>(out + p * t.channels + v * kLanes) = tile.sums[p][v];
  }
}

// Calls block(c, width): channels [c, c + width), one to four vectors of `lanes`. The last has some
// channels of the one before it once more; there are as many as it has lanes.
template <typename F>
void InBlocks(int64_t channels, int64_t lanes, const F& block) {
  int64_t c = 0;
  for (int64_t width = 4 * lanes; width >= lanes; width /= 2) {
    for (; c + width <= channels; c += width) block(c, width);
  }
  if (c < channels) block(channels - lanes, lanes);
}

// Some outputs next to each other of blocks of so many channels, from c on while there are any.
// Nothing here is a lambda, which would not have the instructions of the function that it is in.
template <typename V, int vectors, typename S>
[[gnu::always_inline]] inline void Blocks(const Taps<S>& t, int64_t count, int64_t end, int64_t* c,
                                          const S** weight, S* out) {
  constexpr int64_t kWidth = vectors * kLanesOf<V, S>;
  for (; *c + kWidth <= end; *c += kWidth, *weight += t.count * kWidth) {
    int64_t x = 0;
    for (; x + 2 <= count; x += 2) Some<V, 2, vectors>(t, *weight, x, *c, out);
    if (x < count) Some<V, 1, vectors>(t, *weight, x, *c, out);
  }
}

// As InBlocks has them: what windows next to each other share stays in the first cache, as a block's
// weights do.
template <typename V, typename S>
[[gnu::always_inline]] inline void Outputs(const Taps<S>& t, int64_t count, S* out) {
  constexpr int64_t kLanes = kLanesOf<V, S>;
  const S* weight = t.weights;
  int64_t c = 0;
  Blocks<V, 4>(t, count, t.channels, &c, &weight, out);
  Blocks<V, 2>(t, count, t.channels, &c, &weight, out);
  Blocks<V, 1>(t, count, t.channels, &c, &weight, out);
  if (c == t.channels) return;
  c = t.channels - kLanes;
  Blocks<V, 1>(t, count, t.channels, &c, &weight, out);
}

template <typename S, int bytes>
struct Vector {
  typedef S Type __attribute__((vector_size(bytes), aligned(alignof(S)), may_alias));
};

template <typename S>
__attribute__((target("avx512f"))) void OfAvx512(const Taps<S>& t, int64_t count, S* out) {
  Outputs<typename Vector<S, 64>::Type>(t, count, out);
}
template <typename S>
__attribute__((target("avx2"))) void OfAvx2(const Taps<S>& t, int64_t count, S* out) {
  Outputs<typename Vector<S, 32>::Type>(t, count, out);
}
template <typename S>
void OfBytes16(const Taps<S>& t, int64_t count, S* out) {
  Outputs<typename Vector<S, 16>::Type>(t, count, out);
}
template <typename S>
void OfOne(const Taps<S>& t, int64_t count, S* out) {
  Outputs<S>(t, count, out);
}

template <typename S>
struct Compute {
  void (*run)(const Taps<S>&, int64_t count, S* out);
  int64_t bytes;  // of a vector
};

// The widest vectors that the channels fill.
template <typename S>
Compute<S> ComputeOf(int64_t channels, Isa isa) {
  const int64_t bytes = channels * int64_t{sizeof(S)};
  if (isa == Isa::kAvx512 && bytes >= 64) return {OfAvx512<S>, 64};
  if (isa >= Isa::kAvx2 && bytes >= 32) return {OfAvx2<S>, 32};
  if (bytes >= 16) return {OfBytes16<S>, 16};
  return {OfOne<S>, sizeof(S)};
}

template <typename S>
class EachChannel {
 public:
  EachChannel(const ConvArgs& g, S fill, Isa isa)
      : g_(g), s_(g.shape), compute_(ComputeOf<S>(s_.channels, isa)) {
    TakeWeights();
    // The outputs of a line whose windows have all columns in the image.
    const int64_t reach = (s_.kernel_w - 1) * s_.dilation_w;
    first_ = std::clamp<int64_t>(CeilDiv(std::max<int64_t>(0, s_.left), s_.stride_w), 0, s_.out_w);
    const int64_t last = s_.width - 1 - reach + s_.left;  // column of the last such window
    end_ = last < 0 ? first_ : std::clamp(last / s_.stride_w + 1, first_, s_.out_w);
    step_ = s_.stride_w * g_.image_strides[2];
    const int64_t span = std::max<int64_t>(0, end_ - first_ - 1) * step_;
    fill_.assign(size_t(std::abs(span) + s_.channels), fill);
    outside_ = fill_.data() - std::min<int64_t>(0, span);
  }

  void Run() const {
    const int64_t lines = s_.batch * s_.out_h, line = s_.out_w * s_.channels;
    const double taps = double(s_.kernel_h) * double(s_.kernel_w);
    const double time = cost::Products(double(line) * taps, g_.dtype);
    const auto grain = static_cast<int64_t>(cost::kWorthSharing / time) + 1;
    const int64_t told = std::max<int64_t>(1, kToldBytes / (line * int64_t{sizeof(S)}));
    ParallelFor(lines, grain, [&](int64_t begin, int64_t end) {
      const DefaultFpMode mode;
      std::vector<const S*> from(size_t(s_.kernel_h * s_.kernel_w));
      for (int64_t at = begin; at < end && !Abandoned(); at += told) {
        const int64_t to = std::min(end, at + told);
        for (int64_t i = at; i < to; ++i) Line(i, from.data());
        if (g_.rows_done && !Abandoned()) (*g_.rows_done)(at * s_.out_w, to * s_.out_w);
      }
    });
  }

 private:
  // By blocks of channels, in memory of this thread.
  void TakeWeights() {
    const int64_t lanes = compute_.bytes / int64_t{sizeof(S)};
    S* to = Scratch::ThisThread().Get<S>(Scratch::kSlices,
                                         s_.kernel_h * s_.kernel_w * (s_.channels + lanes));
    weights_ = to;
    InBlocks(s_.channels, lanes, [&](int64_t c, int64_t width) {
      for (int64_t i = 0; i < s_.kernel_h; ++i) {
        for (int64_t j = 0; j < s_.kernel_w; ++j) {
          const S* from = static_cast<const S*>(g_.other) + i * g_.other_strides[0] +
                          j * g_.other_strides[1] + c * g_.other_strides[3];
          for (int64_t k = 0; k < width; ++k) *to++ = from[k * g_.other_strides[3]];
        }
      }
    });
  }

  void Line(int64_t line, const S** from) const {
    S* out = static_cast<S*>(g_.result) + line * s_.out_w * s_.channels;
    for (int64_t x = 0; x < first_; ++x) Windows(line, x, 1, from, out);
    if (first_ < end_) Windows(line, first_, end_ - first_, from, out);
    for (int64_t x = end_; x < s_.out_w; ++x) Windows(line, x, 1, from, out);
  }

  // Outputs [x, x + count) of a line, one, or some whose windows have all columns in the image.
  void Windows(int64_t line, int64_t x, int64_t count, const S** from, S* out) const {
    const int64_t n = line / s_.out_h, y = line - n * s_.out_h;
    const S* image = static_cast<const S*>(g_.image) + n * g_.image_strides[0];
    const S** next = from;
    for (int64_t i = 0; i < s_.kernel_h; ++i) {
      const int64_t h = y * s_.stride_h + i * s_.dilation_h - s_.top;
      for (int64_t j = 0; j < s_.kernel_w; ++j) {
        const int64_t w = x * s_.stride_w + j * s_.dilation_w - s_.left;
        const bool inside = h >= 0 && h < s_.height && w >= 0 && w < s_.width;
        *next++ = inside ? image + h * g_.image_strides[1] + w * g_.image_strides[2] : outside_;
      }
    }
    compute_.run({from, weights_, s_.kernel_h * s_.kernel_w, s_.channels, step_}, count,
                 out + x * s_.channels);
  }

  const ConvArgs& g_;
  const ConvShape& s_;
  const Compute<S> compute_;
  const S* weights_;
  int64_t first_, end_;
  int64_t step_;  // of the image, from an output's window to the next one's
  std::vector<S> fill_;
  const S* outside_;  // what windows read there
};

template <typename S, typename U>
void Run(ConvArgs args, const void* fill, Isa isa) {
  conv::TakeImage<U>(&args);
  EachChannel<S>(args, fill ? *static_cast<const S*>(fill) : S(0), ResolveIsa(isa)).Run();
}

}  // namespace

void ConvChannels(const ConvArgs& args, const void* fill, Isa isa) {
  if (args.shape.positions() == 0 || args.shape.channels == 0) return;
  args.dtype == DType::kF32 ? Run<float, uint32_t>(args, fill, isa)
                            : Run<double, uint64_t>(args, fill, isa);
}

}  // namespace frazil
