// Library calls of collectives (distributed/collectives.h). Made by jit/library/library.cc.
// Invariant: as of LibraryCall, but that the result depends on other processes, too.
#pragma once

#include "jit/library/library.h"

namespace frazil::jit {

// For a node of class kCollective or kCollectiveWait.
std::unique_ptr<const LibraryCall> MakeCollective(const Graph& graph, int32_t id);

}  // namespace frazil::jit
