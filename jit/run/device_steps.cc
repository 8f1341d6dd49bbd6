// Which device makes a step: the one place that knows them all.
#include "core/check.h"
#include "jit/run/cuda/epilogue.h"
#include "jit/run/cuda/graph.h"
#include "jit/run/cuda/kernel.h"
#include "jit/run/cuda/matmul.h"
#include "jit/run/cuda/put.h"
#include "jit/run/npu/kernel.h"
#include "jit/run/npu/matmul.h"
#include "jit/run/npu/on_cpu.h"

namespace frazil::jit {

Status CheckLaunch(Device device, const Launch& launch) {
  return device.kind() == DeviceKind::kCuda ? CudaKernel::Check(launch) : absl::OkStatus();
}

StatusOr<std::unique_ptr<const DeviceKernel>> MakeDeviceKernel(Device device, const Launch& launch,
                                                               const std::string& origin) {
  if (device.kind() == DeviceKind::kNpu) return std::make_unique<const NpuKernel>(launch, origin);
  FZ_ASSIGN_OR_RETURN(gpu::Device * gpu, gpu::Device::Get(device.index()));
  return CudaKernel::Make(gpu, launch, origin);
}

bool MayJoin(Device device, const Step& step) {
  return device.kind() == DeviceKind::kCuda && CudaGraph::MayJoin(step);
}

std::unique_ptr<const Stretch> MakeStretch(Device device, std::vector<Step> steps,
                                           std::vector<std::vector<int32_t>> dependencies) {
  const auto gpu = gpu::Device::Get(device.index());
  FZ_CHECK(gpu.ok());  // it has made the steps
  return std::make_unique<const CudaGraph>(*gpu, std::move(steps), std::move(dependencies));
}

StatusOr<ProductWithEpilogue> JoinEpilogue(const Graph& graph, int32_t id, const Launch& next,
                                           int product, const std::string& origin,
                                           Precision precision) {
  const Device device = graph.nodes[id].device;
  if (device.kind() == DeviceKind::kNpu) return JoinNpuEpilogue(graph, id, next, product, origin);
  return JoinCudaEpilogue(graph, id, next, product, origin, precision);
}

StatusOr<std::unique_ptr<const LibraryCall>> MakeDeviceCall(
    const Graph& graph, int32_t id, const std::string& origin, Precision precision,
    std::unique_ptr<const LibraryCall> cpu) {
  const DeviceKind device = graph.nodes[id].device.kind();
  const OpId op = graph.nodes[id].op;
  if (op == OpId::k_matmul) {
    if (device == DeviceKind::kNpu) return MakeNpuMatmul(graph, id, origin, std::move(cpu));
    return MakeCudaMatmul(graph, id, origin, precision);
  }
  if (op == OpId::k_put && device == DeviceKind::kCuda) return MakeCudaPut(graph, id, origin);
  if (device == DeviceKind::kNpu && ClassOf(op).npu == Runs::kOnCpuCounted)
    return MakeNpuOnCpu(graph, id, origin, std::move(cpu));
  return cpu;
}

}  // namespace frazil::jit
