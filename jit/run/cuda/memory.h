// The memory of GPUs as core sees it. Registered by RegisterJit. Invariant: as DeviceMemory's.
#pragma once

#include "core/memory/device_memory.h"
#include "jit/cuda/device.h"

namespace frazil::jit {

namespace gpu = ::frazil::cuda;

DeviceMemory* CudaDeviceMemory();

}  // namespace frazil::jit
