// `put` on GPUs: a copy of x, and the kernel of jit/emit/cuda/put_text.h over it. Called by
// backend.cc. Invariant: the CPU's bits (kernels/put.h).
#pragma once

#include "jit/run/device_kernel.h"

namespace frazil::jit {

StatusOr<std::unique_ptr<const LibraryCall>> MakeCudaPut(const Graph& graph, int32_t id,
                                                         const std::string& origin);

}  // namespace frazil::jit
