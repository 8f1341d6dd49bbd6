// Which bytes an instruction reads and writes: from operands, before it runs. Called by the checks
// of bounds and alignment, the race detector and the cycle model. Invariant: execution touches
// exactly these bytes.
#pragma once

#include "npu/issue.h"

namespace frazil::npu {

// `rows` rows of `row_bytes` bytes, `stride` apart, from `address` (space tag included).
struct Access {
  uint64_t address = 0;
  int64_t rows = 1, row_bytes = 0, stride = 0;
  uint8_t operand = 0;
  bool write = false;

  Space space() const { return Space(SpaceTag(address)); }
  uint64_t begin() const { return Offset(address); }
  // One past the last byte.
  uint64_t end() const { return begin() + uint64_t((rows - 1) * stride + row_bytes); }
};

struct Accesses {
  std::array<Access, 5> items;
  int count = 0;
  const Access* begin() const { return items.data(); }
  const Access* end() const { return items.data() + count; }
};

// False: an extent or mode is illegal; *fault says why. Addresses are not looked at.
bool AccessesOf(const Issue& issue, Accesses* out, Fault* fault);

// Whether two accesses share a byte; rows that interleave without touching do not.
bool Overlap(const Access& a, const Access& b);

// Spaces, alignment, bounds of local memories, overlap of source and destination: everything but
// GM's windows.
bool CheckAccesses(const Issue& issue, const Accesses& accesses, const Preset& preset,
                   Fault* fault);

}  // namespace frazil::npu
