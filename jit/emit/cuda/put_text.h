// The updates of `put` as CUDA C: kernels/put.h's semantics, so the CPU's bits. Called by the puts
// of jit/run/cuda. Invariants: the text stands on CudaPrelude() and compiles for the host as
// well; an element of the result is written by one thread, in ascending order of the updates, so
// nothing is left to chance and no atomic is needed.
#pragma once

#include <cstdint>
#include <string>

#include "core/dtype.h"
#include "core/layout.h"

namespace frazil::jit::cuda {

// Axes of the updates and the element strides of what lies along them.
struct PutAxes {
  int64_t count;
  int64_t extents[kMaxRank], strides[kMaxRank];
};

// The parameter of the kernel. Updates [outer][position][inner] go to `out` [outer][index of
// position][inner]; a column is a pair of outer and inner. A warp has 32 columns and one of
// `ranges` ranges of the rows that an index may name.
struct PutArgs {
  const void* updates;
  const void* indices;
  void* out;
  int64_t positions, columns, width;  // width: columns of one outer
  int64_t extent;                     // rows of an outer
  int64_t ranges, range_rows;
  PutAxes outer, inner, position;   // strides of the updates
  int64_t index_strides[kMaxRank];  // along the axes of `position`
};

struct PutShape {
  DType dtype;
  bool add, wide_indices;
};

inline constexpr int kPutThreads = 256;

std::string PutEntry(const PutShape& shape);
// To be appended to CudaPrelude().
std::string PutText(const PutShape& shape);

}  // namespace frazil::jit::cuda
