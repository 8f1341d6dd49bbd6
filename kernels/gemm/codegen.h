// The generated inner kernels of the GEMM: a tile of C held in registers while k runs.
// Called by kernels/gemm/blocked.cc. Invariant: k ascends, and what a k step does to an output is
// the same in every shape of kernel, which give the same bits; generated pages are never writable
// and executable at once.
#pragma once

#include <cstdint>

#include "core/tuned.h"
#include "kernels/gemm/gemm.h"

namespace frazil::gemm {

// How the kernel walks A: consecutive k of a row adjacent (rows `lda` bytes apart), or consecutive
// rows of one k adjacent (k steps `lda` bytes apart).
enum class ALayout : uint8_t { kRows, kColumns };

// What a k step adds to an element of C. All but the first multiply words of four bytes, which hold
// one float or consecutive k of integers, and sum in words.
enum class Step : uint8_t {
  kFma,          // fma(a, b, acc)
  kPairs,        // floats: even and odd k apart, added to C every kPairsBlock k steps
  kBytes,        // the products of four bytes, A's unsigned and B's signed, with VNNI
  kHalves,       // the products of two 16-bit integers, with VNNI; right modulo 2^16
  kPlainHalves,  // the same without VNNI
  kWords,        // the product of two 32-bit integers
};
inline constexpr int kSteps = 6;
inline constexpr int kPairsBlock = 32;

// What a kernel fetches while it computes: for products larger than the caches.
enum class Ahead : uint8_t {
  kNone,
  kNear,     // the tile of C that comes next, and memory at `ahead`
  kFarRows,  // that tile, and rows of B that lie apart, tuned::kFarRowsAhead k steps on
  kListed,   // what `list` names; B is packed, its rows as wide as the kernel's
};
inline constexpr int kAheads = 4;

struct KernelShape {
  bool f64;
  Isa isa;      // kAvx2 or kAvx512
  int mr;       // rows of C
  int nv;       // vectors of C in a row
  bool masked;  // the last vector is partial
  ALayout a;
  Ahead ahead = Ahead::kNone;
  Step step = Step::kFma;
  bool runs = false;  // A lies in runs of k steps, which RunsCall lists; B goes on from run to run
};

// A cache line that a kernel fetches: `offset` bytes from `from[base / 8]` of the call.
struct AheadLine {
  int32_t offset, base;
};

// All strides in bytes. B and C have adjacent columns.
struct KernelCall {
  const void* a;
  int64_t lda;
  const void* b;
  int64_t ldb;
  void* c;
  int64_t ldc;
  int64_t k;
  int64_t accumulate;    // nonzero: start from what C holds; zero: from +0
  uint64_t mask_bits;    // AVX-512: the columns present in the last vector
  const void* mask_row;  // AVX2: the same as a vector of all-ones and all-zeros elements
  // Of a kernel that looks ahead: the tile of C that comes next, and memory to be read into the
  // second-level cache, kAheadBytes for every kAheadSteps k steps, or with far_rows a row of B
  // each.
  const void* next_c;
  const void* ahead;
};
using Kernel = void (*)(const KernelCall*);

// Of a kernel with a list, which gets the address of `call`: a line for every kAheadSteps k steps
// goes to the second-level cache.
struct ListedCall {
  KernelCall call;
  const AheadLine* list;
  const void* from[4];
};

// So many k steps of A from `a` on.
struct Run {
  const void* a;
  int64_t k;
};

// Of a kernel with runs, which gets the address of `call`: its `a` is an offset in bytes to those
// of the runs, its k is not looked at.
struct RunsCall {
  KernelCall call;
  const Run* runs;
  int64_t count;  // at least 1
};

inline constexpr int kAheadSteps = 4, kAheadBytes = 128;

// Elements in one vector.
int Lanes(Isa isa, bool f64);
// The most rows a kernel with nv vectors a row can have, at most; nv is 1..kMaxVectors.
inline constexpr int kMaxVectors = 8;
inline constexpr int kMostRowsOfRuns = 16;  // lines of images are powers of two
int MaxRows(Isa isa, int nv, Step step = Step::kFma, bool runs = false);

// Sets the mask fields of `call` for `columns` (1..Lanes) columns in the last vector.
void SetMask(const KernelShape& shape, int columns, KernelCall* call);

// Generated at first use, kept for the life of the process, thread safe. nullptr where executable
// memory is denied.
Kernel GetKernel(const KernelShape& shape);

}  // namespace frazil::gemm
