// A lane as the templates of kernels/fn*.h want it: the V on which the vector unit evaluates exp,
// log, tanh and erf. Called by npu/vector_unary.cc. Invariant: every operation is that of
// jit/kir/ops.def on f32, u32 or bool, so the bits are those of kernels.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

#include "core/dtype.h"
#include "kernels/fn_tables.h"

namespace frazil::npu {

#define FZ_NPU_INLINE [[gnu::always_inline]] inline

// The type is a constant wherever this is used: all that depends on it folds away.
struct LaneV {
  DType type = DType::kF32;
  uint32_t bits = 0;

  FZ_NPU_INLINE float f() const { return std::bit_cast<float>(bits); }
  FZ_NPU_INLINE static LaneV F(float x) { return {DType::kF32, std::bit_cast<uint32_t>(x)}; }
};

FZ_NPU_INLINE bool Floats(LaneV a) { return a.type == DType::kF32; }
FZ_NPU_INLINE LaneV KBits(LaneV like, uint64_t bits) { return {like.type, uint32_t(bits)}; }
FZ_NPU_INLINE LaneV K(LaneV like, double value) {
  return Floats(like) ? LaneV::F(float(value)) : KBits(like, uint64_t(int64_t(value)));
}

#define FZ_NPU_ARITHMETIC(op)                                                      \
  FZ_NPU_INLINE LaneV operator op(LaneV a, LaneV b) {                              \
    return Floats(a) ? LaneV::F(a.f() op b.f()) : LaneV{a.type, a.bits op b.bits}; \
  }
FZ_NPU_ARITHMETIC(+)
FZ_NPU_ARITHMETIC(-)
FZ_NPU_ARITHMETIC(*)
#undef FZ_NPU_ARITHMETIC
FZ_NPU_INLINE LaneV operator/(LaneV a, LaneV b) { return LaneV::F(a.f() / b.f()); }
FZ_NPU_INLINE LaneV operator-(LaneV a) { return LaneV::F(-a.f()); }

#define FZ_NPU_COMPARE(op)                                                          \
  FZ_NPU_INLINE LaneV operator op(LaneV a, LaneV b) {                               \
    return {DType::kBool, uint32_t(Floats(a) ? a.f() op b.f() : a.bits op b.bits)}; \
  }
FZ_NPU_COMPARE(<)
FZ_NPU_COMPARE(<=)
FZ_NPU_COMPARE(>)
FZ_NPU_COMPARE(>=)
FZ_NPU_COMPARE(==)
FZ_NPU_COMPARE(!=)
#undef FZ_NPU_COMPARE

// Unsigned and bool alone; shift counts are below 32.
#define FZ_NPU_BITWISE(op) \
  FZ_NPU_INLINE LaneV operator op(LaneV a, LaneV b) { return {a.type, a.bits op b.bits}; }
FZ_NPU_BITWISE(&)
FZ_NPU_BITWISE(|)
FZ_NPU_BITWISE(^)
FZ_NPU_BITWISE(<<)
FZ_NPU_BITWISE(>>)
#undef FZ_NPU_BITWISE

FZ_NPU_INLINE LaneV bitcast(DType to, LaneV a) { return {to, a.bits}; }
FZ_NPU_INLINE LaneV select(LaneV c, LaneV a, LaneV b) {
  const uint32_t mask = 0 - c.bits;
  return {a.type, (a.bits & mask) | (b.bits & ~mask)};
}
FZ_NPU_INLINE LaneV abs(LaneV a) { return {a.type, a.bits & 0x7FFFFFFF}; }
FZ_NPU_INLINE LaneV fma(LaneV a, LaneV b, LaneV c) {
  return LaneV::F(std::fma(a.f(), b.f(), c.f()));
}

FZ_NPU_INLINE bool HasScale(LaneV) { return false; }
FZ_NPU_INLINE LaneV scale(LaneV a, LaneV) { return a; }
FZ_NPU_INLINE bool HasLookup(LaneV) { return true; }
FZ_NPU_INLINE LaneV lookup(int table, LaneV index) {
  return LaneV::F(fn::kTables[table][index.bits % fn::kTableSize]);
}

#undef FZ_NPU_INLINE

}  // namespace frazil::npu
