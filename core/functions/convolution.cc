// Argument resolution for convolutions.
#include "core/functions/composites.h"
#include "core/functions/ops.h"

namespace frazil::ops {
namespace {

// A group has some of the image's channels and some of the outputs, all others' apart.
Tensor Grouped(const Tensor& x, const Tensor& w, int64_t groups, AttrSpan attrs) {
  const std::vector<Tensor> images = split(x, groups, 3), kernels = split(w, groups, 3);
  std::vector<Tensor> parts;
  for (size_t i = 0; i < images.size(); ++i) {
    parts.push_back(Apply(OpId::k_conv2d, {&images[i], &kernels[i]}, attrs));
    if (!parts.back().ok()) return parts.back();
  }
  return concat(parts, 3);
}

}  // namespace

Tensor conv2d(const Tensor& x, const Tensor& w, const Conv2dOptions& options) {
  if (!x.ok()) return x;
  if (!w.ok()) return w;
  if (x.rank() != 4 || w.rank() != 4)
    return ValueError("[conv2d] needs four axes: x is ", Describe(x), ", w is ", Describe(w), ".");
  if (options.channels_first) {
    Conv2dOptions last = options;
    last.channels_first = false;
    const Tensor y = conv2d(permute_dims(x, {0, 2, 3, 1}), permute_dims(w, {2, 3, 1, 0}), last);
    return y.ok() ? permute_dims(y, {0, 3, 1, 2}) : y;
  }
  const DType dtype = Promote(x.dtype(), w.dtype());
  const Tensor image = astype(x, dtype), kernel = astype(w, dtype);
  if (!image.ok()) return image;
  if (!kernel.ok()) return kernel;
  Attrs attrs(kConvAttrs, 0);
  for (int axis = 0; axis < 2; ++axis) {
    if (options.padding[axis] < 0) {
      return ValueError("[conv2d] padding must not be negative: ",
                        ToString({options.padding[0], options.padding[1]}), ".");
    }
    attrs[kConvStride + axis] = options.stride[axis];
    attrs[kConvPadding + 2 * axis] = attrs[kConvPadding + 2 * axis + 1] = options.padding[axis];
    attrs[kConvDilation + axis] = options.dilation[axis];
  }
  const int64_t groups = options.groups;
  if (groups == 1) return Apply(OpId::k_conv2d, {&image, &kernel}, attrs);
  const int64_t channels = w.dims()[2];
  if (groups < 1 || channels * groups != x.dims()[3] || w.dims()[3] % groups != 0) {
    return ValueError("[conv2d] ", groups, " groups of ", channels, " channels do not fit: x is ",
                      Describe(x), ", w is ", Describe(w), ".");
  }
  return Grouped(image, kernel, groups, attrs);
}

}  // namespace frazil::ops
