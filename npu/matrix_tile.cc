#include <cmath>
#include <cstring>

#include "npu/matrix.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace frazil::npu {
namespace {

void FloatPlain(const TileCall& t) {
  const float *a = static_cast<const float*>(t.a), *b = static_cast<const float*>(t.b);
  float* c = static_cast<float*>(t.c);
  if (!t.accumulate) std::memset(c, 0, 1024);
  for (int64_t k = 0; k < t.k; ++k, a += 16, b += 16) {
    for (int i = 0; i < 16; ++i) {
      for (int j = 0; j < 16; ++j) c[i * 16 + j] = std::fma(a[i], b[j], c[i * 16 + j]);
    }
  }
}

void IntegerPlain(const TileCall& t) {
  const int16_t *a = static_cast<const int16_t*>(t.a), *b = static_cast<const int16_t*>(t.b);
  uint32_t* c = static_cast<uint32_t*>(t.c);
  if (!t.accumulate) std::memset(c, 0, 1024);
  for (int64_t k = 0; k < t.k; ++k, a += 32, b += 32) {
    for (int i = 0; i < 16; ++i) {
      for (int j = 0; j < 16; ++j)
        c[i * 16 + j] += uint32_t(a[2 * i] * b[2 * j] + a[2 * i + 1] * b[2 * j + 1]);
    }
  }
}

#if defined(__x86_64__)

// Sixteen rows of C in sixteen registers.
[[FZ_NPU_AVX512]] void FloatAvx512(const TileCall& t) {
  const float *a = static_cast<const float*>(t.a), *b = static_cast<const float*>(t.b);
  float* c = static_cast<float*>(t.c);
  __m512 acc[16];
#pragma GCC unroll 16
  for (int i = 0; i < 16; ++i)
    acc[i] = t.accumulate ? _mm512_loadu_ps(c + i * 16) : _mm512_setzero_ps();
  for (int64_t k = 0; k < t.k; ++k, a += 16, b += 16) {
    const __m512 row = _mm512_loadu_ps(b);
#pragma GCC unroll 16
    for (int i = 0; i < 16; ++i) acc[i] = _mm512_fmadd_ps(_mm512_set1_ps(a[i]), row, acc[i]);
  }
#pragma GCC unroll 16
  for (int i = 0; i < 16; ++i) _mm512_storeu_ps(c + i * 16, acc[i]);
}

int32_t PairAt(const int16_t* p) {
  int32_t pair;
  std::memcpy(&pair, p, 4);
  return pair;
}

[[FZ_NPU_AVX512]] void IntegerAvx512(const TileCall& t) {
  const int16_t *a = static_cast<const int16_t*>(t.a), *b = static_cast<const int16_t*>(t.b);
  int32_t* c = static_cast<int32_t*>(t.c);
  __m512i acc[16];
#pragma GCC unroll 16
  for (int i = 0; i < 16; ++i)
    acc[i] = t.accumulate ? _mm512_loadu_si512(c + i * 16) : _mm512_setzero_si512();
  for (int64_t k = 0; k < t.k; ++k, a += 32, b += 32) {
    const __m512i row = _mm512_loadu_si512(b);
#pragma GCC unroll 16
    for (int i = 0; i < 16; ++i)
      acc[i] =
          _mm512_add_epi32(acc[i], _mm512_madd_epi16(_mm512_set1_epi32(PairAt(a + 2 * i)), row));
  }
#pragma GCC unroll 16
  for (int i = 0; i < 16; ++i) _mm512_storeu_si512(c + i * 16, acc[i]);
}

// Four rows of C at a time, two registers each.
[[FZ_NPU_AVX2]] void FloatAvx2(const TileCall& t) {
  for (int i0 = 0; i0 < 16; i0 += 4) {
    const float *a = static_cast<const float*>(t.a) + i0, *b = static_cast<const float*>(t.b);
    float* c = static_cast<float*>(t.c) + i0 * 16;
    __m256 acc[8];
#pragma GCC unroll 8
    for (int i = 0; i < 8; ++i)
      acc[i] = t.accumulate ? _mm256_loadu_ps(c + i * 8) : _mm256_setzero_ps();
    for (int64_t k = 0; k < t.k; ++k, a += 16, b += 16) {
      const __m256 left = _mm256_loadu_ps(b), right = _mm256_loadu_ps(b + 8);
#pragma GCC unroll 4
      for (int i = 0; i < 4; ++i) {
        const __m256 x = _mm256_set1_ps(a[i]);
        acc[2 * i] = _mm256_fmadd_ps(x, left, acc[2 * i]);
        acc[2 * i + 1] = _mm256_fmadd_ps(x, right, acc[2 * i + 1]);
      }
    }
#pragma GCC unroll 8
    for (int i = 0; i < 8; ++i) _mm256_storeu_ps(c + i * 8, acc[i]);
  }
}

[[FZ_NPU_AVX2]] void IntegerAvx2(const TileCall& t) {
  for (int i0 = 0; i0 < 16; i0 += 4) {
    const int16_t *a = static_cast<const int16_t*>(t.a) + 2 * i0,
                  *b = static_cast<const int16_t*>(t.b);
    int32_t* c = static_cast<int32_t*>(t.c) + i0 * 16;
    __m256i acc[8];
#pragma GCC unroll 8
    for (int i = 0; i < 8; ++i)
      acc[i] = t.accumulate ? _mm256_loadu_si256(reinterpret_cast<const __m256i*>(c + i * 8))
                            : _mm256_setzero_si256();
    for (int64_t k = 0; k < t.k; ++k, a += 32, b += 32) {
      const __m256i left = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(b)),
                    right = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(b + 16));
#pragma GCC unroll 4
      for (int i = 0; i < 4; ++i) {
        const __m256i x = _mm256_set1_epi32(PairAt(a + 2 * i));
        acc[2 * i] = _mm256_add_epi32(acc[2 * i], _mm256_madd_epi16(x, left));
        acc[2 * i + 1] = _mm256_add_epi32(acc[2 * i + 1], _mm256_madd_epi16(x, right));
      }
    }
#pragma GCC unroll 8
    for (int i = 0; i < 8; ++i) _mm256_storeu_si256(reinterpret_cast<__m256i*>(c + i * 8), acc[i]);
  }
}

#endif

}  // namespace

TileKernel FloatTile(HostIsa isa) {
#if defined(__x86_64__)
  if (isa == HostIsa::kAvx512) return FloatAvx512;
  if (isa == HostIsa::kAvx2) return FloatAvx2;
#endif
  return FloatPlain;
}

TileKernel IntegerTile(HostIsa isa) {
#if defined(__x86_64__)
  if (isa == HostIsa::kAvx512) return IntegerAvx512;
  if (isa == HostIsa::kAvx2) return IntegerAvx2;
#endif
  return IntegerPlain;
}

}  // namespace frazil::npu
