// Operands of a convolution in an order that its loops can read, in memory of the calling thread.
// Called by kernels/conv/*.cc. Invariant: exact copies; an operand that lies well is not copied.
#pragma once

#include <algorithm>
#include <cstring>
#include <vector>

#include "core/threads/parallel.h"
#include "kernels/conv/patches.h"
#include "kernels/gemm/pack.h"
#include "kernels/gemm/scratch.h"

namespace frazil::conv {

// A matrix of `rows` x `cols` elements, dense, from one with any strides.
template <typename U>
void CopyMatrix(const U* from, int64_t rows, int64_t cols, int64_t rs, int64_t cs, U* to) {
  if constexpr (sizeof(U) >= 4) {
    using F = std::conditional_t<sizeof(U) == 4, float, double>;
    gemm::View<F> view{reinterpret_cast<const F*>(from), rs, cs};
    return gemm::PackPanel(view, rows, cols, cols, reinterpret_cast<F*>(to));
  }
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t c = 0; c < cols; ++c) to[r * cols + c] = from[r * rs + c * cs];
  }
}

// All elements, in row-major order, of an operand whose first two axes are runs of memory inside the
// others, as those of a kernel (outputs, channels, height, width) are: once through its memory. The
// last axis or the one before it walks from run to run.
class InsideOut {
 public:
  InsideOut(const int64_t* extents, const std::array<int64_t, 4>& strides)
      : rows_(extents[2]), cols_(extents[3]), run_(extents[0] * extents[1]), strides_(strides) {
    const int64_t low0 = std::min<int64_t>(0, (extents[0] - 1) * strides[0]);
    const int64_t low1 = std::min<int64_t>(0, (extents[1] - 1) * strides[1]);
    low_ = low0 + low1;
    suits_ = run_ > 1 && rows_ * cols_ > 0 && std::min(strides[2], strides[3]) == run_;
    if (suits_) matrix_.assign(size_t(run_), -1);
    for (int64_t i = 0; i < run_ && suits_; ++i) {
      const int64_t at = i / extents[1] * strides[0] + i % extents[1] * strides[1] - low_;
      suits_ = at >= 0 && at < run_;
      if (suits_) matrix_[size_t(at)] = i;
    }
    for (const int64_t i : matrix_) suits_ = suits_ && i >= 0;
  }

  bool suits() const { return suits_; }

  void Copy(const float* from, float* out) const {
    ParallelFor(rows_, std::max<int64_t>(1, 16384 / (run_ * cols_)),
                [&](int64_t begin, int64_t end) {
                  for (int64_t c = 0; c < cols_; c += kTogether) {
                    const int64_t count = std::min(kTogether, cols_ - c);
                    for (int64_t r = begin; r < end;) {
                      const int64_t rows = strides_[2] == run_ ? std::min(end - r, kRows) : 1;
                      Part(from + low_ + r * strides_[2] + c * strides_[3], rows, count,
                           out + r * cols_ + c);
                      r += rows;
                    }
                  }
                });
  }

 private:
  static constexpr int64_t kTogether = 16, kRows = 8;

  // Rows that lie together, and some columns.
  void Part(const float* from, int64_t rows, int64_t count, float* out) const {
    float block[64 * kTogether];
    const int64_t all = rows * run_;
    for (int64_t first = 0; first < all; first += 64) {
      const int64_t steps = std::min<int64_t>(64, all - first);
      gemm::PackTransposed({from + first, 1, strides_[3]}, steps, count, kTogether, block);
      for (int64_t i = 0; i < steps; ++i) {
        const int64_t r = (first + i) / run_, at = first + i - r * run_;
        std::memcpy(out + matrix_[size_t(at)] * rows_ * cols_ + r * cols_, block + i * kTogether,
                    size_t(count) * sizeof(float));
      }
    }
  }

  const int64_t rows_, cols_, run_;
  const std::array<int64_t, 4> strides_;
  int64_t low_;
  std::vector<int64_t> matrix_;  // which of the first two axes' matrices each place of a run is
  bool suits_;
};

// All elements, in row-major order.
template <typename U>
U* CopyDense(const U* from, const int64_t* extents, const std::array<int64_t, 4>& strides,
             int slot) {
  const int64_t size = extents[2] * extents[3];
  U* out = gemm::Scratch::ThisThread().Get<U>(slot, extents[0] * extents[1] * size);
  if constexpr (sizeof(U) == sizeof(float)) {
    if (const InsideOut turned(extents, strides); turned.suits()) {
      turned.Copy(reinterpret_cast<const float*>(from), reinterpret_cast<float*>(out));
      return out;
    }
  }
  ParallelFor(
      extents[0] * extents[1], std::max<int64_t>(1, 16384 / std::max<int64_t>(1, size)),
      [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) {
          const U* matrix = from + i / extents[1] * strides[0] + i % extents[1] * strides[1];
          CopyMatrix(matrix, extents[2], extents[3], strides[2], strides[3], out + i * size);
        }
      });
  return out;
}

// Makes the channels of the image adjacent, as Patches want them.
template <typename U>
void TakeImage(ConvArgs* g) {
  const ConvShape& s = g->shape;
  if (s.channels <= 1 || g->image_strides[3] == 1) return;
  const int64_t extents[] = {s.batch, s.height, s.width, s.channels};
  const int64_t line = s.width * s.channels;
  const U* image = static_cast<const U*>(g->image);
  g->image = CopyDense(image, extents, g->image_strides, gemm::Scratch::kImage);
  g->image_strides = {s.height * line, line, s.channels, 1};
}

template <typename U>
Patches<U> PatchesOf(const ConvArgs& g) {
  return Patches<U>(g.shape, static_cast<const U*>(g.image), g.image_strides);
}

// The other operand as a matrix: its first three axes are one.
template <typename U>
gemm::View<U> TakeMatrix(ConvArgs* g, const std::array<int64_t, 4>& extents) {
  const U* data = static_cast<const U*>(g->other);
  if (const auto stride = OneStride(extents.data(), g->other_strides.data(), 3))
    return {data, *stride, g->other_strides[3]};
  data = CopyDense(data, extents.data(), g->other_strides, gemm::Scratch::kOther);
  const int64_t row = extents[3], plane = extents[2] * row;
  g->other = data;
  g->other_strides = {extents[1] * plane, plane, row, 1};
  return {data, row, 1};
}

// f(U()) with an unsigned integer of the dtype's size.
template <typename F>
void VisitSize(DType dtype, F&& f) {
  switch (SizeOf(dtype)) {
    case 1:
      return f(uint8_t());
    case 2:
      return f(uint16_t());
    case 4:
      return f(uint32_t());
    default:
      return f(uint64_t());
  }
}

}  // namespace frazil::conv
