// Library calls that the NPU has no program for. Called by backend.cc. Invariant: the CPU runs
// them, and each run is counted with what it read and wrote.
#pragma once

#include <memory>

#include "jit/library/library.h"

namespace frazil::jit {

std::unique_ptr<const LibraryCall> MakeNpuOnCpu(const Graph& graph, int32_t id,
                                                const std::string& origin,
                                                std::unique_ptr<const LibraryCall> cpu);

}  // namespace frazil::jit
