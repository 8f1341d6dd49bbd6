#include "jit/run/cuda/epilogue.h"

#include "core/str.h"
#include "jit/run/cuda/lt_call.h"

namespace frazil::jit {
namespace {

using kir::Inst;
using kir::kNone;
using kir::Op;

// Numbers of a kernel's buffers.
struct BiasAdd {
  int bias, out;
};

bool IsPlainLoad(const Inst& inst) {
  return inst.op == Op::kLoad && inst.a == kNone && inst.b == kNone;
}

// out = product + bias and nothing else.
std::optional<BiasAdd> AsBiasAdd(const kir::Kernel& k, int product) {
  if (k.has_loop || k.chunked || !k.scalars.empty() || k.buffers.size() != 3 || k.body.size() != 4)
    return std::nullopt;
  const Inst &sum = k.body[2], &store = k.body[3];
  if (!IsPlainLoad(k.body[0]) || !IsPlainLoad(k.body[1]) || sum.op != Op::kAdd ||
      sum.a + sum.b != 1 || store.op != Op::kStore || store.a != 2 || store.b != kNone ||
      store.c != kNone)
    return std::nullopt;
  const int first = static_cast<int>(k.body[0].imm), second = static_cast<int>(k.body[1].imm);
  const BiasAdd add{first == product ? second : first, static_cast<int>(store.imm)};
  if ((first != product && second != product) || add.bias == product || !k.buffers[add.out].out)
    return std::nullopt;
  for (const kir::Buffer& buffer : k.buffers) {
    if (buffer.dtype != k.buffers[product].dtype) return std::nullopt;
  }
  return add;
}

// Strides are in bytes. Axes of extent 1 count for nothing.
bool IsDense(const Launch& launch, int buffer, int64_t item) {
  int64_t step = item;
  for (size_t axis = launch.extents.size(); axis-- > 0; step *= launch.extents[axis]) {
    if (launch.extents[axis] > 1 &&
        launch.strides[size_t(buffer) * launch.extents.size() + axis] != step)
      return false;
  }
  return true;
}
bool IsARow(const Launch& launch, int buffer, int64_t columns, int64_t item) {
  const size_t axes = launch.extents.size();
  if (launch.extents[axes - 1] != columns) return false;
  for (size_t axis = 0; axis < axes; ++axis) {
    const int64_t stride = launch.strides[size_t(buffer) * axes + axis];
    if (launch.extents[axis] > 1 && stride != (axis + 1 == axes ? item : 0)) return false;
  }
  return true;
}

class CudaProductWithEpilogue : public DeviceKernel {
 public:
  CudaProductWithEpilogue(std::unique_ptr<const LtCall> call, const BiasAdd& add)
      : call_(std::move(call)), bias_(2 + (add.bias > add.out)), out_(2 + (add.out > add.bias)) {}

  Status Run(const kir::KernelArgs& args) const override {
    const auto buffer = [&](int i) { return static_cast<char*>(args.buffers[i]); };
    return call_->Run(buffer(0), buffer(1), buffer(bias_), buffer(out_));
  }
  bool capturable() const override { return call_->capturable(); }
  std::string text() const override { return StrCat(call_->text(), " bias"); }
  int64_t bytes() const override { return call_->bytes(); }
  std::string refusal() const override { return {}; }

 private:
  const std::unique_ptr<const LtCall> call_;
  const int bias_, out_;
};

Status Apart(std::string_view why) { return NotImplementedError("[matmul] ", why, "."); }

}  // namespace

StatusOr<std::unique_ptr<const DeviceKernel>> JoinCudaEpilogue(const Graph& graph, int32_t id,
                                                               const Launch& next, int product,
                                                               const std::string& origin,
                                                               Precision precision) {
  const Node& node = graph.nodes[id];
  const ProductShape shape = ProductShape::Of(graph, id);
  if (!IsForLt(shape, node.dtype, precision) || IsHalf(node.dtype))
    return Apart("what follows the product rounds for itself");
  const std::optional<BiasAdd> add = AsBiasAdd(next.kernel, product);
  if (!add) return Apart("more follows than the addition of a bias");
  const LtProblem problem = LtProblem::Of(shape, node.dtype, precision == Precision::kTf32);
  const int64_t item = frazil::SizeOf(node.dtype);
  int64_t points = 1;
  for (const int64_t extent : next.extents) points *= extent;
  if (problem.shape.batches != 1 || points != node.layout->size ||
      next.buffers[add->out].offset != 0 || !IsDense(next, product, item) ||
      !IsDense(next, add->out, item) || !IsARow(next, add->bias, problem.shape.n, item))
    return Apart("what is added is no bias");
  FZ_ASSIGN_OR_RETURN(gpu::Device * device, gpu::Device::Get(node.device.index()));
  FZ_ASSIGN_OR_RETURN(auto call, LtCall::Make(device, problem, gpu::LtEpilogue::kBias, origin));
  return std::make_unique<const CudaProductWithEpilogue>(std::move(call), *add);
}

}  // namespace frazil::jit
