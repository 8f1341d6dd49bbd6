// Library calls that find positions, sort and accumulate (kernels/positions.h, kernels/order). Made
// by jit/library/library.cc.
#pragma once

#include "jit/library/library.h"

namespace frazil::jit {

// For a node of class kPositions, kSort or kScan.
std::unique_ptr<const LibraryCall> MakeOrderCall(const Graph& graph, int32_t id);

}  // namespace frazil::jit
