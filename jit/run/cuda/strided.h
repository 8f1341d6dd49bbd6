// Axes of operands as kernels and libraries of GPUs want them, and copies to where they can be
// read. Called by products and updates. Invariant: axes are those of the logical value, in
// row-major order; strides are in elements.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "absl/container/inlined_vector.h"
#include "core/layout.h"
#include "jit/run/cuda/entry.h"

namespace frazil::jit {

struct Axis {
  int64_t extent, stride;
};
using Axes = absl::InlinedVector<Axis, 6>;

// Axes [begin, end) of a layout.
Axes AxesOf(const Layout* layout, int begin, int end);
// Fewer axes that visit the same elements in the same order: none of extent 1.
Axes Merged(const Axes& axes);
// The one stride with which the axes are walked; 0 for a single element.
std::optional<int64_t> OneStride(const Axes& axes);
int64_t SizeOf(const Axes& axes);

// Copies what `axes` visit, densely.
class StridedCopy {
 public:
  StridedCopy(gpu::Device* device, int item_bytes, const Axes& axes, const std::string& origin);

  // Queued on the device's stream.
  Status Run(const char* from, char* to) const;
  int64_t bytes() const { return size_ * item_; }

 private:
  gpu::Device* const device_;
  const int64_t item_, size_;
  const Axes axes_;
  std::unique_ptr<const CudaEntry> entry_;  // null: the bytes lie side by side
};

}  // namespace frazil::jit
