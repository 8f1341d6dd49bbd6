// Sums of ranks' arrays as CUDA C: what distributed/sums.h computes, in the order of the ranks, so
// the CPU's bits. Called by the collectives of jit/run/cuda, and for one addition by put_text.cc.
// Invariant: an element is the sum of the ranks' in ascending order, rounded after every addition.
#pragma once

#include <cstdint>
#include <string>

#include "core/dtype.h"

namespace frazil::jit::cuda {

// The parameter of the kernel. Rank p's part is parts[p * count ...], but for that of `me`, which is
// `own`; without ranks the result is zeros.
struct SumArgs {
  const void* parts;
  const void* own;
  void* out;
  int64_t count;  // elements of a part
  int64_t ranks, me;
};

inline constexpr int kSumThreads = 256;

std::string SumEntry(DType dtype);
// To be appended to CudaPrelude(). Complex numbers are summed as their parts.
std::string SumText(DType dtype, const std::string& entry);
// a + b, of two items of a type that is not complex.
std::string SumText(DType dtype);

}  // namespace frazil::jit::cuda
