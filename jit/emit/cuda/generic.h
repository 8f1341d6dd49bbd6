// One text that runs every kernel: an interpreter of legal kernel IR in CUDA C. Called by
// jit/run/cuda for kernels whose own text is not compiled yet. Invariant: the bits are those of
// the kernel's own text, for the arithmetic is printed by the same functions.
//
// A program is the kernel's body as records of one size, executed one after another by every
// thread. Values lie in slots of eight bytes in a scratch area, [slot][thread]. With vec space a
// thread has a point (8 lanes are 8 slots); with vec loop 64 threads have one, each a lane. All
// threads of a block are at the same record at any time: those without an element there do nothing.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "core/status.h"
#include "jit/kir/kir.h"

namespace frazil::jit::cuda {

// What a record does. Those up to kLane are for threads that have an element alone.
#define FZ_GENERIC_CODES(X)                                                             \
  X(kConst) /* out = imm */                                                             \
  X(kParam) /* out = word imm */                                                        \
  X(kIndex) /* out = the index along axis imm */                                        \
  X(kLoad)  /* of op bytes; imm, strides: words; a: offset or -1; b: predicate or -1 */ \
  X(kStore) /* a; b: offset or -1; c: predicate or -1 */                                \
  X(kOp)    /* out = op(a, b, c) */                                                     \
  X(kLane)  /* one of the slots out .. out + imm = op(itself, a) */                     \
  X(kEmpty) /* out = imm if the loop of this point has no elements */                   \
  X(kLoop)  /* a: the record of its end */                                              \
  X(kEnd)   /* a: the record of its loop */                                             \
  X(kTree)  /* out = op over the 64 threads, halving */                                 \
  X(kChunk) /* ends a chunk of a long row: out = imm, out + 1 of a thread takes its result */

enum class GenericCode : uint16_t {
#define FZ_CODE(E) E,
  FZ_GENERIC_CODES(FZ_CODE)
#undef FZ_CODE
};

struct GenericInst {
  GenericCode code;
  uint16_t op = 0;
  int32_t out = 0, a = 0, b = 0, c = 0;  // slots
  int32_t strides = 0;
  uint64_t imm = 0;
};

struct GenericProgram {
  struct Phase {
    int32_t begin, end;
  };
  std::vector<GenericInst> insts;
  std::vector<Phase> phases;  // launched one after another
  int slots = 0;              // of a thread
  int team = 1;               // threads for one point: 1 or 64
  int rank = 1, axes = 1, buffers = 0, scalars = 0;
  bool chunked = false;
  bool one_chunk = false;  // that is the longest loop
};

// NotImplementedError: the kernel has more instructions, arguments or axes than the text takes.
StatusOr<GenericProgram> EncodeGeneric(const kir::Kernel& kernel);

struct GenericLaunch {
  unsigned grid = 0;  // 0: the space is empty, nothing is launched
  unsigned block = 0;
  int64_t scratch_bytes = 0;
  int64_t steps = 0;  // records that one thread executes, at most
};
// NotImplementedError: more elements are reduced in order than one chunk has.
StatusOr<GenericLaunch> GenericShape(const GenericProgram& program,
                                     absl::Span<const int64_t> extents);

// The bytes of the one parameter; `insts` and `scratch` are device addresses.
std::vector<uint8_t> PackGeneric(const GenericProgram& program, const GenericProgram::Phase& phase,
                                 const kir::KernelArgs& args, uint64_t insts, uint64_t scratch);

// To be appended to CudaPrelude(); its entry.
std::string GenericText();
inline constexpr char kGenericEntry[] = "frazil_generic";

// The number of an arithmetic instruction, as the text knows it.
uint16_t GenericOp(kir::Op op, DType type, DType from);

inline constexpr int kGenericThreads = 128;  // of a block
inline constexpr int kGenericTeam = 64;
inline constexpr int kGenericAxes = 17;

// The parameter but for its words: extents, addresses, strides, scalars.
struct GenericHead {
  uint64_t insts, scratch;
  int64_t points;
  int32_t begin, end, rank, axes, team, chunked;
};
inline constexpr int kGenericWords = (4000 - int(sizeof(GenericHead))) / 8;

}  // namespace frazil::jit::cuda
