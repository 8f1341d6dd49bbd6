// Convolution over two axes on the CPU, for every numeric dtype, as a matrix product that is never
// laid out in memory. Called by the library steps of plans (jit/library/convolution.cc).
// Invariant: the bits of a matrix product (kernels/gemm/gemm.h) whose one operand holds the
// patches: row (n, y, x) is the window that belongs to an output position, in the order (kernel
// row, kernel column, channel), and reads +0 outside the image.
#pragma once

#include <array>
#include <cstdint>

#include "core/dtype.h"
#include "kernels/gemm/gemm.h"

namespace frazil {

// Sizes and steps. A window element outside [0, height) x [0, width) is padding.
struct ConvShape {
  int64_t batch, height, width, channels;  // of the image
  int64_t kernel_h, kernel_w, outputs;     // of the kernel, beside channels
  int64_t out_h, out_w;
  int64_t stride_h, stride_w, dilation_h, dilation_w;
  int64_t top, left;  // padding; negative: the first rows or columns are left out

  int64_t positions() const { return batch * out_h * out_w; }
  int64_t window() const { return kernel_h * kernel_w * channels; }
};

// Strides are in elements; the result is dense.
struct ConvArgs {
  DType dtype;  // any but bool
  ConvShape shape;
  const void* image;  // batch, height, width, channels
  std::array<int64_t, 4> image_strides;
  const void*
      other;  // Conv: kernel_h, kernel_w, channels, outputs; else batch, out_h, out_w, outputs
  std::array<int64_t, 4> other_strides;
  void* result;
  bool wide = false;                    // Conv: int8 into int32 (GemmArgs::wide)
  const RowsDone* rows_done = nullptr;  // Conv: told of blocks of output positions
};

// result[batch, out_h, out_w, outputs] = patches @ kernel.
void Conv(const ConvArgs& args, Isa isa = Isa::kBest);

// result[kernel_h, kernel_w, channels, outputs] = patches transposed @ other: the gradient of Conv
// to its kernel.
void ConvWeights(const ConvArgs& args, Isa isa = Isa::kBest);

}  // namespace frazil
