// KernelMaker: turns accesses over space axes into a kernel's buffers, axes and stride classes, and
// into the launch that goes with it. Called by jit/lower only. Use: add buffers, ChooseAxes, write
// the body, Finish. Invariant: the kernel's text depends on stride classes; extents, strides and
// offsets go to the launch.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "jit/kir/builder.h"
#include "jit/lower/lower.h"

namespace frazil::jit {

// The axes a kernel runs over, as numbers into `extents`.
struct Axes {
  std::vector<int64_t> extents;
  std::vector<bool> pinned;   // may be empty: none
  std::vector<int> parallel;  // outermost first
  std::vector<int> loop;      // one run for every buffer that varies along it
  bool has_loop = false;
  bool chunked = false;
  bool long_rows = false;
  int lanes = 0;
  bool down = false;       // columns carry the vectors, though lanes are 64
  bool unrolled = false;   // further axes are written out
  int64_t iterations = 0;  // of the repeat that buffers move with; a single point has no lanes
  int64_t LoopExtent() const;
};

class KernelMaker {
 public:
  KernelMaker(std::string name, Axes axes);
  KernelMaker(const KernelMaker&) = delete;

  // A buffer of `node` (see Launch::Buffer), offset and strides in elements; chunk: the stride
  // along the chunk axis; step: from one iteration to the next. An input that is there already is
  // shared.
  int AddBuffer(int32_t node, DType dtype, bool out, int64_t offset, std::vector<int64_t> strides,
                int64_t chunk = 0, int64_t step = 0);
  // Fixes rank, vector axis and classes. No buffers after this.
  void ChooseAxes();

  kir::V Param(int32_t node, DType dtype);  // an immediate input
  kir::V Literal(int64_t word);             // a number that is not part of the text
  // Of the immediate inputs `nodes` the one of the iteration that runs. Inside a repeat.
  kir::V Each(absl::Span<const int32_t> nodes, DType dtype);
  kir::V Index(int axis);  // a pinned axis, or the only one of its run
  kir::V LoopIndex() { return builder_.Index(launch_.kernel.rank); }
  kir::Builder& builder() { return builder_; }

  Launch Finish(double time);  // about so many nanoseconds (core/cost.h)

 private:
  struct Access {
    int64_t chunk, step;
    std::vector<int64_t> strides;
  };
  // Elements of buffer i along kernel axis `run`.
  int64_t StrideOver(const Access& access, const std::vector<int>& run) const;
  void JoinParallel();
  kir::VecAxis ChooseVec() const;
  bool MayStream() const;
  bool WritesParts() const;

  Axes axes_;
  std::vector<Access> accesses_;
  std::vector<std::vector<int>> runs_;  // kernel axes of the space, without the chunk axis
  void AppendEach();

  Launch launch_;
  std::vector<std::vector<int32_t>> each_;  // of each Each: its nodes
  std::vector<DType> each_types_;
  kir::Builder builder_;
};

}  // namespace frazil::jit
