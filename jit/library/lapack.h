// Steps of linear algebra (kernels/lapack). Made by jit/library/library.cc. Invariant: as of
// LibraryCall.
#pragma once

#include "jit/library/library.h"

namespace frazil::jit {

// For a node of class kLapack.
std::unique_ptr<const LibraryCall> MakeLapackCall(const Graph& graph, int32_t id);

}  // namespace frazil::jit
