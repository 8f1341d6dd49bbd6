// Library calls of products with sparse matrices (kernels/sparse). Made by jit/library/library.cc.
#pragma once

#include "jit/library/library.h"

namespace frazil::jit {

// For a node of class kSparse.
std::unique_ptr<const LibraryCall> MakeSparse(const Graph& graph, int32_t id);

}  // namespace frazil::jit
