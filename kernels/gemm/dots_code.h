// The generated inner kernels of kernels/gemm/row_dots.cc: a few rows of A times the transpose of a
// matrix stored along the sum, in 16 bits, too. Invariant: one fma an output and k step, k ascending;
// blocks of the matrix are transposed in registers, so that the lanes are its rows, and widened
// behind that, two k steps being a word; generated pages are never writable and executable at once.
#pragma once

#include <cstdint>

#include "kernels/gemm/gemm.h"

namespace frazil::gemm {

// Elements of the matrix: of the type computed in, or 16-bit floats beside f32.
enum class DotsStored : uint8_t { kComputed, kBFloat16, kHalf };

struct DotsShape {
  bool f64;
  Isa isa;      // kAvx2 or kAvx512
  int rows;     // of A, at most MaxDotsRows
  int vectors;  // of rows of B, 1 or 2
  bool ahead;   // fetches what comes next while it computes
  DotsStored stored = DotsStored::kComputed;
};

// Strides in bytes.
struct DotsCall {
  const void* b;
  int64_t ldb;
  const void* a;
  int64_t lda;
  void* c;
  int64_t ldc;
  int64_t blocks;        // of 2 * DotsTurn k steps
  int64_t rest;          // k steps behind them, fewer than a block; of 16 bits an even number
  int64_t accumulate;    // nonzero: start from what C holds; zero: from +0
  uint64_t mask_bits;    // AVX-512: the low `rest % DotsTurn` bits, of 16 bits `rest / 2`
  const void* mask_row;  // AVX2: the same as a vector of 16 bytes
  const void* ahead;     // what a kernel that looks ahead reads into the second-level cache: a line
  int64_t ahead_step;    // for each row of B and block, of 16 bits for every other row, and
                         // `ahead_step` bytes on after each block
  const void* halves;    // of 16 bits: what takes words apart, a vector
};
using DotsKernel = void (*)(const DotsCall*);

// k steps that are transposed at once: half of a vector.
int DotsTurn(Isa isa, bool f64);
// The most rows with that many vectors.
int MaxDotsRows(Isa isa, int vectors);
// Sets the mask fields of `call` by its `rest`, and `halves`.
void SetDotsMask(const DotsShape& shape, DotsCall* call);

// Generated at first use, kept for the life of the process, thread safe. nullptr where executable
// memory is denied.
DotsKernel GetDots(const DotsShape& shape);

}  // namespace frazil::gemm
