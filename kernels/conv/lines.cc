#include "kernels/conv/lines.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "core/fp_mode.h"
#include "core/long_work.h"
#include "core/parallel.h"
#include "kernels/conv/patches.h"
#include "kernels/gemm/blocked.h"
#include "kernels/gemm/codegen.h"
#include "kernels/gemm/pack.h"
#include "kernels/gemm/scratch.h"

namespace frazil::conv {
namespace {

using gemm::Scratch;

constexpr int64_t kShortestRow = 32;  // elements of a row of the window
constexpr int64_t kShortestLine = 8;  // outputs
constexpr int64_t kLineGap = 16;      // elements that keep buffers in different sets of a cache

// A row of the windows of all outputs of a line is a matrix that lies in a line of the image, rows
// stride_w columns apart. Its product with the rows of the kernel that belong to it continues the
// line of outputs.
template <typename S>
class Lines {
 public:
  Lines(const ConvArgs& g, Isa isa)
      : g_(g),
        s_(g.shape),
        isa_(isa),
        image_(static_cast<const S*>(g.image)),
        row_(s_.kernel_w * s_.channels),
        columns_((s_.out_w - 1) * s_.stride_w + s_.kernel_w),
        slice_(4 * gemm::Lanes(isa, sizeof(S) == 8)) {}

  bool Suits() const {
    const bool dense = g_.image_strides[2] == s_.channels || s_.width == 1;
    const int64_t extents[] = {s_.kernel_h, s_.kernel_w, s_.channels};
    const auto stride = OneStride(extents, g_.other_strides.data(), 3);
    return s_.dilation_w == 1 && dense && (g_.image_strides[3] == 1 || s_.channels == 1) &&
           stride && g_.other_strides[3] == 1 && s_.window() <= gemm::kChunk &&
           row_ >= kShortestRow && s_.out_w >= kShortestLine;
  }

  void Run() {
    TakeKernel();
    ParallelFor(s_.batch * s_.out_h, 1, [&](int64_t begin, int64_t end) { Some(begin, end); });
  }

 private:
  // Columns of the kernel that a line is multiplied by at a time.
  struct Slice {
    const S* data;
    int64_t stride, width;
  };

  // A kernel with many outputs is cut into slices, each dense.
  void TakeKernel() {
    const int64_t extents[] = {s_.kernel_h, s_.kernel_w, s_.channels};
    const int64_t stride = *OneStride(extents, g_.other_strides.data(), 3);
    const S* from = static_cast<const S*>(g_.other);
    if (s_.outputs <= slice_ && stride <= slice_) {
      slices_.push_back({from, stride, s_.outputs});
      return;
    }
    S* to = Scratch::ThisThread().Get<S>(Scratch::kSlices, s_.window() * s_.outputs);
    for (int64_t o = 0; o < s_.outputs; o += slice_) {
      const int64_t width = std::min(slice_, s_.outputs - o);
      gemm::PackPanel(gemm::View<S>{from + o, stride, 1}, s_.window(), width, width, to);
      slices_.push_back({to, width, width});
      to += s_.window() * width;
    }
  }

  // Lines [begin, end) of outputs.
  void Some(int64_t begin, int64_t end) {
    const DefaultFpMode mode;
    const int64_t held = (s_.kernel_h - 1) * s_.dilation_h + 1,
                  pitch = columns_ * s_.channels + kLineGap;
    S* buffers = Scratch::ThisThread().Get<S>(Scratch::kPatches, (held + 1) * pitch);
    S* const zeros = buffers + held * pitch;
    std::fill(zeros, zeros + pitch, S(0));
    std::vector<int64_t> in(size_t(held), -1);  // which line of the image each buffer holds
    gemm::Repeated<S> whole = Product(slices_.front()), last = Product(slices_.back());
    for (int64_t at = begin; at < end && !Abandoned(); ++at) {
      const int64_t n = at / s_.out_h, y = at - n * s_.out_h;
      S* out = static_cast<S*>(g_.result) + at * s_.out_w * s_.outputs;
      for (int64_t i = 0; i < s_.kernel_h; ++i) {
        const int64_t h = y * s_.stride_h + i * s_.dilation_h - s_.top;
        const S* line = zeros;
        if (h >= 0 && h < s_.height) {
          line = image_ + n * g_.image_strides[0] + h * g_.image_strides[1];
          if (s_.left > 0 || columns_ > s_.width + s_.left) {
            const int64_t slot = h % held;
            if (std::exchange(in[size_t(slot)], n * s_.height + h) != n * s_.height + h)
              Pad(line, buffers + slot * pitch);
            line = buffers + slot * pitch;
          } else {
            line -= s_.left * s_.channels;
          }
        }
        for (size_t o = 0; o < slices_.size(); ++o) {
          gemm::Repeated<S>& product = o + 1 < slices_.size() ? whole : last;
          product.Run(line, slices_[o].data + i * row_ * slices_[o].stride,
                      out + int64_t(o) * slice_, i != 0);
        }
      }
      if (g_.rows_done && !Abandoned()) (*g_.rows_done)(at * s_.out_w, (at + 1) * s_.out_w);
    }
  }

  gemm::Repeated<S> Product(const Slice& slice) const {
    return gemm::Repeated<S>(isa_, {nullptr, s_.stride_w * s_.channels, 1},
                             {nullptr, slice.stride, 1}, row_,
                             {nullptr, s_.out_w, slice.width, s_.outputs});
  }

  // A line of the image with what stands around it.
  void Pad(const S* line, S* to) const {
    const int64_t before = std::clamp<int64_t>(s_.left, 0, columns_);
    const int64_t first = std::max<int64_t>(0, -s_.left);  // column of the image
    const int64_t count = std::clamp<int64_t>(s_.width - first, 0, columns_ - before);
    std::fill(to, to + before * s_.channels, S(0));
    to = std::copy_n(line + first * s_.channels, count * s_.channels, to + before * s_.channels);
    std::fill_n(to, (columns_ - before - count) * s_.channels, S(0));
  }

  const ConvArgs& g_;
  const ConvShape& s_;
  const Isa isa_;
  const S* const image_;
  const int64_t row_, columns_, slice_;  // elements of a window's row; columns of a line; see Slice
  std::vector<Slice> slices_;
};

}  // namespace

template <typename S>
bool TryLines(const ConvArgs& args, Isa isa) {
  if (isa == Isa::kScalar) return false;
  Lines<S> lines(args, isa);
  if (!lines.Suits()) return false;
  lines.Run();
  return true;
}

template bool TryLines<float>(const ConvArgs&, Isa);
template bool TryLines<double>(const ConvArgs&, Isa);

}  // namespace frazil::conv
