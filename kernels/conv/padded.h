// Lines of an image with what stands before and behind them, for convolutions that read an image
// line by line. Called by kernels/conv/lines.cc and weight_lines.cc. Invariant: exact copies, and
// +0 for padding; an image that needs none is read in place.
#pragma once

#include <algorithm>
#include <utility>
#include <vector>

#include "kernels/conv/conv.h"

namespace frazil::conv {

// Whether windows' rows are runs of the lines that PaddedLines gives. Those of an image's groups of
// channels lie apart.
inline bool LiesInLines(const ConvArgs& g) {
  return g.shape.dilation_w == 1 && (g.image_strides[3] == 1 || g.shape.channels == 1);
}

// For one thread. S: float or double.
template <typename S>
class PaddedLines {
 public:
  static constexpr int64_t kGap = 16;  // elements that keep lines in different sets of a cache

  // Columns of the image that the windows of a line of outputs take up.
  static int64_t Columns(const ConvShape& s) { return (s.out_w - 1) * s.stride_w + s.kernel_w; }
  // Lines that those of an image's outputs take up.
  static int64_t Height(const ConvShape& s) {
    return (s.out_h - 1) * s.stride_h + (s.kernel_h - 1) * s.dilation_h + 1;
  }
  // Lines that so many lines of outputs, one after another, take up: of an image, or of several with
  // what stands between them.
  static int64_t Held(const ConvShape& s, int64_t lines) {
    const int64_t above = (s.kernel_h - 1) * s.dilation_h + 1;
    return std::min((lines - 1) * std::max(s.stride_h, above) + above,
                    (lines / s.out_h + 2) * Height(s));
  }
  // Elements of memory for so many lines.
  static int64_t Elements(const ConvShape& s, int64_t held) {
    return (held + 1) * (Columns(s) * s.channels + kGap);
  }

  // A line that was asked for stays where it is until one `held` or more further on is: counted
  // from line to line of an image, and from an image to the next as they lie under the windows.
  PaddedLines(const ConvArgs& g, int64_t held, S* memory)
      : g_(g),
        s_(g.shape),
        held_(held),
        columns_(Columns(s_)),
        pitch_(columns_ * s_.channels + kGap),
        dense_(g.image_strides[2] == s_.channels || s_.width == 1),
        in_place_(dense_ && s_.left <= 0 && columns_ <= s_.width + s_.left),
        memory_(memory),
        zeros_(memory + held * pitch_),
        in_(size_t(held), -1) {
    std::fill(zeros_, zeros_ + pitch_, S(0));
  }

  // Line h of image n from column -left on.
  const S* Line(int64_t n, int64_t h) {
    if (h < 0 || h >= s_.height) return zeros_;
    const S* line =
        static_cast<const S*>(g_.image) + n * g_.image_strides[0] + h * g_.image_strides[1];
    if (in_place_) return line - s_.left * s_.channels;
    const int64_t index = n * Height(s_) + h + s_.top, slot = index % held_;
    S* to = memory_ + slot * pitch_;
    if (std::exchange(in_[size_t(slot)], index) != index) Pad(line, to);
    return to;
  }

 private:
  void Pad(const S* line, S* to) const {
    const int64_t before = std::clamp<int64_t>(s_.left, 0, columns_);
    const int64_t first = std::max<int64_t>(0, -s_.left);  // column of the image
    const int64_t count = std::clamp<int64_t>(s_.width - first, 0, columns_ - before);
    std::fill(to, to + before * s_.channels, S(0));
    to += before * s_.channels;
    if (dense_) {
      to = std::copy_n(line + first * s_.channels, count * s_.channels, to);
    } else {
      line += first * g_.image_strides[2];
      for (int64_t i = 0; i < count; ++i, line += g_.image_strides[2])
        to = std::copy_n(line, s_.channels, to);
    }
    std::fill_n(to, (columns_ - before - count) * s_.channels, S(0));
  }

  const ConvArgs& g_;
  const ConvShape& s_;
  const int64_t held_, columns_, pitch_;
  const bool dense_, in_place_;
  S *const memory_, *const zeros_;
  std::vector<int64_t> in_;  // which line is in each slot
};

}  // namespace frazil::conv
