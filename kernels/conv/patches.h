// Reads of patches of an image, and operands brought into an order that products can read.
// Called by kernels/conv/*.cc. Invariant: exact copies, and +0 (all bits zero) for padding.
#pragma once

#include <algorithm>
#include <cstring>
#include <optional>

#include "core/cpu.h"
#include "kernels/conv/conv.h"

namespace frazil::conv {

// The stride of several axes taken as one; nothing if they do not lie so. Axes of extent 1 have
// any.
inline std::optional<int64_t> OneStride(const int64_t* extents, const int64_t* strides, int axes) {
  int64_t stride = 0, next = 0;
  bool found = false;
  for (int i = axes - 1; i >= 0; --i) {
    if (extents[i] == 1) continue;
    if (found && strides[i] != next) return std::nullopt;
    if (!found) stride = strides[i];
    found = true;
    next = strides[i] * extents[i];
  }
  return stride;
}

// An image whose channels are adjacent (or of which there is one), for elements of type T.
template <typename T>
class Patches {
 public:
  Patches(const ConvShape& s, const T* image, const std::array<int64_t, 4>& strides)
      : s_(s), image_(image), strides_(strides) {
    adjacent_ = s.dilation_w == 1 && strides[2] == s.channels;
  }

  // Elements [from, to) of the windows of positions [first, last), a window each `pitch` elements.
  void Read(int64_t first, int64_t last, int64_t from, int64_t to, T* out, int64_t pitch) const {
    if (Cpu().avx2) return ReadAvx(first, last, from, to, out, pitch);
    ReadRows(first, last, from, to, out, pitch);
  }

 private:
  __attribute__((target("avx"))) void ReadAvx(int64_t first, int64_t last, int64_t from, int64_t to,
                                              T* out, int64_t pitch) const {
    ReadRows(first, last, from, to, out, pitch);
  }

  // A row of the windows at a time, for all positions: so nothing is divided in the inner loop.
  [[gnu::always_inline]] inline void ReadRows(int64_t first, int64_t last, int64_t from, int64_t to,
                                              T* out, int64_t pitch) const {
    const int64_t row = s_.kernel_w * s_.channels;
    for (int64_t i = from / row; i * row < to; ++i) {
      const int64_t a = std::max(from - i * row, int64_t{0}), b = std::min(to - i * row, row);
      ReadRow(first, last, i * s_.dilation_h - s_.top, a, b, out + (i * row + a - from), pitch);
    }
  }

  // Elements [a, b) of the row of every window that is `down` rows below the window's position.
  [[gnu::always_inline]] inline void ReadRow(int64_t first, int64_t last, int64_t down, int64_t a,
                                             int64_t b, T* out, int64_t pitch) const {
    const int64_t j0 = a / s_.channels, c0 = a - j0 * s_.channels;
    int64_t x = first % s_.out_w, y = first / s_.out_w % s_.out_h, n = first / s_.out_w / s_.out_h;
    for (int64_t p = first; p < last;) {
      const int64_t end = std::min(last, p + s_.out_w - x), h = y * s_.stride_h + down;
      const T* line = image_ + n * strides_[0] + h * strides_[1];
      const bool inside = h >= 0 && h < s_.height;
      int64_t left = x * s_.stride_w - s_.left;
      for (; p < end; ++p, out += pitch, left += s_.stride_w) {
        if (!inside) {
          std::fill(out, out + (b - a), T{});
        } else if (adjacent_ && left >= 0 && left + s_.kernel_w <= s_.width) {
          Copy(line + left * strides_[2] + a, b - a, out);
        } else {
          Segments(line, left, j0, c0, b - a, out);
        }
      }
      x = 0;
      if (++y == s_.out_h) y = 0, ++n;
    }
  }

  // `count` elements of a row of a window that starts at column `left`, from channel c of column j.
  [[gnu::always_inline]] inline void Segments(const T* line, int64_t left, int64_t j, int64_t c,
                                              int64_t count, T* out) const {
    for (; count > 0; ++j, c = 0) {
      const int64_t run = std::min(s_.channels - c, count), w = left + j * s_.dilation_w;
      if (w < 0 || w >= s_.width) {
        std::fill(out, out + run, T{});
      } else {
        Copy(line + w * strides_[2] + c, run, out);
      }
      count -= run, out += run;
    }
  }

  // Runs are short: a call would cost as much as the copying.
  [[gnu::always_inline]] static inline void Copy(const T* from, int64_t count, T* to) {
    struct Words {
      char bytes[32];
    };
    constexpr int64_t kRun = sizeof(Words) / sizeof(T);
    int64_t i = 0;
    for (; i + kRun <= count; i += kRun) __builtin_memcpy(to + i, from + i, sizeof(Words));
    for (; i < count; ++i) to[i] = from[i];
  }

  const ConvShape s_;
  const T* const image_;
  const std::array<int64_t, 4> strides_;
  bool adjacent_;  // a window's row is one run of the image
};

}  // namespace frazil::conv
