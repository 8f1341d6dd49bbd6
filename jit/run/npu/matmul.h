// Products of matrices on the NPU, as device_kernel.h asks for them. Called by backend.cc.
// Invariant: as there.
#pragma once

#include "jit/run/device_kernel.h"

namespace frazil::jit {

StatusOr<std::unique_ptr<const DeviceKernel>> JoinNpuEpilogue(const Graph& graph, int32_t id,
                                                              const Launch& next, int product,
                                                              const std::string& origin);
std::unique_ptr<const LibraryCall> MakeNpuMatmul(const Graph& graph, int32_t id,
                                                 const std::string& origin,
                                                 std::unique_ptr<const LibraryCall> cpu);

}  // namespace frazil::jit
