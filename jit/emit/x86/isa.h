// The instruction set levels that the x86 emitter knows. Used by whoever picks an emitter.
// Invariant: the level changes speed, never a bit of a result.
#pragma once

#include <cstdint>

namespace frazil::jit {

enum class Isa : uint8_t { kAvx2, kAvx512 };  // AVX2+FMA+F16C+BMI; and AVX-512 F, BW, DQ, VL

}  // namespace frazil::jit
