#include "kernels/gemm/convert.h"

#include <immintrin.h>

#include <cstring>

#include "core/cpu.h"

namespace frazil::gemm {
namespace {

__attribute__((target("avx,f16c"))) void WidenHalves(const Half* src, int64_t n, float* dst) {
  int64_t i = 0;
  for (; i + 8 <= n; i += 8) {
    __m128i bits = _mm_loadu_si128(reinterpret_cast<const __m128i*>(src + i));
    _mm256_storeu_ps(dst + i, _mm256_cvtph_ps(bits));
  }
  for (; i < n; ++i) dst[i] = Widen(src[i]);
}

constexpr int64_t kAhead = 512;  // elements that are fetched before they are widened

// How many, a multiple of 16, they have done. The intrinsics without masks read an uninitialised
// vector in GCC 12 (kernels/gemm/words.cc).
__attribute__((target("avx512f"))) int64_t WidenWide(const BFloat16* src, int64_t n, float* dst) {
  int64_t i = 0;
  for (; i + 16 <= n; i += 16) {
    _mm_prefetch(src + i + kAhead, _MM_HINT_T0);
    const __m256i bits = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(src + i));
    const __m512i words = _mm512_maskz_cvtepu16_epi32(0xFFFF, bits);
    _mm512_storeu_si512(dst + i, _mm512_maskz_slli_epi32(0xFFFF, words, 16));
  }
  return i;
}
__attribute__((target("avx512f"))) int64_t WidenWide(const Half* src, int64_t n, float* dst) {
  int64_t i = 0;
  for (; i + 16 <= n; i += 16) {
    _mm_prefetch(src + i + kAhead, _MM_HINT_T0);
    const __m256i bits = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(src + i));
    _mm512_storeu_ps(dst + i, _mm512_maskz_cvtph_ps(0xFFFF, bits));
  }
  return i;
}
__attribute__((target("avx2"))) int64_t WidenMany(const BFloat16* src, int64_t n, float* dst) {
  int64_t i = 0;
  for (; i + 16 <= n; i += 16) {
    for (int64_t half = i; half < i + 16; half += 8) {
      const __m128i bits = _mm_loadu_si128(reinterpret_cast<const __m128i*>(src + half));
      const __m256i words = _mm256_slli_epi32(_mm256_cvtepu16_epi32(bits), 16);
      _mm256_storeu_si256(reinterpret_cast<__m256i*>(dst + half), words);
    }
  }
  return i;
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

__attribute__((target("avx2"))) inline __m256i Rounded(const float* src) {
  const __m256 x = _mm256_loadu_ps(src);
  const __m256i bits = _mm256_castps_si256(x), last = _mm256_set1_epi32(1);
  const __m256i even = _mm256_and_si256(_mm256_srli_epi32(bits, 16), last);
  const __m256i half = _mm256_add_epi32(even, _mm256_set1_epi32(0x7FFF));
  const __m256i rounded = _mm256_srli_epi32(_mm256_add_epi32(bits, half), 16);
  const __m256 nan = _mm256_cmp_ps(x, x, _CMP_UNORD_Q);
  return _mm256_blendv_epi8(rounded, _mm256_set1_epi32(0x7FC0), _mm256_castps_si256(nan));
}

// How many, a multiple of 16, it has done.
__attribute__((target("avx2"))) int64_t NarrowMany(const float* src, int64_t n, BFloat16* dst) {
  int64_t i = 0;
  for (; i + 16 <= n; i += 16) {
    const __m256i packed = _mm256_packus_epi32(Rounded(src + i), Rounded(src + i + 8));
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(dst + i),
                        _mm256_permute4x64_epi64(packed, 0xD8));
  }
  return i;
}

}  // namespace

void WidenRun(const float* src, int64_t n, float* dst) { std::memcpy(dst, src, size_t(n) * 4); }
void WidenRun(const double* src, int64_t n, double* dst) { std::memcpy(dst, src, size_t(n) * 8); }

void WidenRun(const BFloat16* src, int64_t n, float* dst) {
  const CpuFeatures& cpu = Cpu();
  int64_t i = cpu.avx512 ? WidenWide(src, n, dst) : cpu.avx2 ? WidenMany(src, n, dst) : 0;
  for (; i < n; ++i) dst[i] = Widen(src[i]);
}

void WidenRun(const Half* src, int64_t n, float* dst) {
  const CpuFeatures& cpu = Cpu();
  const int64_t wide = cpu.avx512 ? WidenWide(src, n, dst) : 0;
  src += wide, dst += wide, n -= wide;
  if (cpu.avx2) return WidenHalves(src, n, dst);
  for (int64_t i = 0; i < n; ++i) dst[i] = Widen(src[i]);
}

void NarrowRun(const float* src, int64_t n, float* dst) { std::memcpy(dst, src, size_t(n) * 4); }
void NarrowRun(const double* src, int64_t n, double* dst) { std::memcpy(dst, src, size_t(n) * 8); }

void NarrowRun(const float* src, int64_t n, BFloat16* dst) {
  for (int64_t i = Cpu().avx2 ? NarrowMany(src, n, dst) : 0; i < n; ++i) {
    uint32_t u = std::bit_cast<uint32_t>(src[i]);
    uint32_t rounded = (u + 0x7FFF + ((u >> 16) & 1)) >> 16;
    bool nan = (u & 0x7FFFFFFF) > 0x7F800000;
    dst[i].bits = uint16_t(nan ? 0x7FC0 : rounded);
  }
}

namespace {

// The first `cols` bits.
uint32_t MaskOf(int64_t cols) { return uint32_t((uint64_t{1} << cols) - 1); }

}  // namespace

// At most 32 columns.
__attribute__((target("avx512f,avx512bw,avx512bf16"))) void NarrowTile(const float* words,
                                                                       int64_t ld, int64_t rows,
                                                                       int64_t cols, BFloat16* to,
                                                                       int64_t stride) {
  const __mmask32 present = MaskOf(cols);
  for (int64_t r = 0; r < rows; ++r, words += ld, to += stride) {
    const __m512 low = _mm512_loadu_ps(words), high = _mm512_loadu_ps(words + 16);
    const __m512bh both = _mm512_cvtne2ps_pbh(high, low);
    _mm512_mask_storeu_epi16(to, present, reinterpret_cast<__m512i>(both));
  }
}

__attribute__((target("avx512f"))) void NarrowTile(const float* words, int64_t ld, int64_t rows,
                                                   int64_t cols, uint8_t* to, int64_t stride) {
  const __mmask16 first = uint16_t(MaskOf(cols)), second = uint16_t(MaskOf(cols) >> 16);
  for (int64_t r = 0; r < rows; ++r, words += ld, to += stride) {
    _mm512_mask_cvtepi32_storeu_epi8(to, first, _mm512_loadu_si512(words));
    if (second != 0)
      _mm512_mask_cvtepi32_storeu_epi8(to + 16, second, _mm512_loadu_si512(words + 16));
  }
}

void NarrowRun(const float* src, int64_t n, Half* dst) {
  if (Cpu().avx2) return NarrowHalves(src, n, dst);
  for (int64_t i = 0; i < n; ++i) Narrow(src[i], dst + i);
}

}  // namespace frazil::gemm
