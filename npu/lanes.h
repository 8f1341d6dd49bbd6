// Elements of memory as lanes of 32 bits, in which the vector unit computes: f32 for the floats,
// i32 for bytes and i32, u32. Called by the files of the machine that compute. Invariant: loading
// is exact; storing rounds 16-bit floats once to nearest even and wraps integers.
#pragma once

#include "npu/isa.h"

namespace frazil::npu {

inline constexpr int64_t kBlock = 1024;  // lanes handled at a time

// The type of the lanes of elements of `type`: kF32, kI32 or kU32.
constexpr Type LaneType(Type type) { return IsFloat(type) ? kF32 : type == kU32 ? kU32 : kI32; }

// Lanes of n elements: where they are, or in `buffer`.
const void* LoadLanes(Type type, const char* from, int64_t n, void* buffer);
// Lanes at `lanes` to n elements of `type` of the same lane type. The two may be the same memory
// where the sizes are equal.
void StoreLanes(Type type, const void* lanes, int64_t n, char* to);

enum Rounding : uint8_t { kRoundNearest, kRoundToZero, kRoundDown, kRoundUp };
// n lanes of `from` as elements of type `to`. Float to integer rounds as told, saturates, NaN gives
// 0; integer to integer wraps, or saturates if asked; anything to a float rounds once to nearest
// even.
void ConvertLanes(Type from, const void* lanes, int64_t n, Type to, Rounding rounding,
                  bool saturate, char* out);

}  // namespace frazil::npu
