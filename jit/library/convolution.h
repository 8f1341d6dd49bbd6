// Convolutions as library steps. Called by jit/library/library.cc. Invariant: as of LibraryCall.
#pragma once

#include <memory>

#include "jit/library/library.h"

namespace frazil::jit {

// For node `id`, of class kConv or kConvWeights.
std::unique_ptr<const LibraryCall> MakeConvolution(const Graph& graph, int32_t id);

}  // namespace frazil::jit
