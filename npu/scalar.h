// The arithmetic of the scalar unit. Called by the scalar unit and by Lint, which follows
// constants. Invariant: total; no operand is undefined.
#pragma once

#include <algorithm>

#include "npu/isa.h"

namespace frazil::npu {

// sd after SALU.fn sd, a, b; `old` is sd before it.
constexpr uint64_t Compute(Alu fn, uint64_t a, uint64_t b, uint64_t old) {
  const int64_t signed_a = int64_t(a), signed_b = int64_t(b);
  switch (fn) {
    case kAluAdd:
      return a + b;
    case kAluSub:
      return a - b;
    case kAluMul:
      return a * b;
    case kAluDivu:
      return b == 0 ? 0 : a / b;
    case kAluRemu:
      return b == 0 ? 0 : a % b;
    case kAluMin:
      return uint64_t(std::min(signed_a, signed_b));
    case kAluMax:
      return uint64_t(std::max(signed_a, signed_b));
    case kAluAnd:
      return a & b;
    case kAluOr:
      return a | b;
    case kAluXor:
      return a ^ b;
    case kAluShl:
      return a << (b & 63);
    case kAluShru:
      return a >> (b & 63);
    case kAluSar:
      return uint64_t(signed_a >> (b & 63));
    case kAluSlt:
      return signed_a < signed_b;
    case kAluSltu:
      return a < b;
    case kAluCmov:
      return b != 0 ? a : old;
  }
  return 0;
}

// Whether SBR.cc a, b jumps.
constexpr bool Holds(Branch cc, uint64_t a, uint64_t b) {
  switch (cc) {
    case kBrEq:
      return a == b;
    case kBrNe:
      return a != b;
    case kBrLt:
      return int64_t(a) < int64_t(b);
    case kBrGe:
      return int64_t(a) >= int64_t(b);
    case kBrLtu:
      return a < b;
    case kBrGeu:
      return a >= b;
    case kBrAlways:
      return true;
  }
  return false;
}

constexpr uint64_t AfterSli(int32_t imm) { return uint64_t(int64_t{imm}); }
constexpr uint64_t AfterSlih(uint64_t old, int32_t imm) {
  return (old & 0xffff'ffff) | uint64_t{uint32_t(imm)} << 32;
}

}  // namespace frazil::npu
