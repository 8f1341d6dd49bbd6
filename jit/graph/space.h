// Space: the one iteration space that a set of nodes shares, and where each of their values lies in
// it. Made by Analyse; called by the fuse pass (may these nodes be one kernel?) and by jit/lower
// (which loads, which loops?), so the two can never disagree. Invariant: every axis of every value
// belongs to one space axis; a value whose own extent there is 1 does not vary along it; all
// reductions of a space run over the same loop axes in the same logical order, but for those over
// few elements (`unrolled`), which are written out.
//
// A reduction over at most 16 elements is written out where the space is large enough
// (Space::unrolled): its axes are no axes of the kernel, what varies along them is computed once
// for each of their points, and the sum is the expression that the lane rule gives for so few
// elements. Lanes then run along another axis, and a reduction over a short axis fuses like an
// elementwise op: pairwise distances, their minimum and a sum over all partners are one kernel.
// Elements that lie together are reached from one pointer with constant offsets; otherwise each
// point has a buffer. Only the CPU's kernels are written so.
//
// Which nodes become one kernel is decided by time, by the cost model (core/cost.h): what ops take
// on a vector, what moving bytes takes where they fit, what a launch takes. Analyse
// says whether a set of nodes is one kernel, and space_time.cc how long that
// takes: each value at as many points as it is computed, in lanes that rows fill or not, what a
// later pass over a row computes again, loads and stores by stride. There is no list of patterns,
// and estimates depend on the graph alone, so the same graph becomes the same plan everywhere.
//
// * Up the graph: a node takes in the groups that make its operands, if the union takes less
//   time than its parts (fuse.cc). Softmax, layer norm and their gradients are one kernel each for
//   that reason; x + sin(v) with a short v is two.
//
// * Sideways: groups that read the same data and do not wait for each other are joined by the
//   same rule. Parts of a kernel that share no value are tied by what they read (TieReads). So
//   mean, variance and maximum of an array are one pass, and sums, differences and products of two
//   arrays one kernel with three results. Threads count: what would leave too few columns to share
//   stays apart, and so does what would need more memory.
//
// * Twice: what is stored for kernels that cannot be one (sums of columns beside rows) is
//   computed in each of them if that moves fewer bytes (duplicate.cc): casts, masks, normalised
//   rows, of which two numbers a row are kept then.
#pragma once

#include <optional>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "jit/graph/groups.h"
#include "jit/graph/loop_kernel.h"
#include "jit/kir/kir.h"

namespace frazil::jit {

// An operand that comes from outside the set: memory or a kernel argument.
struct SpaceRead {
  int32_t node;  // the member that reads it
  int operand;
  int32_t base;                  // graph value, behind any views
  int64_t offset = 0;            // elements from base's first
  std::vector<int64_t> strides;  // elements, per space axis
  bool varies = false;           // along the loop
};

struct SpaceMember {
  std::vector<int> axes;     // space axis of each axis of the result
  std::vector<int> domain;   // reductions: of each axis of the operand
  bool in_loop = false;      // varies along the loop: computed inside
  int phase = 0;             // loops that must have ended before it can be computed
  int passes = 1;            // loops in which it is computed
  bool written_out = false;  // a reduction over unrolled axes, `over`, or over one element
  std::vector<int> over;
  std::vector<int> varies;  // unrolled axes that its value varies along
};

struct Space {
  std::vector<int64_t> extents;
  std::vector<bool> pinned;  // index is used as a number: must stay an axis of its own
  std::vector<int> loop;     // loop axes of extent other than 1, outermost first
  std::vector<int>
      parallel;  // the others of extent other than 1, in the order of the outputs' axes
  // Short axes that are no axes of the kernel: what varies along them is computed once for each of
  // their points, and a reduction over them is an expression.
  std::vector<int> unrolled;
  bool has_loop = false;
  bool chunked = false;        // the loop is longer than kir::kChunk and is cut
  bool long_rows = false;      // it is longer, and not cut: kir::Kernel::long_rows
  int loops = 0;               // passes over the loop axis
  int lanes = 0;               // of float sums and prods: 0 (none), 8 or 64
  bool down = false;           // 64 of them, and rows of columns lie together: summed row by row
  std::vector<int32_t> nodes;  // members, views of members included
  std::vector<int32_t> outputs;
  absl::flat_hash_map<int32_t, SpaceMember> members;
  std::vector<SpaceRead> reads;
  // Of a set with a loop: the graph that the members above are nodes of. Null: the one around.
  std::shared_ptr<const LoopKernel> repeat;
  int cost = 0;  // estimated instructions of the body

  // Of the whole kernel (core/cost.h): nanoseconds that it computes on one thread, bytes it moves.
  double compute = 0, bytes = 0;
  double shares = 1;     // parts that threads can take
  bool repeats = false;  // some values are computed more often than they have elements

  double Time() const;
  const Graph& GraphOf(const Graph& around) const { return repeat ? repeat->graph : around; }
  int32_t Around(int32_t id) const { return repeat ? repeat->around[id] : id; }
  const SpaceRead* FindRead(int32_t node, int operand) const;
  bool IsUnrolled(int axis) const;
  // Elements stride per space axis of the dense value `node` of the set.
  std::vector<int64_t> DenseStrides(const Graph& graph, int32_t node) const;
};

// The space of `nodes` (ascending; views of members are found by themselves) with `outputs` stored.
// Empty if they cannot be one kernel, or should not be: a single node always can.
std::optional<Space> Analyse(const Graph& graph, absl::Span<const int32_t> nodes,
                             absl::Span<const int32_t> outputs);

// Fills in how long the kernel takes (jit/graph/space_time.cc).
void EstimateTime(const Graph& graph, Space* space);

// True if the axes `order` (outermost first) are one run for these strides: stride[i] ==
// stride[i+1] * extent[i+1].
bool IsOneRun(const std::vector<int64_t>& extents, const std::vector<int64_t>& strides,
              absl::Span<const int> order);

// The elements of these strides at all points of the unrolled axes lie together: they are reached
// from one pointer, and the distances, which depend on no other extent, are part of the kernel's
// text. Otherwise every point has a pointer of its own.
bool IsNear(const Space& space, const std::vector<int64_t>& strides);
int64_t PointersFor(const Space& space, const std::vector<int64_t>& strides);

// Whether a node copies runs of memory from places that indices say, as an embedding does: by
// itself it is a call of a library.
bool TakesRows(const Graph& graph, const Node& node);
bool StandsAlone(const Node& node);
// Whether a node copies what the graph has made into another order of axes: a kernel of its own
// turns it in registers, where each kernel that reads it would go element by element.
bool TurnsAround(const Graph& graph, const Node& node);

}  // namespace frazil::jit
