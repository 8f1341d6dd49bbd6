// The yardstick of compute-bound kernels: fused multiply-adds of f32 in registers, as many at once
// as hide their latency. Loaded by bench/yardstick.py through ctypes; split among threads by the
// worker pool of frazil's kernels.
#include <atomic>
#include <cstdint>

#include "core/threads/parallel.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace {

constexpr int kChains = 12;
constexpr int64_t kPart = 4096;  // steps handed out at once; a step is one multiply-add a chain

#if defined(__x86_64__)
__attribute__((target("avx512f"))) float Part512(int64_t steps) {
  __m512 a[kChains];
  for (auto& x : a) x = _mm512_set1_ps(1);
  const __m512 b = _mm512_set1_ps(0.999f), c = _mm512_set1_ps(0.001f);
  for (int64_t i = 0; i < steps; ++i) {
#pragma GCC unroll 12
    for (auto& x : a) x = _mm512_fmadd_ps(x, b, c);
  }
  __m512 sum = a[0];
  for (int i = 1; i < kChains; ++i) sum = _mm512_add_ps(sum, a[i]);
  float out[16];
  _mm512_storeu_ps(out, sum);
  return out[0] + out[15];
}
__attribute__((target("avx2,fma"))) float Part256(int64_t steps) {
  __m256 a[kChains];
  for (auto& x : a) x = _mm256_set1_ps(1);
  const __m256 b = _mm256_set1_ps(0.999f), c = _mm256_set1_ps(0.001f);
  for (int64_t i = 0; i < steps; ++i) {
#pragma GCC unroll 12
    for (auto& x : a) x = _mm256_fmadd_ps(x, b, c);
  }
  float out[8], sum = 0;
  for (const auto& x : a) {
    _mm256_storeu_ps(out, x);
    sum += out[0] + out[7];
  }
  return sum;
}
#endif

float Scalar(int64_t steps) {
  float a[kChains];
  for (auto& x : a) x = 1;
  for (int64_t i = 0; i < steps; ++i)
    for (auto& x : a) x = x * 0.999f + 0.001f;
  float sum = 0;
  for (float x : a) sum += x;
  return sum;
}

int Lanes() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f")) return 16;
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return 8;
#endif
  return 1;
}

float Part(int lanes, int64_t steps) {
#if defined(__x86_64__)
  if (lanes == 16) return Part512(steps);
  if (lanes == 8) return Part256(steps);
#endif
  return Scalar(steps);
}

}  // namespace

// Does at least `flops` operations; what it returns keeps them from being left out.
extern "C" __attribute__((visibility("default"))) double frazil_bench_fma(double flops,
                                                                          int threads) {
  const int lanes = Lanes();
  const auto steps = static_cast<int64_t>(flops / (2.0 * kChains * lanes)) + 1;
  std::atomic<int> sink = 0;
  frazil::SetNumThreads(threads);
  frazil::ParallelFor(steps, kPart, [&](int64_t begin, int64_t end) {
    sink += static_cast<int>(Part(lanes, end - begin));
  });
  return sink;
}
