// Argument resolution for convolutions.
#include "absl/algorithm/container.h"
#include "core/functions/composites.h"
#include "core/functions/ops.h"
#include "core/infer.h"

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

// The most elements of a kernel, and outputs of a channel, that PerChannel takes.
constexpr int64_t kMostTaps = 128, kMostOutputs = 4;

// One channel in each group: the image, moved to each element of the kernel in turn, times that
// element of every channel, summed in the kernel's order. One loop over elements where it is traced,
// in place of a product for each channel. 16-bit floats are summed as float32, as products are.
Tensor PerChannel(const Tensor& x, const Tensor& w, int64_t groups, AttrSpan attrs) {
  const int64_t outputs = w.dims()[3] / groups;
  const Operand image{x.dtype(), x.device(), Dense({x.dims()[0], x.dims()[1], x.dims()[2], 1})};
  const Operand kernel{w.dtype(), w.device(), Dense({w.dims()[0], w.dims()[1], 1, outputs})};
  const auto one = Infer(OpId::k_conv2d, {image, kernel}, attrs);
  if (!one.ok()) return one.status();
  const Dims places = one->layout->dims();
  const DType wide = IsHalf(x.dtype()) ? DType::kF32 : x.dtype();
  const AttrSpan widths = attrs.subspan(kConvPadding, 4);
  Tensor padded = astype(x, wide);
  if (absl::c_any_of(widths, [](int64_t width) { return width > 0; })) {
    padded = pad(padded, {0, 0, widths[0], widths[1], widths[2], widths[3], 0, 0}, Scalar::Int(0));
  }
  const Tensor taps = reshape(astype(w, wide), {w.dims()[0], w.dims()[1], groups, outputs});
  Tensor sum;
  for (int64_t i = 0; i < w.dims()[0]; ++i) {
    for (int64_t j = 0; j < w.dims()[1]; ++j) {
      const Tensor part = slice(
          padded, {0, 1, places[0], i * attrs[kConvDilation], attrs[kConvStride], places[1],
                   j * attrs[kConvDilation + 1], attrs[kConvStride + 1], places[2], 0, 1, groups});
      const Tensor tap = slice(taps, {i, 1, 1, j, 1, 1, 0, 1, groups, 0, 1, outputs});
      const Tensor product = outputs == 1
                                 ? part * reshape(tap, {groups})
                                 : reshape(part, {places[0], places[1], places[2], groups, 1}) *
                                       reshape(tap, {groups, outputs});
      sum = i == 0 && j == 0 ? product : sum + product;
    }
  }
  if (outputs > 1) sum = reshape(sum, {places[0], places[1], places[2], groups * outputs});
  return astype(sum, x.dtype());
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
  if (channels == 1 && w.dims()[3] <= kMostOutputs * groups &&
      w.dims()[0] * w.dims()[1] <= kMostTaps)
    return PerChannel(image, kernel, groups, attrs);
  return Grouped(image, kernel, groups, attrs);
}

}  // namespace frazil::ops
