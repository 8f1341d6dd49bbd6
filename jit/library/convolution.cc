#include "jit/library/convolution.h"

#include <algorithm>
#include <new>

#include "core/cost.h"
#include "core/str.h"
#include "jit/graph/each_channel.h"
#include "kernels/conv/channels.h"
#include "kernels/conv/conv.h"

namespace frazil::jit {
namespace {

class Convolution : public LibraryCall {
 public:
  // dtype: of the operands, int8 where the node's is int32.
  Convolution(const Node& node, DType dtype, const Layout* image, const Layout* other)
      : image_(image),
        other_(other),
        weights_(Info(node.op).klass == OpClass::kConvWeights),
        each_(IsEachChannel(node)),
        fills_(node.operands.size() == 3) {
    const Dims x = image->dims();
    const Dims kernel = weights_ ? node.layout->dims() : other->dims();
    const Dims out = weights_ ? other->dims() : node.layout->dims();
    const Attrs& at = node.attrs;
    args_.dtype = dtype;
    args_.wide = dtype != node.dtype;
    args_.shape = {x[0],
                   x[1],
                   x[2],
                   x[3],
                   kernel[0],
                   kernel[1],
                   kernel[3],
                   out[1],
                   out[2],
                   at[kConvStride],
                   at[kConvStride + 1],
                   at[kConvDilation],
                   at[kConvDilation + 1],
                   at[kConvPadding],
                   at[kConvPadding + 2]};
    std::copy_n(image->strides_, 4, args_.image_strides.begin());
    std::copy_n(other->strides_, 4, args_.other_strides.begin());
  }

  Status Run(absl::Span<char* const> operands, char* result) const override {
    return Compute(operands, result, nullptr);
  }
  int64_t rows() const override {
    const bool told = args_.dtype == DType::kF32 || args_.dtype == DType::kF64 || args_.wide;
    return told && !weights_ ? args_.shape.positions() : 0;
  }
  Status RunByRows(absl::Span<char* const> operands, char* result,
                   absl::FunctionRef<void(int64_t, int64_t)> done) const override {
    return Compute(operands, result, &done);
  }
  std::string text() const override {
    return StrCat(weights_     ? "conv_weights "
                  : each_      ? "conv of each channel "
                  : args_.wide ? "wide conv "
                               : "conv ",
                  ShortName(args_.dtype), " ", ToString(image_->dims()), " x ",
                  ToString(other_->dims()));
  }
  int64_t work() const override {
    const ConvShape& s = args_.shape;
    const double products =
        double(s.positions()) * double(s.window()) * (each_ ? 1 : double(s.outputs));
    return cost::Whole(cost::Products(products, args_.dtype));
  }

 private:
  Status Compute(absl::Span<char* const> operands, char* result, const RowsDone* rows_done) const {
    ConvArgs args = args_;
    args.image = operands[0];
    args.other = operands[1];
    args.result = result;
    args.rows_done = rows_done;
    try {
      if (each_) {
        ConvChannels(args, fills_ ? operands[2] : nullptr);
      } else {
        weights_ ? ConvWeights(args) : Conv(args);
      }
    } catch (const std::bad_alloc&) {
      return MemoryError("[conv2d] no memory for the windows of ", ToString(image_->dims()), ".");
    }
    return absl::OkStatus();
  }

  LayoutRef image_, other_;
  bool weights_, each_;
  bool fills_;  // what stands around the image is operand 2
  ConvArgs args_;
};

}  // namespace

std::unique_ptr<const LibraryCall> MakeConvolution(const Graph& graph, int32_t id) {
  const Node& node = graph.nodes[id];
  const Node& image = graph.nodes[node.operands[0]];
  return std::make_unique<Convolution>(node, image.dtype, image.layout,
                                       graph.nodes[node.operands[1]].layout);
}

}  // namespace frazil::jit
