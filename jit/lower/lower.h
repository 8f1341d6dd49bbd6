// Lowering: a group on concrete layouts becomes kernel launches. Called by the planner; the only
// place where broadcasting, collapsing of axes, stride classes, the vector axis, chunked reductions
// and widening of 16-bit floats and small integers are decided, once for all emitters. Invariant:
// the kernel text depends on ops, dtypes and layout classes, never on extents (a new batch size
// finds the kernel in the cache); the launch holds what depends on extents.
#pragma once

#include <memory>
#include <vector>

#include "jit/graph/groups.h"
#include "jit/kir/kir.h"

namespace frazil::jit {

// One kernel call on concrete shapes.
struct Launch {
  kir::Kernel kernel;
  struct Buffer {
    int32_t node;    // the graph value (after following views: an input or a computed value), or
                     // -1 - t: temporary number t of the group (partial results of long reductions)
    int64_t offset;  // bytes from that value's first element
  };
  std::vector<Buffer> buffers;  // as kernel.buffers
  // The words of kir::KernelArgs::scalars: immediate input nodes, or -1 - l: literals[l].
  std::vector<int32_t> scalars;
  std::vector<uint64_t>
      literals;  // words known here but not in the kernel: strides of gathers, bounds of pads
  std::vector<int64_t> extents;  // kernel.axes() entries
  std::vector<int64_t> strides;  // bytes, [buffer][axis]
  int64_t rows = 1, cols = 1;    // the whole range (see kir::KernelFn)
  int64_t work = 0;              // about so many nanoseconds on one thread (core/cost.h)
};

struct LoweredGroup {
  std::vector<Launch> launches;          // in order
  std::vector<int64_t> temporary_bytes;  // sizes of the temporaries
};

StatusOr<LoweredGroup> Lower(const Graph& graph, const Group& group);

}  // namespace frazil::jit
