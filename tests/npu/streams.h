// Instruction streams of the classic kernels, written down as the scalar unit would hand them out:
// what the cycle model is measured with, and a pattern of good schedules for who emits kernels.
// Invariant: every stream keeps the flag rules and ends balanced.
#pragma once

#include <vector>

#include "npu/timing.h"

namespace frazil::npu {

// Collects issues. Scalar instructions stand for address arithmetic: `scalars` of them before each
// instruction that is not a flag.
class Stream {
 public:
  explicit Stream(int scalars = 0) : scalars_(scalars) {}

  void Add(Op op, Queue queue, std::initializer_list<uint64_t> v, int fn = 0, Type type = kF32);
  void Set(Queue from, Queue to, int id) { Sync(Op::kSET, from, from, to, id); }
  void Wait(Queue from, Queue to, int id) { Sync(Op::kWAIT, to, from, to, id); }
  void Halt() { Add(Op::kHALT, kS, {}); }
  const std::vector<Issue>& issues() const { return issues_; }

 private:
  void Sync(Op op, Queue queue, Queue from, Queue to, int id);
  std::vector<Issue> issues_;
  int scalars_;
};

Timing RunStream(const std::vector<Issue>& issues, const Preset& preset,
                 const CycleOptions& options);

// C = A B, row-major, in the tiles of one core.
struct GemmStream {
  int64_t m = 1024, n = 1024, k = 1024;
  Type type = kF16;
  int64_t tm = 256, tn = 256, tk = 256;  // of L1
  int64_t l0m = 128, l0k = 64;           // of L0; columns: tn
  int buffers = 2;                       // of L1, L0 and UB
  bool load_ahead = true;                // the next chunk's loads before this chunk's compute
  bool shared_b = true;                  // both halves of a step use one right operand, in turn
  int scalars = 0;
  int epilogue = 0;        // dependent vector instructions on each part that leaves L0C
  bool interleave = true;  // the parts that leave L0C between the steps that follow
};
std::vector<Issue> Gemm(const GemmStream& g);
// Where the operands lie, for CycleOptions::warm.
std::vector<std::pair<uint64_t, int64_t>> GemmWindows(const GemmStream& g);

// y = op_n(...op_1(x)) over `bytes` of f32 in tiles: the scalar ops mul, add and relu.
struct ChainStream {
  int64_t bytes = 4 << 20;
  int64_t tile = 32 << 10;
  int buffers = 2;
  enum Step : uint8_t { kMul, kAdd, kRelu };
  std::vector<Step> steps = {kMul, kAdd, kRelu};
  bool free_early = true;  // the input's buffer goes back after its one reader, not after all steps
  int scalars = 0;
};
std::vector<Issue> Chain(const ChainStream& c);

// Row-wise softmax of f32.
struct SoftmaxStream {
  int64_t rows = 1024, cols = 1024, tile_rows = 8;
  int buffers = 2;
};
std::vector<Issue> Softmax(const SoftmaxStream& s);

}  // namespace frazil::npu
