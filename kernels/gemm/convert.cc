#include "kernels/gemm/convert.h"

#include <immintrin.h>

#include <cstring>

namespace frazil::gemm {
namespace {

// Every processor with AVX2 has it.
bool HasF16c() { return __builtin_cpu_supports("avx2"); }

__attribute__((target("avx,f16c"))) void WidenHalves(const Half* src, int64_t n, float* dst) {
  int64_t i = 0;
  for (; i + 8 <= n; i += 8) {
    __m128i bits = _mm_loadu_si128(reinterpret_cast<const __m128i*>(src + i));
    _mm256_storeu_ps(dst + i, _mm256_cvtph_ps(bits));
  }
  for (; i < n; ++i) dst[i] = Widen(src[i]);
}

// Groups that hold a NaN go through ToHalf, which has one NaN only.
__attribute__((target("avx,f16c"))) void NarrowHalves(const float* src, int64_t n, Half* dst) {
  int64_t i = 0;
  for (; i + 8 <= n; i += 8) {
    __m256 x = _mm256_loadu_ps(src + i);
    if (_mm256_movemask_ps(_mm256_cmp_ps(x, x, _CMP_UNORD_Q)) != 0) {
      for (int64_t j = i; j < i + 8; ++j) Narrow(src[j], dst + j);
      continue;
    }
    __m128i bits = _mm256_cvtps_ph(x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
    _mm_storeu_si128(reinterpret_cast<__m128i*>(dst + i), bits);
  }
  for (; i < n; ++i) Narrow(src[i], dst + i);
}

}  // namespace

void WidenRun(const float* src, int64_t n, float* dst) { std::memcpy(dst, src, size_t(n) * 4); }
void WidenRun(const double* src, int64_t n, double* dst) { std::memcpy(dst, src, size_t(n) * 8); }

void WidenRun(const BFloat16* src, int64_t n, float* dst) {
  for (int64_t i = 0; i < n; ++i) dst[i] = Widen(src[i]);
}

void WidenRun(const Half* src, int64_t n, float* dst) {
  if (HasF16c()) return WidenHalves(src, n, dst);
  for (int64_t i = 0; i < n; ++i) dst[i] = Widen(src[i]);
}

void NarrowRun(const float* src, int64_t n, float* dst) { std::memcpy(dst, src, size_t(n) * 4); }
void NarrowRun(const double* src, int64_t n, double* dst) { std::memcpy(dst, src, size_t(n) * 8); }

void NarrowRun(const float* src, int64_t n, BFloat16* dst) {
  for (int64_t i = 0; i < n; ++i) {
    uint32_t u = std::bit_cast<uint32_t>(src[i]);
    uint32_t rounded = (u + 0x7FFF + ((u >> 16) & 1)) >> 16;
    bool nan = (u & 0x7FFFFFFF) > 0x7F800000;
    dst[i].bits = uint16_t(nan ? 0x7FC0 : rounded);
  }
}

void NarrowRun(const float* src, int64_t n, Half* dst) {
  if (HasF16c()) return NarrowHalves(src, n, dst);
  for (int64_t i = 0; i < n; ++i) Narrow(src[i], dst + i);
}

}  // namespace frazil::gemm
