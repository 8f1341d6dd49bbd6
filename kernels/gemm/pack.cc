#include "kernels/gemm/pack.h"

#include <immintrin.h>

#include <algorithm>
#include <type_traits>

#include "core/cpu.h"
#include "core/tuned.h"

namespace frazil::gemm {
namespace {

// 4 x 4 blocks: src rows `sj` apart hold k; dst steps `width` apart hold the columns.
void Transpose4x4(const float* src, int64_t sj, float* dst, int64_t width) {
  __m128 r0 = _mm_loadu_ps(src), r1 = _mm_loadu_ps(src + sj);
  __m128 r2 = _mm_loadu_ps(src + 2 * sj), r3 = _mm_loadu_ps(src + 3 * sj);
  _MM_TRANSPOSE4_PS(r0, r1, r2, r3);
  _mm_storeu_ps(dst, r0);
  _mm_storeu_ps(dst + width, r1);
  _mm_storeu_ps(dst + 2 * width, r2);
  _mm_storeu_ps(dst + 3 * width, r3);
}

// 8 x 8 with AVX: halves of two rows are loaded into one register, so that no lane crossing is
// left.
__attribute__((target("avx"))) void Transpose8x8(const float* src, int64_t sj, float* dst,
                                                 int64_t width) {
  for (int half = 0; half < 2; ++half) {
    __m256 r[4];
    for (int i = 0; i < 4; ++i) {
      __m256 low = _mm256_castps128_ps256(_mm_loadu_ps(src + i * sj + 4 * half));
      r[i] = _mm256_insertf128_ps(low, _mm_loadu_ps(src + (i + 4) * sj + 4 * half), 1);
    }
    __m256 t0 = _mm256_unpacklo_ps(r[0], r[1]), t1 = _mm256_unpackhi_ps(r[0], r[1]);
    __m256 t2 = _mm256_unpacklo_ps(r[2], r[3]), t3 = _mm256_unpackhi_ps(r[2], r[3]);
    float* to = dst + 4 * half * width;
    _mm256_storeu_ps(to, _mm256_shuffle_ps(t0, t2, 0x44));
    _mm256_storeu_ps(to + width, _mm256_shuffle_ps(t0, t2, 0xEE));
    _mm256_storeu_ps(to + 2 * width, _mm256_shuffle_ps(t1, t3, 0x44));
    _mm256_storeu_ps(to + 3 * width, _mm256_shuffle_ps(t1, t3, 0xEE));
  }
}

void Transpose2x2(const double* src, int64_t sj, double* dst, int64_t width) {
  __m128d r0 = _mm_loadu_pd(src), r1 = _mm_loadu_pd(src + sj);
  _mm_storeu_pd(dst, _mm_unpacklo_pd(r0, r1));
  _mm_storeu_pd(dst + width, _mm_unpackhi_pd(r0, r1));
}

// Columns [j0, j1) of the panel, k steps [k0, k1), an element at a time.
template <typename S>
void PackElements(View<S> src, int64_t k0, int64_t k1, int64_t j0, int64_t j1, int64_t width,
                  Acc<S>* dst) {
  for (int64_t step = k0; step < k1; ++step) {
    for (int64_t j = j0; j < j1; ++j) dst[step * width + j] = Widen(*src.At(step, j));
  }
}

}  // namespace

// Edges go an element at a time.
void PackTransposed(View<float> src, int64_t k, int64_t used, int64_t width, float* dst) {
  const bool avx = Cpu().avx2;
  int64_t j = 0;
  for (; avx && j + 8 <= used; j += 8) {
    int64_t step = 0;
    for (; step + 8 <= k; step += 8) {
      Transpose8x8(src.At(step, j), src.cs, dst + step * width + j, width);
    }
    PackElements(src, step, k, j, j + 8, width, dst);
  }
  for (; j + 4 <= used; j += 4) {
    int64_t step = 0;
    for (; step + 4 <= k; step += 4) {
      Transpose4x4(src.At(step, j), src.cs, dst + step * width + j, width);
    }
    PackElements(src, step, k, j, j + 4, width, dst);
  }
  PackElements(src, 0, k, j, used, width, dst);
}

void PackTransposed(View<double> src, int64_t k, int64_t used, int64_t width, double* dst) {
  int64_t j = 0;
  for (; j + 2 <= used; j += 2) {
    int64_t step = 0;
    for (; step + 2 <= k; step += 2) {
      Transpose2x2(src.At(step, j), src.cs, dst + step * width + j, width);
    }
    PackElements(src, step, k, j, j + 2, width, dst);
  }
  PackElements(src, 0, k, j, used, width, dst);
}

namespace {

// 16-bit floats: a few rows at a time are widened, then transposed.
template <typename S>
void PackTransposed(View<S> src, int64_t k, int64_t used, int64_t width, float* dst) {
  constexpr int64_t kRows = 8, kSteps = 64;
  float rows[kRows * kSteps];
  for (int64_t j = 0; j < used; j += kRows) {
    int64_t count = std::min(kRows, used - j);
    for (int64_t step = 0; step < k; step += kSteps) {
      int64_t steps = std::min(kSteps, k - step);
      for (int64_t r = 0; r < count; ++r) WidenRun(src.At(step, j + r), steps, rows + r * kSteps);
      PackTransposed(View<float>{rows, 1, kSteps}, steps, count, width, dst + step * width + j);
    }
  }
}

}  // namespace

template <typename S>
void PackRows(View<S> src, int64_t rows, int64_t k, Acc<S>* dst, int64_t ld) {
  for (int64_t r = 0; r < rows; ++r) {
    if (src.cs == 1) {
      WidenRun(src.At(r, 0), k, dst + r * ld);
    } else {
      for (int64_t i = 0; i < k; ++i) dst[r * ld + i] = Widen(*src.At(r, i));
    }
  }
}

template <typename S>
void PackPanel(View<S> src, int64_t k, int64_t used, int64_t width, Acc<S>* dst) {
  if (src.cs == 1) {
    for (int64_t step = 0; step < k; ++step) WidenRun(src.At(step, 0), used, dst + step * width);
  } else if (src.rs == 1) {
    PackTransposed(src, k, used, width, dst);
  } else {
    PackElements(src, 0, k, 0, used, width, dst);
  }
  if (used == width) return;
  for (int64_t step = 0; step < k; ++step) {
    std::fill(dst + step * width + used, dst + (step + 1) * width, Acc<S>(0));
  }
}

namespace {

// Strips of `chunks` times 32 bytes of every row.
template <int kChunks>
__attribute__((target("avx"))) void CopyStrips(const char* src, int64_t row, int64_t rows,
                                               const int64_t* starts, int64_t count, int64_t any,
                                               char* dst, int64_t strip) {
  const int64_t chunks = kChunks != 0 ? kChunks : any;
  for (int64_t r = 0; r < rows; ++r, src += row, dst += chunks * 32) {
    const char* later = src + std::min(tuned::kPackedRowsAhead, rows - 1 - r) * row;
    for (int64_t i = 0; i < count; ++i) {
      const char* from = src + starts[i];
      char* to = dst + i * strip;
      for (int64_t c = 0; c < chunks; c += 2) _mm_prefetch(later + starts[i] + c * 32, _MM_HINT_T0);
#pragma GCC unroll 8
      for (int64_t c = 0; c < chunks; ++c) {
        const __m256 x = _mm256_loadu_ps(reinterpret_cast<const float*>(from + c * 32));
        _mm256_storeu_ps(reinterpret_cast<float*>(to + c * 32), x);
      }
    }
  }
}

}  // namespace

template <typename S>
void PackStrips(View<S> src, int64_t k, const int64_t* starts, int64_t count, int64_t columns,
                int64_t width, int64_t apart, Acc<S>* dst) {
  constexpr int64_t kSize = sizeof(S);
  int64_t whole = 0;  // strips that can be read `width` wide
  if (std::is_same_v<S, Acc<S>> && src.cs == 1 && width * kSize % 32 == 0) {
    while (whole < count && starts[whole] + width <= columns) ++whole;
  }
  constexpr int64_t kMost = 16;
  int64_t offsets[kMost];
  if (whole > kMost || !Cpu().avx2) whole = 0;
  for (int64_t i = 0; i < whole; ++i) offsets[i] = starts[i] * kSize;
  if (whole != 0) {
    const int64_t chunks = width * kSize / 32;
    const auto copy = chunks == 4   ? CopyStrips<4>
                      : chunks == 6 ? CopyStrips<6>
                      : chunks == 2 ? CopyStrips<2>
                                    : CopyStrips<0>;
    copy(reinterpret_cast<const char*>(src.data), src.rs * kSize, k, offsets, whole, chunks,
         reinterpret_cast<char*>(dst), apart * kSize);
  }
  for (int64_t i = whole; i < count; ++i) {
    View<S> strip{src.At(0, starts[i]), src.rs, src.cs};
    PackPanel(strip, k, starts[i + 1] - starts[i], width, dst + i * apart);
  }
}

#define FZ_INSTANTIATE(S)                                                                  \
  template void PackRows<S>(View<S>, int64_t, int64_t, Acc<S>*, int64_t);                  \
  template void PackPanel<S>(View<S>, int64_t, int64_t, int64_t, Acc<S>*);                 \
  template void PackStrips<S>(View<S>, int64_t, const int64_t*, int64_t, int64_t, int64_t, \
                              int64_t, Acc<S>*);
FZ_INSTANTIATE(float)
FZ_INSTANTIATE(double)
FZ_INSTANTIATE(Half)
FZ_INSTANTIATE(BFloat16)
#undef FZ_INSTANTIATE

}  // namespace frazil::gemm
