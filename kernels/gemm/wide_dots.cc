#include "kernels/gemm/wide_dots.h"

#include <immintrin.h>

#include <algorithm>
#include <cstring>

#include "core/caches.h"
#include "core/threads/long_work.h"
#include "kernels/gemm/scratch.h"

namespace frazil::gemm {
namespace {

// Rows of A up to which this beats laying B out, and more where the sums are long; with VNNI it beats
// that always, but not the tiles of AMX (bench/quantized.py).
constexpr int64_t kFewRows = 8, kFewOfLong = 32, kLong = 512;
constexpr int64_t kColumns = 4;  // at a time
constexpr int64_t kRows = 4, kVnniRows = 6;
constexpr int64_t kNear = 16 << 10;  // bytes that stay in the first-level cache
constexpr int64_t kMostRows = 3072;  // at once: beside them their sums stay near

// Columns [0, kColumns) of B and their sums with rows [0, R) of A.
struct Columns {
  const int8_t* b[kColumns];
  int64_t k;
};

#define FZ_VNNI __attribute__((target("avx512f,avx512bw,avx512vl,avx512vnni")))
#define FZ_AVX2 __attribute__((target("avx2")))

// The sums of the lanes of each of four. The intrinsics without masks read an uninitialised vector
// in GCC 12 (kernels/gemm/words.cc).
FZ_VNNI inline __m128i Sums(__m512i a, __m512i b, __m512i c, __m512i d) {
  constexpr __mmask16 kAll = 0xFFFF;
  constexpr __mmask8 kPairs = 0xFF;
  const __m512i ab = _mm512_add_epi32(_mm512_maskz_unpacklo_epi32(kAll, a, b),
                                      _mm512_maskz_unpackhi_epi32(kAll, a, b));
  const __m512i cd = _mm512_add_epi32(_mm512_maskz_unpacklo_epi32(kAll, c, d),
                                      _mm512_maskz_unpackhi_epi32(kAll, c, d));
  const __m512i all = _mm512_add_epi32(_mm512_maskz_unpacklo_epi64(kPairs, ab, cd),
                                       _mm512_maskz_unpackhi_epi64(kPairs, ab, cd));
  const __m256i half = _mm256_add_epi32(_mm512_maskz_extracti64x4_epi64(kPairs, all, 0),
                                        _mm512_maskz_extracti64x4_epi64(kPairs, all, 1));
  return _mm_add_epi32(_mm256_castsi256_si128(half), _mm256_extracti128_si256(half, 1));
}

// The intrinsic costs copies of registers in GCC 12.
FZ_VNNI __attribute__((always_inline)) inline __m512i Dot(__m512i sum, __m512i a, __m512i b) {
  asm("vpdpbusd %2, %1, %0" : "+v"(sum) : "v"(a), "v"(b));
  return sum;
}

// The instruction wants bytes without sign on one side: A has 128 more, which the sums of B's
// columns, times 128, take away again: `*extra`, which kOnes computes on the way. Unrolled like
// that, the sums stay in registers.
template <int R, bool kOnes>
FZ_VNNI void Vnni(const uint8_t* a, int64_t lda, const Columns& c, __m128i* extra, uint32_t* to) {
  __m512i sums[R + kOnes][kColumns];
#pragma GCC unroll 8
  for (int r = 0; r < R + kOnes; ++r) {
#pragma GCC unroll 4
    for (int j = 0; j < kColumns; ++j) sums[r][j] = _mm512_setzero_si512();
  }
  const int8_t *const b0 = c.b[0], *const b1 = c.b[1], *const b2 = c.b[2], *const b3 = c.b[3];
  for (int64_t p = 0, k = c.k; p < k; p += 64) {
    const int64_t left = k - p;
    const __mmask64 mask = left >= 64 ? ~__mmask64{0} : (__mmask64{1} << left) - 1;
    __m512i rows[R];
#pragma GCC unroll 8
    for (int r = 0; r < R; ++r) rows[r] = _mm512_loadu_si512(a + r * lda + p);
#pragma GCC unroll 4
    for (int j = 0; j < kColumns; ++j) {
      const int8_t* const column = j == 0 ? b0 : j == 1 ? b1 : j == 2 ? b2 : b3;
      const __m512i b = _mm512_maskz_loadu_epi8(mask, column + p);
#pragma GCC unroll 8
      for (int r = 0; r < R; ++r) sums[r][j] = Dot(sums[r][j], rows[r], b);
      if constexpr (kOnes) sums[R][j] = Dot(sums[R][j], _mm512_set1_epi8(1), b);
    }
  }
  if constexpr (kOnes)
    *extra = _mm_slli_epi32(Sums(sums[R][0], sums[R][1], sums[R][2], sums[R][3]), 7);
#pragma GCC unroll 8
  for (int r = 0; r < R; ++r) {
    const __m128i row = Sums(sums[r][0], sums[r][1], sums[r][2], sums[r][3]);
    _mm_storeu_si128(reinterpret_cast<__m128i*>(to + r * kColumns), _mm_sub_epi32(row, *extra));
  }
}

// k bytes, 128 more each, and some behind them to whole vectors, which meet zeros.
FZ_VNNI void Offset(const uint8_t* from, int64_t k, uint8_t* to) {
  const __m512i more = _mm512_set1_epi8(-128);
  for (int64_t p = 0; p < k; p += 64) {
    const __mmask64 mask = k - p >= 64 ? ~__mmask64{0} : (__mmask64{1} << (k - p)) - 1;
    const __m512i bytes = _mm512_maskz_loadu_epi8(mask, from + p);
    _mm512_storeu_si512(to + p, _mm512_xor_si512(bytes, more));
  }
}

// All rows, of which the first ones sum the columns, too.
FZ_VNNI void VnniRows(int64_t rows, const uint8_t* a, int64_t lda, const Columns& columns,
                      uint32_t* to) {
  __m128i extra = _mm_setzero_si128();
  const auto call = [&]<bool kOnes>(int64_t i, int64_t count) {
    const auto some = [&]<int R>() {
      Vnni<R, kOnes>(a + i * lda, lda, columns, &extra, to + i * kColumns);
    };
    switch (count) {
      case 1:
        return some.template operator()<1>();
      case 2:
        return some.template operator()<2>();
      case 3:
        return some.template operator()<3>();
      case 4:
        return some.template operator()<4>();
      case 5:
        return some.template operator()<5>();
      default:
        if constexpr (!kOnes) some.template operator()<kVnniRows>();
    }
  };
  const int64_t blocks = (rows + kVnniRows) / kVnniRows;  // the first with room for the sums
  const int64_t first = std::min<int64_t>(rows / blocks, kVnniRows - 1);
  call.template operator()<true>(0, first);
  for (int64_t i = 1; i < blocks; ++i) {
    const int64_t begin = first + (rows - first) * (i - 1) / (blocks - 1);
    call.template operator()<false>(begin, first + (rows - first) * i / (blocks - 1) - begin);
  }
}

FZ_AVX2 inline __m256i Wide(const int8_t* from) {
  return _mm256_cvtepi8_epi16(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from)));
}

