// The kernel IR: typed scalar SSA inside an explicit iteration space. Built by jit/lower, executed
// by the interpreter (its definition), printed as .kir, emitted by jit/emit/*.
//
// Space. A kernel has `rank` >= 1 parallel axes 0..rank-1 and, if has_loop, one further axis number
// `rank`, over which `loop ... end` regions run in sequence for every point of the space. Extents
// are runtime values: a kernel is generic in shape. Every buffer is addressed by the current
// indices:
//     address = base + sum over axes of index[axis] * stride[axis] (+ element offset operand)
// with runtime byte strides whose class (0, one element, any) is part of the kernel. Outside a loop
// the loop axis does not contribute. Indices are i64.
//
// Chunks. If `chunked`, axis 0 counts chunks of kChunk along the loop axis: at index c of axis 0 a
// loop runs over j in [c*kChunk, min((c+1)*kChunk, extent)), and `index rank` and addresses use
// that j. Otherwise a loop runs over [0, extent); a float sum or prod then requires extent <=
// kChunk (the caller's duty), or `long_rows`: it reduces each chunk, and their results, of which
// there may be kChunk, once more by the same rule. That is for GPUs, where a block has a row.
//
// Vector axis. `vec` says which axis carries SIMD lanes: kSpace (axis rank-1), kLoop, or kNone, for
// long bodies at few points, which are computed one after another (no loop axis). It never
// changes results: reduce lanes are fixed by Inst::lanes (64 or 8). Verify() enforces: lanes == 8
// requires vec == kSpace (for float sum/prod). 64 lanes with vec kSpace are for the CPU.
//
// With vec kSpace a chunked kernel has rank >= 2 (chunks are not lanes).
//
// Barriers. A barrier cuts the body into phases: all points finish one before any begins the next.
// No value reaches across; what a phase wrote, a later one may load (an output is loaded only after
// a barrier). A kernel with a barrier is called once, for its whole space.
//
// Repeats. `repeat %n ... done` runs its body n times at every point, with a state that never goes
// to memory: the carries behind `repeat`, which `next` gives their values for the following
// iteration. n is a value of scalars and constants alone, at least 1 (the caller's duty). Carries
// are bools and 32- and 64-bit numbers; behind `done` a carry is its final value, everything else
// made inside stays inside. `done %c` ends the repeat as soon as the carry %c, an i32, has become 0;
// such a kernel has a single point (the caller's duty). Loads may stand inside, stores not. A kernel with a repeat has neither
// a loop axis nor a barrier; repeats follow one another, never one inside another. An `each` scalar
// has a word for every iteration, and is read inside the (then only) repeat.
//
// Moving buffers. A kernel that `moves` has one repeat, whose iterations are its axis number `rank`:
// inside, addresses move along it, and what moves may be stored. Nothing that is stored inside is
// loaded by the kernel (the caller's duty). The axis has no index.
//
// Invariant: value ids are instruction indices, operands precede uses, and Verify() holds after
// every pass.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "core/dtype.h"
#include "core/status.h"

namespace frazil::kir {

enum class Op : uint8_t {
#define KIR_OP(E, name, operands, doc) E,
#include "jit/kir/ops.def"
#undef KIR_OP
};

// Elements of the loop axis that one float sum or prod covers (core/SEMANTICS.md).
inline constexpr int64_t kChunk = 4096;

enum class ReduceKind : uint8_t { kSum, kProd, kMax, kMin, kAnd, kOr };  // kAnd/kOr on bool

// A value id: the index of the instruction that makes it; kNone where an optional operand is
// absent.
using Id = int32_t;
inline constexpr Id kNone = -1;

struct Inst {
  Op op;
  DType type = DType::kBool;  // of the result; store: of the stored value
  uint8_t lanes = 0;          // reduce of float sum/prod: 64 or 8; otherwise 0
  Id a = kNone, b = kNone, c = kNone;
  uint64_t imm = 0;  // constant bits, parameter/buffer/axis/function number, ReduceKind

