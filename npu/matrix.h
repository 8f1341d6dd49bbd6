// The inner loops of the matrix unit: one 16 x 16 fractal of C. Called by npu/matrix.cc.
// Invariant: every element of C gets one fma (or wrapping multiply and add) per k, k ascending, so
// all versions give the same bits.
#pragma once

#include "npu/host_loop.h"

namespace frazil::npu {

// Panels hold 16 rows of A or columns of B: [k][16] of f32, or [ceil(k / 2)][16][2] of i16.
struct TileCall {
  const void *a, *b;
  int64_t k;  // steps: of one k, or of two for i16
  bool accumulate;
  void* c;  // 16 x 16 of f32 or i32
};
using TileKernel = void (*)(const TileCall&);

// The host must have the instructions.
TileKernel FloatTile(HostIsa isa);
TileKernel IntegerTile(HostIsa isa);

}  // namespace frazil::npu
