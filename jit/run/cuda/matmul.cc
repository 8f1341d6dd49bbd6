#include "jit/run/cuda/matmul.h"

#include "core/cost.h"
#include "core/str.h"
#include "jit/run/cuda/exact_product.h"
#include "jit/run/cuda/lt_call.h"

namespace frazil::jit {
namespace {

class LtMatmul : public LibraryCall {
 public:
  explicit LtMatmul(std::unique_ptr<const LtCall> call) : call_(std::move(call)) {}

  Status Run(absl::Span<char* const> operands, char* result) const override {
    return call_->Run(operands[0], operands[1], nullptr, result);
  }
  bool capturable() const override { return call_->capturable(); }
  int64_t work() const override { return cost::kGpuLaunch; }
  std::string text() const override { return call_->text(); }
  int64_t bytes() const override { return call_->bytes(); }

 private:
  const std::unique_ptr<const LtCall> call_;
};

class ExactMatmul : public LibraryCall {
 public:
  ExactMatmul(gpu::Device* device, const ProductShape& shape, DType dtype, std::string text,
              const std::string& origin)
      : product_(device, shape, dtype, origin), text_(std::move(text)) {}

  Status Run(absl::Span<char* const> operands, char* result) const override {
    return product_.Run(operands[0], operands[1], result);
  }
  bool capturable() const override { return true; }
  int64_t work() const override { return cost::kGpuLaunch; }
  std::string text() const override { return text_; }
  int64_t bytes() const override { return int64_t{sizeof(*this)}; }

 private:
  const ExactProduct product_;
  const std::string text_;
};

}  // namespace

StatusOr<std::unique_ptr<const LibraryCall>> MakeCudaMatmul(const Graph& graph, int32_t id,
                                                            const std::string& origin,
                                                            Precision precision) {
  const Node& node = graph.nodes[id];
  const ProductShape shape = ProductShape::Of(graph, id);
  FZ_ASSIGN_OR_RETURN(gpu::Device * device, gpu::Device::Get(node.device.index()));
  if (IsForLt(shape, node.dtype, precision)) {
    const bool tf32 = precision == Precision::kTf32;
    auto call = LtCall::Make(device, LtProblem::Of(shape, node.dtype, tf32), gpu::LtEpilogue::kNone,
                             origin);
    if (call.ok()) return std::make_unique<const LtMatmul>(*std::move(call));
    if (KindOf(call.status()) != ErrorKind::kNotImplemented) return call.status();
  }
  const auto dims = [&](int i) { return ToString(graph.nodes[node.operands[i]].layout->dims()); };
  return std::make_unique<const ExactMatmul>(
      device, shape, node.dtype,
      StrCat("exact matmul ", ShortName(node.dtype), " ", dims(0), " @ ", dims(1)), origin);
}

}  // namespace frazil::jit