  bool operator==(const Inst&) const = default;
};

// What the kernel knows of a stride at compile time.
enum class Stride : uint8_t { kZero, kOne, kAny };  // text: 0 1 s

struct Buffer {
  std::string name;
  DType dtype;
  bool out = false;
  // One class per axis, last that of the loop or of the iterations if there is one. An output never has kZero on an axis it
  // varies over.
  absl::InlinedVector<Stride, 4> strides;

  bool operator==(const Buffer&) const = default;
};

struct Scalar {
  std::string name;
  DType dtype;
  bool each = false;  // a word for every iteration of the repeat; stands behind all plain scalars
  bool operator==(const Scalar&) const = default;
};

enum class VecAxis : uint8_t { kSpace, kLoop, kNone };

struct Kernel {
  std::string name;
  int rank = 1;
  bool has_loop = false;
  bool chunked = false;
  bool long_rows = false;
  bool moves = false;   // iterations of the repeat are an axis
  bool stream = false;  // outputs with stride one bypass the cache (large results); 64-byte aligned
                        // by the caller
  VecAxis vec = VecAxis::kSpace;
  std::vector<Buffer> buffers;
  std::vector<Scalar> scalars;
  std::vector<Inst> body;

  int axes() const { return rank + (has_loop || moves ? 1 : 0); }
  int plain_scalars() const;  // those that are not `each`
  bool has_repeat() const;
};

// How every compiled or interpreted kernel is called. Rows count the points of axes 0..rank-2 in
// row-major order (one row if rank == 1); columns are axis rank-1. A call computes rows [row_begin,
// row_end) x columns [col_begin, col_end): that is how a pool splits work. strides are in bytes,
// [buffer][axis] row-major; extents has axes() entries; scalars hold one 64-bit word each, the
// value in the low bytes: the plain ones in order, then all `each` scalars of iteration 0, then of
// iteration 1, and so on.
struct KernelArgs {
  void* const* buffers;
  const int64_t* extents;
  const int64_t* strides;
  const uint64_t* scalars;
};
using KernelFn = void (*)(const KernelArgs* args, int64_t row_begin, int64_t row_end,
                          int64_t col_begin, int64_t col_end);

std::string_view Name(Op op);
int NumOperands(Op op);
constexpr bool HasValue(Op op) {
  return op != Op::kStore && op != Op::kLoop && op != Op::kEnd && op != Op::kBarrier &&
         op != Op::kRepeat && op != Op::kNext && op != Op::kDone;
}
std::string_view Name(ReduceKind kind);

// Structure, types, visibility, the rules above. Called after every pass in debug builds and by the
// parser.
Status Verify(const Kernel& kernel);

// Text form, stable: Parse(Print(k)) == k up to value names. Used in goldens and FRAZIL_DUMP.
//   kernel k7(x: buf f32 [1], w: scalar f32, o: out f32 [1]) space 1
//     %0 = load x : f32
//     %1 = param w : f32
//     %2 = mul %0, %1 : f32
//     store o, %2
//   kernel row_sum(x: buf f32 [s,1], o: out f32 [1,0]) space 1 loop vec loop
//     loop
//       %1 = load x : f32
//       %2 = reduce sum.64 %1 : f32
//     end
//     store o, %2
//   kernel power(x: buf f32 [1], n: scalar i64, w: each f32, o: out f32 [1]) space 1
//     %0 = load x : f32
//     %1 = param n : i64
//     repeat %1
//       %3 = carry %0 : f32
//       %4 = param w : f32
//       %5 = fma %3, %3, %4 : f32
//       next %3, %5
//     done
//     store o, %3
// Header flags after the space rank: `loop`, `chunked`, `long`, `stream`, `moves`, `vec loop`, `vec none`. load x[%off]
// ? %pred ; store o[%off], %v ? %pred ; const prints decimal for integers, hex float for floats,
// true/false for bool, and nan, inf, -inf or nan:0xBITS. call exp %0 ; index 0. Printed value names
// are instruction indices; the parser takes any names. `#` starts a comment.
std::string Print(const Kernel& kernel);
StatusOr<Kernel> Parse(std::string_view text);

// The content that identifies a kernel: everything except names. Equal keys mean equal code.
std::string ContentKey(const Kernel& kernel);
// 64 bits of that, the same in every process: for names of files and entries.
uint64_t ContentHash(const Kernel& kernel);

}  // namespace frazil::kir
