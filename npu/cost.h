// What one instruction costs, from its operands and the preset: the one place of occupancy and
// tail. Called by the cycle model, the tile search (through CostOf of timing.h) and reports.
// Invariant: depends on the issue and the preset alone; more work never costs less.
#pragma once

#include "npu/access.h"
#include "npu/timing.h"

namespace frazil::npu {

// True: LD, ST or DR that moves bytes from or to device memory.
bool TouchesGm(const Issue& issue);
bool WritesGm(const Issue& issue);

// Device memory one instruction moves.
struct GmRows {
  uint64_t address = 0;  // of the first row, without tag
  int64_t rows = 0, row_bytes = 0, stride = 0;

  int64_t bytes() const { return rows * row_bytes; }
  // Bytes that the channel is busy with for row number r: whole bursts, and one more if the row
  // does not begin at a sector.
  int64_t Charged(int64_t r, int burst) const;
  int64_t Charged(int burst) const;  // all rows
};
GmRows GmRowsOf(const Issue& issue);

// Cycles for `hit` bytes that lie in L2 and `miss` bytes that do not, setup included. `l2`: there
// is one (stores go to it).
int64_t GmCycles(bool write, int64_t hit, int64_t miss, bool l2, const Preset& preset);

// With the GM part given as cycles (GmCycles); instructions that touch no GM ignore it.
Cost CostWithGm(const Issue& issue, const Preset& preset, int64_t gm_cycles);

// Cycles of the scalar unit.
int64_t ScalarCycles(const Issue& issue, bool taken);

VectorClass VectorClassOf(const Issue& issue);
int64_t BeatsOf(const Issue& issue, const Preset& preset);
int64_t MacsOf(const Issue& issue);
int64_t BytesOf(const Issue& issue);  // moved, or written by matrix and vector unit

inline constexpr int kSectorBytes = 512;
inline constexpr int kDispatchLatency = 4, kFlagLatency = 4;

}  // namespace frazil::npu