FZ_AVX2 inline uint32_t SumOf(__m256i x) {
  __m128i half = _mm_add_epi32(_mm256_castsi256_si128(x), _mm256_extracti128_si256(x, 1));
  half = _mm_add_epi32(half, _mm_shuffle_epi32(half, 0x4E));
  half = _mm_add_epi32(half, _mm_shuffle_epi32(half, 0xB1));
  return static_cast<uint32_t>(_mm_cvtsi128_si32(half));
}

// In 16 bits, by pairs.
template <int R>
FZ_AVX2 void Avx2(const int8_t* a, int64_t lda, const Columns& c, uint32_t* to) {
  __m256i sums[R][kColumns];
  for (auto& row : sums) {
    for (__m256i& sum : row) sum = _mm256_setzero_si256();
  }
  const int64_t whole = c.k / 16 * 16;
  for (int64_t p = 0; p < whole; p += 16) {
    __m256i rows[R];
    for (int r = 0; r < R; ++r) rows[r] = Wide(a + r * lda + p);
    for (int j = 0; j < kColumns; ++j) {
      const __m256i b = Wide(c.b[j] + p);
      for (int r = 0; r < R; ++r)
        sums[r][j] = _mm256_add_epi32(sums[r][j], _mm256_madd_epi16(rows[r], b));
    }
  }
  for (int r = 0; r < R; ++r) {
    for (int j = 0; j < kColumns; ++j) {
      uint32_t sum = SumOf(sums[r][j]);
      for (int64_t p = whole; p < c.k; ++p)
        sum += static_cast<uint32_t>(int32_t{a[r * lda + p]} * int32_t{c.b[j][p]});
      to[r * kColumns + j] = sum;
    }
  }
}

