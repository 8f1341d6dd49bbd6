// A copy that turns a matrix: what lies together in the operand lies apart in the result. Called by
// lower.cc for groups that are one copy, and for what a kernel would read across. Invariant: the
// result is that of any other copy.
#pragma once

#include <optional>
#include <vector>

#include "jit/lower/lower.h"

namespace frazil::jit {

// Elements of a value (graph node or temporary) to another, dense one.
struct CopyAcross {
  DType dtype;
  int32_t from;
  int64_t offset;  // elements from its first
  std::vector<int64_t> extents,
      strides;  // of the axes, outermost first, in the order of the result
  int32_t to;
};

// Rows of 16 elements that lie together, lanes along the last axis: the x86 emitter reads such rows
// as they are and turns 16 of them in registers, where a gather would touch 16 lines of the cache
// for each vector. None where the copy is another one, for which the general way is as good.
std::optional<Launch> LowerTransposedCopy(const CopyAcross& copy);
std::optional<Launch> LowerTransposedCopy(const Graph& graph, int32_t id);

}  // namespace frazil::jit
