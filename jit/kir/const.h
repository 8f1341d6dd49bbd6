// Constant bits and numbers: what a `const` instruction's imm means. Called by the builder,
// printer, parser and interpreter. Invariant: bits above the type's width are zero; a bool is 0
// or 1.
#pragma once

#include <cstdint>

#include "core/dtype.h"

namespace frazil::kir {

// `value` converted to `type` as `cast` would from f64, as constant bits.
uint64_t BitsFromDouble(DType type, double value);

// The value of a float constant (f16 bf16 f32 f64), exactly.
double FloatFromBits(DType type, uint64_t bits);

// The value of an integer or bool constant, sign extended to 64 bits if signed.
int64_t IntFromBits(DType type, uint64_t bits);

// `bits` without what lies above the type's width.
inline uint64_t TruncateBits(DType type, uint64_t bits) {
  if (IsBool(type)) return bits & 1;
  return SizeOf(type) == 8 ? bits : bits & ((uint64_t{1} << BitsOf(type)) - 1);
}

}  // namespace frazil::kir
