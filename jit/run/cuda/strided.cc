#include "jit/run/cuda/strided.h"

#include <algorithm>
#include <limits>

#include "jit/emit/cuda/copy_text.h"

namespace frazil::jit {

Axes AxesOf(const Layout* layout, int begin, int end) {
  Axes axes;
  for (int i = begin; i < end; ++i) axes.push_back({layout->extents[i], layout->strides_[i]});
  return axes;
}

Axes Merged(const Axes& axes) {
  Axes merged;
  for (const Axis& axis : axes) {
    if (axis.extent == 1) continue;
    if (!merged.empty() && merged.back().stride == axis.extent * axis.stride)
      merged.back() = {merged.back().extent * axis.extent, axis.stride};
    else
      merged.push_back(axis);
  }
  return merged;
}

std::optional<int64_t> OneStride(const Axes& axes) {
  const Axes merged = Merged(axes);
  if (merged.size() > 1) return std::nullopt;
  return merged.empty() ? 0 : merged[0].stride;
}

int64_t SizeOf(const Axes& axes) {
  int64_t size = 1;
  for (const Axis& axis : axes) size *= axis.extent;
  return size;
}

StridedCopy::StridedCopy(gpu::Device* device, int item_bytes, const Axes& axes,
                         const std::string& origin)
    : device_(device), item_(item_bytes), size_(SizeOf(axes)), axes_(Merged(axes)) {
  if (axes_.empty() || (axes_.size() == 1 && axes_[0].stride == 1)) return;
  entry_ = std::make_unique<const CudaEntry>(device, cuda::CopyEntry(item_bytes),
                                             cuda::CopyText(item_bytes), origin);
}

Status StridedCopy::Run(const char* from, char* to) const {
  if (size_ == 0) return absl::OkStatus();
  if (!entry_)
    return device_->CopyWithin(AddressOf(to), AddressOf(from), static_cast<size_t>(bytes()));
  cuda::CopyArgs args{from, to, size_, static_cast<int64_t>(axes_.size()), {}, {}};
  for (size_t i = 0; i < axes_.size(); ++i) {
    args.extents[i] = axes_[i].extent;
    args.strides[i] = axes_[i].stride;
  }
  return entry_->Launch((size_ + cuda::kCopyThreads - 1) / cuda::kCopyThreads, cuda::kCopyThreads,
                        &args);
}

}  // namespace frazil::jit
