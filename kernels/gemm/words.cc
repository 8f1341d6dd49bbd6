#include "kernels/gemm/words.h"

#include <immintrin.h>

#include <algorithm>
#include <cstring>

#include "core/cpu.h"
#include "core/tuned.h"
#include "kernels/gemm/pack.h"

namespace frazil::gemm {
namespace {

constexpr int64_t kColumns = 16;  // that are transposed or interleaved at a time
constexpr int64_t kWordsAtOnce = 64;

__m128i Load(const void* from) { return _mm_loadu_si128(static_cast<const __m128i*>(from)); }
void Store(float* to, __m128i x) { _mm_storeu_si128(reinterpret_cast<__m128i*>(to), x); }

// The words of 16 columns whose k steps are rows `apart` elements from each other.
void Interleave(const uint8_t* row, int64_t apart, float* to) {
  const __m128i a = Load(row), b = Load(row + apart);
  const __m128i c = Load(row + 2 * apart), d = Load(row + 3 * apart);
  const __m128i ab0 = _mm_unpacklo_epi8(a, b), ab1 = _mm_unpackhi_epi8(a, b);
  const __m128i cd0 = _mm_unpacklo_epi8(c, d), cd1 = _mm_unpackhi_epi8(c, d);
  Store(to, _mm_unpacklo_epi16(ab0, cd0));
  Store(to + 4, _mm_unpackhi_epi16(ab0, cd0));
  Store(to + 8, _mm_unpacklo_epi16(ab1, cd1));
  Store(to + 12, _mm_unpackhi_epi16(ab1, cd1));
}

void Interleave(const uint16_t* row, int64_t apart, float* to) {
  for (int half = 0; half < 2; ++half) {
    const __m128i a = Load(row + 8 * half), b = Load(row + apart + 8 * half);
    Store(to + 8 * half, _mm_unpacklo_epi16(a, b));
    Store(to + 8 * half + 4, _mm_unpackhi_epi16(a, b));
  }
}

void Interleave(const uint32_t* row, int64_t, float* to) { std::memcpy(to, row, kColumns * 4); }

#define FZ_AVX512 __attribute__((target("avx512f,avx512bw"))) inline

// Two lanes of each, by the four numbers of `lanes`. _mm512_shuffle_i32x4 is the same instruction;
// GCC 12's reads an uninitialised vector on the way and warns of it wherever it is inlined.
template <int lanes>
FZ_AVX512 __m512i Lanes(__m512i a, __m512i b) {
  return _mm512_maskz_shuffle_i32x4(0xFFFF, a, b, lanes);
}

// The words of 64 bytes of every row, to where `to` says for each 16 columns.
template <typename To>
FZ_AVX512 void InterleaveMany(const uint8_t* row, int64_t apart, const To& to) {
  const __m512i a = _mm512_loadu_si512(row), b = _mm512_loadu_si512(row + apart);
  const __m512i c = _mm512_loadu_si512(row + 2 * apart), d = _mm512_loadu_si512(row + 3 * apart);
  const __m512i ab0 = _mm512_unpacklo_epi8(a, b), ab1 = _mm512_unpackhi_epi8(a, b);
  const __m512i cd0 = _mm512_unpacklo_epi8(c, d), cd1 = _mm512_unpackhi_epi8(c, d);
  // Each of four columns of every 16; the 16 are lanes of these.
  const __m512i w0 = _mm512_unpacklo_epi16(ab0, cd0), w1 = _mm512_unpackhi_epi16(ab0, cd0);
  const __m512i w2 = _mm512_unpacklo_epi16(ab1, cd1), w3 = _mm512_unpackhi_epi16(ab1, cd1);
  const __m512i even0 = Lanes<0x88>(w0, w1), odd0 = Lanes<0xDD>(w0, w1);
  const __m512i even1 = Lanes<0x88>(w2, w3), odd1 = Lanes<0xDD>(w2, w3);
  _mm512_storeu_si512(to(0), Lanes<0x88>(even0, even1));
  _mm512_storeu_si512(to(1), Lanes<0x88>(odd0, odd1));
  _mm512_storeu_si512(to(2), Lanes<0xDD>(even0, even1));
  _mm512_storeu_si512(to(3), Lanes<0xDD>(odd0, odd1));
}

template <typename To>
FZ_AVX512 void InterleaveMany(const uint16_t* row, int64_t apart, const To& to) {
  const __m512i a = _mm512_loadu_si512(row), b = _mm512_loadu_si512(row + apart);
  const __m512i low = _mm512_unpacklo_epi16(a, b), high = _mm512_unpackhi_epi16(a, b);
  const __m512i first = _mm512_setr_epi64(0, 1, 8, 9, 2, 3, 10, 11);
  const __m512i second = _mm512_setr_epi64(4, 5, 12, 13, 6, 7, 14, 15);
  _mm512_storeu_si512(to(0), _mm512_permutex2var_epi64(low, first, high));
  _mm512_storeu_si512(to(1), _mm512_permutex2var_epi64(low, second, high));
}

// Word w of columns from `first` on, as many as come in whole runs of 64 bytes of their rows; the
// column behind them. Every k step of the word is there.
template <typename S>
__attribute__((target("avx512f,avx512bw"))) int64_t InterleaveRuns(const View<S>& src, int64_t w,
                                                                   int64_t first, int64_t end,
                                                                   const Panels& dst) {
  constexpr int64_t kRun = 64 / int64_t(sizeof(S));
  const S* row = src.At(w * kInWord<S>, 0);
  int64_t j = first;
  for (; j + kRun <= end; j += kRun) {
    for (int64_t s = 0; s < kInWord<S>; ++s)
      _mm_prefetch(row + j + (tuned::kWordsAhead * kInWord<S> + s) * src.rs, _MM_HINT_T0);
    InterleaveMany(row + j, src.rs, [&](int64_t i) { return dst.At(w, j + i * kColumns); });
  }
  return j;
}

// The same of some columns and k steps, of which the others count as zero.
template <typename S>
void InterleaveSome(View<S> src, int64_t steps, int64_t cols, float* to) {
  S rows[kInWord<S> * kColumns] = {};
  float words[kColumns];
  for (int64_t s = 0; s < steps; ++s)
    std::memcpy(rows + s * kColumns, src.At(s, 0), size_t(cols) * sizeof(S));
  Interleave(rows, kColumns, words);
  std::memcpy(to, words, size_t(cols) * sizeof(float));
}

// Columns are adjacent.
template <typename S>
void InterleaveColumns(View<S> src, int64_t first, int64_t end, int64_t k, int64_t words,
                       const Panels& dst) {
  const int64_t whole = k / kInWord<S>;
  const bool runs = sizeof(S) < 4 && dst.width % kColumns == 0 && Cpu().avx512;
  for (int64_t w = 0; w < words; ++w) {
    const int64_t steps = std::clamp<int64_t>(k - w * kInWord<S>, 0, kInWord<S>);
    int64_t j = first;
    if constexpr (sizeof(S) < 4) {
      if (runs && w < whole) j = InterleaveRuns(src, w, first, end, dst);
    }
    for (; j < end; j += kColumns) {
      const S* from = src.At(w * kInWord<S>, j);
      float* to = dst.At(w, j);
      if (w < whole && j + kColumns <= end) {
        Interleave(from, src.rs, to);
      } else {
        InterleaveSome(View<S>{from, src.rs, 1}, steps, std::min(kColumns, end - j), to);
      }
    }
  }
}

}  // namespace

template <typename S>
void RowWords(View<S> src, int64_t rows, int64_t k, int64_t words, float* dst, int64_t ld) {
  if (src.rs == 1 && src.cs != 1) {
    float transposed[kWordsAtOnce * kColumns];
    for (int64_t w = 0; w < words; w += kWordsAtOnce) {
      const int64_t count = std::min(kWordsAtOnce, words - w), step = w * kInWord<S>;
      for (int64_t r = 0; r < rows; r += kColumns) {
        const int64_t some = std::min(kColumns, rows - r);
        const View<S> from{src.At(r, step), src.cs, src.rs};
        ColumnWords(from, some, std::max<int64_t>(0, k - step), count, {transposed, kColumns, 0});
        PackTransposed({transposed, 1, kColumns}, some, count, ld, dst + r * ld + w);
      }
    }
    return;
  }
  for (int64_t r = 0; r < rows; ++r) {
    char* to = reinterpret_cast<char*>(dst + r * ld);
    const int64_t present = std::min(k, words * kInWord<S>), bytes = present * int64_t(sizeof(S));
    if (src.cs == 1 && present > 0) {  // of nothing there may be no memory
      std::memcpy(to, src.At(r, 0), size_t(bytes));
    } else {
      for (int64_t i = 0; i < present; ++i)
        std::memcpy(to + i * int64_t(sizeof(S)), src.At(r, i), sizeof(S));
    }
    std::memset(to + bytes, 0, size_t(words * 4 - bytes));
  }
}

template <typename S>
void ColumnWords(View<S> src, int64_t cols, int64_t k, int64_t words, const Panels& dst) {
  if (src.cs == 1) {
    const int64_t some = dst.width * tuned::kWordPanelsAtOnce;
    for (int64_t j = 0; j < cols; j += some)
      InterleaveColumns(src, j, std::min(cols, j + some), k, words, dst);
    return;
  }
  float rows[kColumns * kWordsAtOnce];
  for (int64_t j = 0; j < cols; j += kColumns) {
    const int64_t some = std::min(kColumns, cols - j);
    for (int64_t w = 0; w < words; w += kWordsAtOnce) {
      const int64_t count = std::min(kWordsAtOnce, words - w), step = w * kInWord<S>;
      const View<S> from{src.At(step, j), src.cs, src.rs};
      RowWords(from, some, std::max<int64_t>(0, k - step), count, rows, kWordsAtOnce);
      PackTransposed({rows, 1, kWordsAtOnce}, count, some, dst.width, dst.At(w, j));
    }
  }
}

#define FZ_INSTANTIATE(S)                                                         \
  template void RowWords<S>(View<S>, int64_t, int64_t, int64_t, float*, int64_t); \
  template void ColumnWords<S>(View<S>, int64_t, int64_t, int64_t, const Panels&);
FZ_INSTANTIATE(uint8_t)
FZ_INSTANTIATE(uint16_t)
FZ_INSTANTIATE(uint32_t)
#undef FZ_INSTANTIATE

}  // namespace frazil::gemm
