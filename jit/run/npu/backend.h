// The simulated NPU as a kind of device; its memory is the CPU's. Registered by RegisterJit.
// Invariants: as DeviceBackend's.
#pragma once

#include "jit/run/device_backend.h"

namespace frazil::jit {

const DeviceBackend* NpuBackend();

}  // namespace frazil::jit
