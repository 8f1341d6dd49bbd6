// Operands of a convolution in an order that its loops can read, in memory of the calling thread.
// Called by kernels/conv/*.cc. Invariant: exact copies; an operand that lies well is not copied.
#pragma once

#include <algorithm>
#include <cstdlib>

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

// All elements, in row-major order, of an operand whose first two axes lie inside the others, as
// those of a kernel (outputs, channels, height, width) do: once through its memory.
template <typename U>
void CopyInside(const U* from, const int64_t* extents, const std::array<int64_t, 4>& strides,
                U* out) {
  constexpr int64_t kTogether = 64 / sizeof(U);
  const int64_t matrix = extents[2] * extents[3];
  ParallelFor(extents[2], std::max<int64_t>(1, 16384 / (extents[0] * extents[1] * extents[3])),
              [&](int64_t begin, int64_t end) {
                for (int64_t first = 0; first < extents[3]; first += kTogether) {
                  const int64_t count = std::min(kTogether, extents[3] - first);
                  for (int64_t c = begin; c < end; ++c) {
                    const U* line = from + c * strides[2] + first * strides[3];
                    U* to = out + c * extents[3] + first;
                    for (int64_t i = 0; i < extents[0] * extents[1]; ++i, to += matrix) {
                      const U* in = line + i / extents[1] * strides[0] + i % extents[1] * strides[1];
                      for (int64_t t = 0; t < count; ++t) to[t] = in[t * strides[3]];
                    }
                  }
                }
              });
}

// All elements, in row-major order.
template <typename U>
U* CopyDense(const U* from, const int64_t* extents, const std::array<int64_t, 4>& strides,
             int slot) {
  const int64_t size = extents[2] * extents[3];
  U* out = gemm::Scratch::ThisThread().Get<U>(slot, extents[0] * extents[1] * size);
  const auto apart = [&](int axis) { return extents[axis] == 1 ? 0 : std::abs(strides[axis]); };
  if (extents[0] * extents[1] * size > 0 &&
      std::max(apart(0), apart(1)) < std::min(strides[2], strides[3])) {
    CopyInside(from, extents, strides, out);
    return out;
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
