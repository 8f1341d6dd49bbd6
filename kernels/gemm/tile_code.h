// The generated inner kernels of products on AMX: up to 32 by 32 elements of C held in tiles while
// k runs. Called by kernels/gemm/tile_gemm.cc. Invariant: k ascends in steps of 64 bytes; tiles are
// 16 rows of 64 bytes, as a TileScope has configured them.
#pragma once

#include <cstdint>

namespace frazil::gemm {

inline constexpr int kTileRows = 16, kTileWords = 16, kTileBytes = 64;

struct TileShape {
  bool bf16;  // products of bfloat16 by pairs; otherwise of int8, modulo 2^32, which are those of
              // uint8 modulo 2^8
  int rows, cols;  // tiles of C, 1 or 2
};

// Strides in bytes.
struct TileCall {
  const void* a[2];    // the rows of each tile
  int64_t a_row;       // from a row to the next
  int64_t a_step;      // from a step of k to the next
  const void* b;       // words: kTileWords rows of 2 * kTileWords columns a step
  void* c;             // rows of 2 * kTileWords words
  int64_t steps;       // at least 1
  int64_t accumulate;  // nonzero: start from what C holds; zero: from +0
};
using TileKernel = void (*)(const TileCall*);

// Generated at first use, kept for the life of the process, thread safe. nullptr where executable
// memory is denied. The machine has AMX.
TileKernel GetTiles(const TileShape& shape);

// The calling thread's tiles in this scope. AmxAllowed() (core/cpu.h) has said yes.
class TileScope {
 public:
  TileScope();
  ~TileScope();
  TileScope(const TileScope&) = delete;
  TileScope& operator=(const TileScope&) = delete;
};

}  // namespace frazil::gemm
