// Products on the tiles of AMX: int8 modulo 2^32, uint8 modulo 2^8, and bfloat16 by pairs.
// Called by kernels/gemm/word_gemm.cc and pairs_gemm.cc. Invariant: k ascends in blocks of 64 bytes
// from +0; the last block is filled up with zeros.
#pragma once

#include <cstdint>

#include "absl/functional/function_ref.h"
#include "kernels/gemm/convert.h"
#include "kernels/gemm/gemm.h"

namespace frazil::gemm {

// Rows from i on and columns from j on of a product, complete: `words` (integers, or floats of
// bfloat16) in rows of `ld`.
using TileSink = absl::FunctionRef<void(const float* words, int64_t ld, int64_t i, int64_t j,
                                        int64_t rows, int64_t cols)>;

// a [m,k] times b [k,n], told to `sink` in parts that do not overlap. S is uint8_t, or uint16_t for
// bfloat16. False, with nothing done, where the machine has no such tiles or no code can be
// generated.
template <typename S>
bool TryTileGemm(View<S> a, View<S> b, int64_t m, int64_t n, int64_t k, TileSink sink);

// Whether the problem's transpose suits the tiles better: rows of A are copied as they are or read
// in place, columns of B are interleaved or transposed.
bool BetterTransposedOnTiles(const GemmArgs& args);

}  // namespace frazil::gemm
