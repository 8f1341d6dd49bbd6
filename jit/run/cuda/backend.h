// GPUs as a kind of device. Registered by RegisterJit. Invariants: as DeviceBackend's.
#pragma once

#include "jit/run/device_backend.h"

namespace frazil::jit {

const DeviceBackend* CudaBackend();

}  // namespace frazil::jit
