// Matrix multiplication on the CPU for every numeric dtype, under frazil's matmul rule.
// Called by the eager matmul, autograd and compiled plans. Invariant: the bits of the output depend
// on the operands' values and shapes alone, never on the instruction set, the layout, or the thread
// count.
//
// The rule, for each output element: k is cut into chunks of 4096; within a chunk acc starts at +0
// and acc = fma(a[i,k], b[k,j], acc) for k ascending; chunk results are combined by the sum rule
// (64 lanes). 16-bit floats accumulate in f32 and round once; integers wrap in their own type.
// kernels/gemm/reference.h says the same in plain loops.
#pragma once

#include <cstdint>
#include <memory>

#include "absl/functional/function_ref.h"
#include "core/dtype.h"

namespace frazil {

// Strides are in elements. Inputs: any sign, 0 allowed. Output: elements must not overlap.
struct MatrixRef {
  void* data;
  int64_t row_stride, col_stride;
};

// c = a @ b with a [m,k], b [k,n], c [m,n]. All of c is written; c never aliases a or b.
struct GemmArgs {
  DType dtype;
  int64_t m, n, k;
  MatrixRef a, b, c;
  // bfloat16 by the rule of precision "native".
  bool pairs = false;
  // int8 in a and b, int32 in c: the sums wrap in 32 bits.
  bool wide = false;
};

// The same with the operands in each other's place: c's transpose.
GemmArgs Transposed(const GemmArgs& args);

// Which code computes it; for tests and benchmarks. An instruction set that this machine lacks
// falls back to the best one below it. kBest is the best that FRAZIL_ISA allows.
enum class Isa : uint8_t { kScalar, kAvx2, kAvx2Vnni, kAvx512, kAvx512Vnni, kAmx, kBest };

// The instruction set that `wanted` stands for on this machine.
Isa ResolveUnits(Isa wanted);
// Its vectors: kScalar, kAvx2 or kAvx512.
Isa ResolveIsa(Isa wanted);

// On the calling thread. dtype is any but bool.
void Gemm(const GemmArgs& args, Isa isa = Isa::kBest);

// Many products of one shape, layout and type, each on the calling thread: what is chosen by those
// is chosen once. An instance is for one thread.
class GemmSeries {
 public:
  explicit GemmSeries(const GemmArgs& like, Isa isa = Isa::kBest);  // without its pointers
  ~GemmSeries();
  GemmSeries(const GemmSeries&) = delete;
  GemmSeries& operator=(const GemmSeries&) = delete;

  void Run(void* a, void* b, void* c);

 private:
  struct Chosen;
  GemmArgs like_;
  const Isa isa_;
  std::unique_ptr<Chosen> chosen_;  // null: each product chooses for itself
};

// c = fma(a, b, c) for k ascending: continues the accumulators that c holds. f32 and f64, k of at
// most 4096, adjacent columns of c.
void GemmAdd(const GemmArgs& args, Isa isa = Isa::kBest);

// Calls its second argument for 0..count-1, on any threads, and returns when all are done.
using ParallelRun = absl::FunctionRef<void(int64_t count, absl::FunctionRef<void(int64_t)> body)>;

// Spreads the work over `threads` threads by calls of `run` (none where it is too small to share).
void GemmParallel(const GemmArgs& args, int threads, ParallelRun run, Isa isa = Isa::kBest);

// A ParallelRun on the project's own pool (core/threads/parallel.h). A thread takes one at a time:
// they are few and long, and two at once may leave a thread with half as much again as another.
void OneByOne(int64_t count, absl::FunctionRef<void(int64_t)> body);

// GemmParallel on that pool. Inside a pool's body it stays on one
// thread.
void GemmOnPool(const GemmArgs& args, Isa isa = Isa::kBest);

// Called with rows [begin, end) of the output that are complete, while the caches of its thread
// hold them.
using RowsDone = absl::FunctionRef<void(int64_t begin, int64_t end)>;

// The same; `done` is called for every row once, on any thread, before it returns (but for an
// abandoned product).
void GemmOnPool(const GemmArgs& args, const RowsDone& done, Isa isa = Isa::kBest);

// For those that make a matrix: `make` tells either of all rows or of none, and then they are told
// of afterwards.
void TellRows(int64_t rows, const RowsDone& done,
              absl::FunctionRef<void(const RowsDone& rows_done)> make);

}  // namespace frazil
