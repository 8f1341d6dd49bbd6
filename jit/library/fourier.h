// Library calls of Fourier transforms (kernels/fourier). Made by jit/library/library.cc.
#pragma once

#include "jit/library/library.h"

namespace frazil::jit {

// For a node of class kFourier.
std::unique_ptr<const LibraryCall> MakeFourier(const Graph& graph, int32_t id);

}  // namespace frazil::jit
