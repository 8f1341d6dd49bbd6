#include "jit/run/npu/backend.h"

#include "jit/run/npu/kernel.h"
#include "jit/run/npu/matmul.h"
#include "jit/run/npu/on_cpu.h"

namespace frazil::jit {
namespace {

class Npu final : public DeviceBackend {
 public:
  std::string_view name() const override { return "npu"; }
  Runs Where(OpId op) const override { return ClassOf(op).npu; }

  bool Computes(DType dtype) const override {
    const bool half_integer = BitsOf(dtype) == 16 && !IsFloat(dtype);
    return BitsOf(dtype) <= 32 && !half_integer;
  }

  StatusOr<std::unique_ptr<const DeviceKernel>> MakeKernel(
      Device, const Launch& launch, const std::string& origin) const override {
    return std::make_unique<const NpuKernel>(launch, origin);
  }

  StatusOr<std::unique_ptr<const LibraryCall>> MakeCall(
      const Graph& graph, int32_t id, const std::string& origin, Precision,
      std::unique_ptr<const LibraryCall> cpu) const override {
    const OpId op = graph.nodes[id].op;
    if (op == OpId::k_matmul) return MakeNpuMatmul(graph, id, origin, std::move(cpu));
    if (Where(op) == Runs::kOnCpuCounted) return MakeNpuOnCpu(graph, id, origin, std::move(cpu));
    return cpu;
  }

  StatusOr<std::unique_ptr<const DeviceKernel>> JoinEpilogue(const Graph& graph, int32_t id,
                                                             const Launch& next, int product,
                                                             const std::string& origin,
                                                             Precision) const override {
    return JoinNpuEpilogue(graph, id, next, product, origin);
  }
};

}  // namespace

const DeviceBackend* NpuBackend() {
  static const auto* const backend = new Npu;
  return backend;
}

}  // namespace frazil::jit