// All rows, kRows of them at a time, with the columns from j on.
void Avx2Rows(int64_t m, const int8_t* a, int64_t lda, const Columns& columns, uint32_t* to) {
  const auto call = [&]<int R>(int64_t i) {
    Avx2<R>(a + i * lda, lda, columns, to + i * kColumns);
  };
  int64_t i = 0;
  for (; i + kRows <= m; i += kRows) call.template operator()<kRows>(i);
  switch (m - i) {
    case 3:
      return call.template operator()<3>(i);
    case 2:
      return call.template operator()<2>(i);
    case 1:
      return call.template operator()<1>(i);
    default:
      return;
  }
}

// Rows that stay in a cache while the columns pass by: of the second level, or, where the columns
// stay in the first, of that, too.
int64_t RowsAtOnce(const GemmArgs& g) {
  const int64_t bytes = g.n * g.k <= kNear ? kNear : SecondLevelCacheBytes() / 2;
  return std::clamp<int64_t>(bytes / g.k / kVnniRows * kVnniRows, kVnniRows, kMostRows);
}

// Rows [i, i + rows) with all columns. False where the work was abandoned.
bool SomeRows(const GemmArgs& g, bool vnni, int64_t i, int64_t rows) {
  const auto* a = static_cast<const uint8_t*>(g.a.data) + i * g.a.row_stride;
  int64_t lda = g.a.row_stride;
  if (vnni) {
    lda = (g.k + 63) / 64 * 64;
    auto* more = Scratch::ThisThread().Get<uint8_t>(Scratch::kWordsA, rows * lda);
    for (int64_t r = 0; r < rows; ++r) Offset(a + r * g.a.row_stride, g.k, more + r * lda);
    a = more;
  }
  const auto* b = static_cast<const int8_t*>(g.b.data);
  auto* c = static_cast<uint32_t*>(g.c.data) + i * g.c.row_stride;
  auto* const sums = Scratch::ThisThread().Get<uint32_t>(Scratch::kOutput, rows * kColumns);
  const int64_t apart = g.c.row_stride;
  for (int64_t j = 0; j < g.n; j += kColumns) {
    if (j % 64 == 0 && Abandoned()) return false;
    const int64_t count = std::min(kColumns, g.n - j);
    Columns columns{{}, g.k};
    for (int64_t n = 0; n < kColumns; ++n)
      columns.b[n] = b + (j + std::min(n, count - 1)) * g.b.col_stride;
    if (vnni) {
      VnniRows(rows, a, lda, columns, sums);
    } else {
      Avx2Rows(rows, reinterpret_cast<const int8_t*>(a), lda, columns, sums);
    }
    uint32_t* const to = c + j * g.c.col_stride;
    if (count == kColumns && g.c.col_stride == 1) {
      for (int64_t r = 0; r < rows; ++r)
        std::memcpy(to + r * apart, sums + r * kColumns, kColumns * sizeof(uint32_t));
      continue;
    }
    for (int64_t r = 0; r < rows; ++r) {
      for (int64_t n = 0; n < count; ++n)
        to[r * apart + n * g.c.col_stride] = sums[r * kColumns + n];
    }
  }
  return true;
}

}  // namespace

bool TryWideDots(const GemmArgs& g, Isa units) {
  const bool vnni = units >= Isa::kAvx512Vnni;
  const bool few = g.m <= (g.k < kLong ? kFewRows : kFewOfLong);
  if (units == Isa::kScalar || (!few && units != Isa::kAvx512Vnni) || g.k < 1 ||
      g.a.col_stride != 1 || g.b.row_stride != 1)
    return false;
  const int64_t rows = RowsAtOnce(g);
  for (int64_t i = 0; i < g.m; i += rows) {
    if (!SomeRows(g, vnni, i, std::min(rows, g.m - i))) return true;
  }
  return true;
}

}  // namespace frazil::gemm
