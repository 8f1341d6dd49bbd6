// A strided copy as CUDA C: operands that a library cannot read as they lie. Called by
// jit/run/cuda. Invariant: the text stands on CudaPrelude(); bytes are copied as they are.
#pragma once

#include <cstdint>
#include <string>

#include "core/layout.h"

namespace frazil::jit::cuda {

// The parameter of the kernel: element i of `to`, row-major over the extents, is that of `from`.
// Strides are in elements.
struct CopyArgs {
  const void* from;
  void* to;
  int64_t count;
  int64_t axes;
  int64_t extents[kMaxRank], strides[kMaxRank];
};

inline constexpr int kCopyThreads = 256;

std::string CopyEntry(int item_bytes);
// item_bytes: 1, 2, 4 or 8.
std::string CopyText(int item_bytes);

}  // namespace frazil::jit::cuda
