// The arithmetic of precision "native" an operation at a time, without help of the processor's
// mode: float32 in which subnormals are zeros, as operands and as results.
// Called by kernels/gemm/pairs_gemm.cc where no code can be generated, and by reference.cc.
// Invariant: what the instructions do that flush, which look whether a result is subnormal after
// rounding it as if the exponent had no bound.
#pragma once

#include <cmath>

namespace frazil::gemm {

inline float Flushed(float x) { return std::fabs(x) < 0x1p-126f ? std::copysign(0.0f, x) : x; }

inline float FlushedAdd(float x, float y) { return Flushed(Flushed(x) + Flushed(y)); }

// The factors are bfloat16, so that they may be scaled where the result is small.
inline float FlushedFma(float x, float y, float z) {
  x = Flushed(x), y = Flushed(y), z = Flushed(z);
  const float result = std::fma(x, y, z);
  if (!(std::fabs(result) <= 0x1p-126f) || result == 0) return Flushed(result);
  const float scaled = std::fma(x * 0x1p32f, y * 0x1p32f, z * 0x1p64f);
  return std::fabs(scaled) < 0x1p-62f ? std::copysign(0.0f, result) : result;
}

// One chunk: a(p) times b(p) for p < k.
template <typename A, typename B>
float PairsChunk(int64_t k, const A& a, const B& b) {
  constexpr int64_t kBlock = 32;
  float sum = 0;
  for (int64_t start = 0; start < k; start += kBlock) {
    float parts[2] = {0, 0};
    for (int64_t p = start; p < start + kBlock; ++p) {
      const float x = p < k ? a(p) : 0, y = p < k ? b(p) : 0;
      parts[p % 2] = FlushedFma(x, y, parts[p % 2]);
    }
    sum = FlushedAdd(sum, FlushedAdd(parts[0], parts[1]));
  }
  return sum;
}

}  // namespace frazil::gemm
