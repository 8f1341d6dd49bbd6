// The product of matrices as CUDA C: the rule of kernels/gemm/gemm.h, so with the CPU's bits.
// Called by the products of jit/run/cuda. Invariants: the text stands on CudaPrelude() and
// compiles for the host as well; which tile is chosen changes nothing in the result.
#pragma once

#include <cstdint>
#include <string>

#include "core/dtype.h"
#include "core/layout.h"

namespace frazil::jit::cuda {

// The parameter of the kernel. Strides are in elements; `c` is dense, batch after batch.
struct MatmulArgs {
  const void* a;
  const void* b;
  void* c;
  int64_t m, n, k;
  int64_t a_row, a_col, b_row, b_col;
  int64_t tiles_m, tiles_n;
  int64_t batch_axes;
  int64_t batch_extents[kMaxRank], a_batch[kMaxRank], b_batch[kMaxRank];
};

// What a text is made for. A block of 256 threads computes a tile of 16 per x 16 per elements, a
// thread per x per of them.
struct MatmulShape {
  DType dtype;
  int per;      // 1, 2, 4 or 8
  bool chunks;  // k exceeds one chunk of 4096 and floats are summed

  int tile() const { return 16 * per; }
  bool operator==(const MatmulShape&) const = default;
  template <typename H>
  friend H AbslHashValue(H h, const MatmulShape& s) {
    return H::combine(std::move(h), s.dtype, s.per, s.chunks);
  }
};

inline constexpr int kMatmulThreads = 256;
// The sum rule is written out for two levels of groups of 4096 chunks.
inline constexpr int64_t kMatmulLongestK = int64_t{1} << 36;

// The largest tile that leaves no multiprocessor without work.
MatmulShape ChooseMatmul(DType dtype, int64_t batches, int64_t m, int64_t n, int64_t k,
                         int multiprocessors);
std::string MatmulEntry(const MatmulShape& shape);
// To be appended to CudaPrelude().
std::string MatmulText(const MatmulShape& shape);

}  // namespace frazil::jit::cuda
