// Products of matrices on GPUs, as device_kernel.h asks for them. Called by backend.cc.
// Invariants: precision, dtype and shape decide between cuBLASLt and frazil's own kernel; what
// cuBLASLt cannot read as it lies is copied first, so that neither strides nor addresses change
// bits. Which operands lie transposed may: cuBLASLt has other algorithms for them.
#pragma once

#include "jit/run/device_kernel.h"

namespace frazil::jit {

StatusOr<std::unique_ptr<const LibraryCall>> MakeCudaMatmul(const Graph& graph, int32_t id,
                                                            const std::string& origin,
                                                            Precision precision);

}  // namespace frazil::jit
