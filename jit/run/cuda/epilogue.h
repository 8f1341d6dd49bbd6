// A product and the kernel that only adds a bias to it, as one step by cuBLASLt's epilogue. Called
// by backend.cc. Invariant: the bits of the two steps: f32 and f64 alone (16-bit floats round
// in between), the very algorithm of the product, and no activations, because what cuBLASLt makes
// of NaN and -0 in them is nowhere written.
#pragma once

#include "jit/run/device_kernel.h"

namespace frazil::jit {

// NotImplementedError: they stay two steps.
StatusOr<std::unique_ptr<const DeviceKernel>> JoinCudaEpilogue(const Graph& graph, int32_t id,
                                                               const Launch& next, int product,
                                                               const std::string& origin,
                                                               Precision precision);

}  // namespace frazil::jit
