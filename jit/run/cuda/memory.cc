#include "jit/run/cuda/memory.h"

#include "core/memory/device_memory.h"
#include "core/memory/transfers.h"
#include "jit/cuda/device.h"
#include "jit/run/cuda/entry.h"

namespace frazil::jit {
namespace {

class CudaMemory : public DeviceMemory {
 public:
  Status Check(Device device) override { return gpu::Device::Get(device.index()).status(); }

  StatusOr<StorageRef> Allocate(Device device, size_t bytes) override {
    FZ_ASSIGN_OR_RETURN(gpu::Device * gpu, gpu::Device::Get(device.index()));
    return gpu->Allocate(bytes);
  }

  Status Copy(Device to_device, char* to, Device from_device, const char* from,
              size_t bytes) override {
    if (CpuAddresses(from_device)) {
      FZ_ASSIGN_OR_RETURN(gpu::Device * target, gpu::Device::Get(to_device.index()));
      return target->CopyIn(AddressOf(to), from, bytes);
    }
    FZ_ASSIGN_OR_RETURN(gpu::Device * source, gpu::Device::Get(from_device.index()));
    if (CpuAddresses(to_device)) return source->CopyOut(to, AddressOf(from), bytes);
    FZ_ASSIGN_OR_RETURN(gpu::Device * target, gpu::Device::Get(to_device.index()));
    return target->CopyFrom(source, AddressOf(to), AddressOf(from), bytes);
  }
};

}  // namespace

DeviceMemory* CudaDeviceMemory() {
  static auto* memory = new CudaMemory;
  return memory;
}

}  // namespace frazil::jit
