// Tables in which the definitions of kernels/fn_*.h look coefficients up: kernels/fn_tables.def as
// data. Called by those headers and by whoever executes `lookup` (jit/kir/ops.def). Invariant: a
// table has 16 entries, one vector register of f32, and an index counts mod 16.
#pragma once

namespace frazil::fn {

enum Table {
#define FZ_TABLE(E, ...) E,
#include "kernels/fn_tables.def"
#undef FZ_TABLE
  kNumTables
};

inline constexpr int kTableSize = 16;
inline constexpr float kTables[][kTableSize] = {
#define FZ_TABLE(E, ...) {__VA_ARGS__},
#include "kernels/fn_tables.def"
#undef FZ_TABLE
};

}  // namespace frazil::fn
