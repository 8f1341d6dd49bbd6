#include "jit/run/cuda/backend.h"

#include "core/check.h"
#include "jit/cuda/device.h"
#include "jit/run/cuda/collective.h"
#include "jit/run/cuda/entry.h"
#include "jit/run/cuda/epilogue.h"
#include "jit/run/cuda/graph.h"
#include "jit/run/cuda/kernel.h"
#include "jit/run/cuda/matmul.h"
#include "jit/run/cuda/put.h"

namespace frazil::jit {
namespace {

bool IsCollective(OpId op) { return op == OpId::k_collective || op == OpId::k_collective_wait; }

class Cuda final : public DeviceBackend {
 public:
  std::string_view name() const override { return "cuda"; }
  int most() const override { return kMaxDevices; }
  Kernels kernels() const override { return {.long_rows = true}; }
  // Collectives travel over NCCL if the world has it on all ranks.
  Runs Where(OpId op) const override {
    return IsCollective(op) && distributed::TheAccelerator() ? Runs::kThere : ClassOf(op).gpu;
  }
  Status Check(Device device) const override { return gpu::Device::Get(device.index()).status(); }

  StatusOr<StorageRef> Allocate(Device device, size_t bytes) const override {
    FZ_ASSIGN_OR_RETURN(gpu::Device * gpu, gpu::Device::Get(device.index()));
    return gpu->Allocate(bytes);
  }

  Status Copy(Device to_device, char* to, Device from_device, const char* from,
              size_t bytes) const override {
    if (CpuAddresses(from_device)) {
      FZ_ASSIGN_OR_RETURN(gpu::Device * target, gpu::Device::Get(to_device.index()));
      return target->CopyIn(AddressOf(to), from, bytes);
    }
    FZ_ASSIGN_OR_RETURN(gpu::Device * source, gpu::Device::Get(from_device.index()));
    if (CpuAddresses(to_device)) return source->CopyOut(to, AddressOf(from), bytes);
    FZ_ASSIGN_OR_RETURN(gpu::Device * target, gpu::Device::Get(to_device.index()));
    return target->CopyFrom(source, AddressOf(to), AddressOf(from), bytes);
  }

  Status CheckLaunch(const Launch& launch) const override { return CudaKernel::Check(launch); }

  StatusOr<std::unique_ptr<const DeviceKernel>> MakeKernel(
      Device device, const Launch& launch, const std::string& origin) const override {
    FZ_ASSIGN_OR_RETURN(gpu::Device * gpu, gpu::Device::Get(device.index()));
    return CudaKernel::Make(gpu, launch, origin);
  }

  StatusOr<std::unique_ptr<const LibraryCall>> MakeCall(
      const Graph& graph, int32_t id, const std::string& origin, Precision precision,
      std::unique_ptr<const LibraryCall> cpu) const override {
    const OpId op = graph.nodes[id].op;
    if (op == OpId::k_matmul) return MakeCudaMatmul(graph, id, origin, precision);
    if (IsCollective(op)) return MakeCudaCollective(graph, id, origin);
    if (op == OpId::k_put) return MakeCudaPut(graph, id, origin);
    return cpu;
  }

  StatusOr<std::unique_ptr<const DeviceKernel>> JoinEpilogue(const Graph& graph, int32_t id,
                                                             const Launch& next, int product,
                                                             const std::string& origin,
                                                             Precision precision) const override {
    return JoinCudaEpilogue(graph, id, next, product, origin, precision);
  }

  bool MayJoin(const Step& step) const override { return CudaGraph::MayJoin(step); }

  std::unique_ptr<Step> MakeGroup(Device device, Steps steps,
                                  std::vector<std::vector<int32_t>> dependencies) const override {
    const auto gpu = gpu::Device::Get(device.index());
    FZ_CHECK(gpu.ok());  // it has made the steps
    return std::make_unique<CudaGraph>(*gpu, std::move(steps), std::move(dependencies));
  }
};

}  // namespace

const DeviceBackend* CudaBackend() {
  static const auto* const backend = new Cuda;
  return backend;
}

}  // namespace frazil::jit
