#include "kernels/gemm/row_dots.h"

#include <immintrin.h>

#include <algorithm>

#include "kernels/gemm/codegen.h"

namespace frazil::gemm {
namespace {

// g++ 12 warns of its own header: _mm512_undefined_ps reads a variable that is meant to be unset.
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#pragma GCC diagnostic ignored "-Wuninitialized"

#define FZ_AVX512 __attribute__((target("avx512f")))
#define FZ_AVX2 __attribute__((target("avx2,fma")))

// Each function does as many rows as a vector has lanes. The 128-bit parts of a register come from
// different rows, so that the turn that is left happens within parts; a partial last step is
// gathered.

FZ_AVX512 void Wide(const float* a, int64_t s, const float* x, int64_t k, float* y) {
  const float *p0 = a, *p1 = a + 4 * s, *p2 = a + 8 * s, *p3 = a + 12 * s;
  __m512 acc = _mm512_setzero_ps();
  int64_t i = 0;
  for (; i + 4 <= k; i += 4) {
    __m512 z[4];
    for (int r = 0; r < 4; ++r) {
      int64_t at = i + r * s;
      z[r] = _mm512_broadcast_f32x4(_mm_loadu_ps(p0 + at));
      z[r] = _mm512_mask_broadcast_f32x4(z[r], 0x00F0, _mm_loadu_ps(p1 + at));
      z[r] = _mm512_mask_broadcast_f32x4(z[r], 0x0F00, _mm_loadu_ps(p2 + at));
      z[r] = _mm512_mask_broadcast_f32x4(z[r], 0xF000, _mm_loadu_ps(p3 + at));
    }
    __m512 t0 = _mm512_unpacklo_ps(z[0], z[1]), t1 = _mm512_unpackhi_ps(z[0], z[1]);
    __m512 t2 = _mm512_unpacklo_ps(z[2], z[3]), t3 = _mm512_unpackhi_ps(z[2], z[3]);
    acc = _mm512_fmadd_ps(_mm512_shuffle_ps(t0, t2, 0x44), _mm512_set1_ps(x[i]), acc);
    acc = _mm512_fmadd_ps(_mm512_shuffle_ps(t0, t2, 0xEE), _mm512_set1_ps(x[i + 1]), acc);
    acc = _mm512_fmadd_ps(_mm512_shuffle_ps(t1, t3, 0x44), _mm512_set1_ps(x[i + 2]), acc);
    acc = _mm512_fmadd_ps(_mm512_shuffle_ps(t1, t3, 0xEE), _mm512_set1_ps(x[i + 3]), acc);
  }
  for (; i < k; ++i) {
    float column[16];
    for (int r = 0; r < 16; ++r) column[r] = a[r * s + i];
    acc = _mm512_fmadd_ps(_mm512_loadu_ps(column), _mm512_set1_ps(x[i]), acc);
  }
  _mm512_storeu_ps(y, acc);
}

FZ_AVX512 void Wide(const double* a, int64_t s, const double* x, int64_t k, double* y) {
  __m512d acc = _mm512_setzero_pd();
  int64_t i = 0;
  for (; i + 2 <= k; i += 2) {
    __m512d z[2];
    for (int r = 0; r < 2; ++r) {
      const float* p = reinterpret_cast<const float*>(a + i + r * s);
      __m512 v = _mm512_broadcast_f32x4(_mm_loadu_ps(p));
      v = _mm512_mask_broadcast_f32x4(v, 0x00F0, _mm_loadu_ps(p + 4 * s));
      v = _mm512_mask_broadcast_f32x4(v, 0x0F00, _mm_loadu_ps(p + 8 * s));
      z[r] = _mm512_castps_pd(_mm512_mask_broadcast_f32x4(v, 0xF000, _mm_loadu_ps(p + 12 * s)));
    }
    acc = _mm512_fmadd_pd(_mm512_unpacklo_pd(z[0], z[1]), _mm512_set1_pd(x[i]), acc);
    acc = _mm512_fmadd_pd(_mm512_unpackhi_pd(z[0], z[1]), _mm512_set1_pd(x[i + 1]), acc);
  }
  for (; i < k; ++i) {
    double column[8];
    for (int r = 0; r < 8; ++r) column[r] = a[r * s + i];
    acc = _mm512_fmadd_pd(_mm512_loadu_pd(column), _mm512_set1_pd(x[i]), acc);
  }
  _mm512_storeu_pd(y, acc);
}

FZ_AVX2 void Narrow(const float* a, int64_t s, const float* x, int64_t k, float* y) {
  __m256 acc = _mm256_setzero_ps();
  int64_t i = 0;
  for (; i + 4 <= k; i += 4) {
    __m256 z[4];
    for (int r = 0; r < 4; ++r) {
      const float* p = a + i + r * s;
      __m256 low = _mm256_castps128_ps256(_mm_loadu_ps(p));
      z[r] = _mm256_insertf128_ps(low, _mm_loadu_ps(p + 4 * s), 1);
    }
    __m256 t0 = _mm256_unpacklo_ps(z[0], z[1]), t1 = _mm256_unpackhi_ps(z[0], z[1]);
    __m256 t2 = _mm256_unpacklo_ps(z[2], z[3]), t3 = _mm256_unpackhi_ps(z[2], z[3]);
    acc = _mm256_fmadd_ps(_mm256_shuffle_ps(t0, t2, 0x44), _mm256_set1_ps(x[i]), acc);
    acc = _mm256_fmadd_ps(_mm256_shuffle_ps(t0, t2, 0xEE), _mm256_set1_ps(x[i + 1]), acc);
    acc = _mm256_fmadd_ps(_mm256_shuffle_ps(t1, t3, 0x44), _mm256_set1_ps(x[i + 2]), acc);
    acc = _mm256_fmadd_ps(_mm256_shuffle_ps(t1, t3, 0xEE), _mm256_set1_ps(x[i + 3]), acc);
  }
  for (; i < k; ++i) {
    float column[8];
    for (int r = 0; r < 8; ++r) column[r] = a[r * s + i];
    acc = _mm256_fmadd_ps(_mm256_loadu_ps(column), _mm256_set1_ps(x[i]), acc);
  }
  _mm256_storeu_ps(y, acc);
}

FZ_AVX2 void Narrow(const double* a, int64_t s, const double* x, int64_t k, double* y) {
  __m256d acc = _mm256_setzero_pd();
  int64_t i = 0;
  for (; i + 2 <= k; i += 2) {
    __m256d z[2];
    for (int r = 0; r < 2; ++r) {
      const double* p = a + i + r * s;
      __m256d low = _mm256_castpd128_pd256(_mm_loadu_pd(p));
      z[r] = _mm256_insertf128_pd(low, _mm_loadu_pd(p + 2 * s), 1);
    }
    acc = _mm256_fmadd_pd(_mm256_unpacklo_pd(z[0], z[1]), _mm256_set1_pd(x[i]), acc);
    acc = _mm256_fmadd_pd(_mm256_unpackhi_pd(z[0], z[1]), _mm256_set1_pd(x[i + 1]), acc);
  }
  for (; i < k; ++i) {
    double column[4] = {a[i], a[s + i], a[2 * s + i], a[3 * s + i]};
    acc = _mm256_fmadd_pd(_mm256_loadu_pd(column), _mm256_set1_pd(x[i]), acc);
  }
  _mm256_storeu_pd(y, acc);
}

// The last group starts early enough to be whole; the rows it repeats get the same values again.
template <typename T>
void InGroups(void (*group)(const T*, int64_t, const T*, int64_t, T*), int64_t lanes, const T* a,
              int64_t row_stride, int64_t rows, const T* x, int64_t k, T* y) {
  for (int64_t r = 0; r < rows; r += lanes) {
    int64_t at = std::min(r, rows - lanes);
    group(a + at * row_stride, row_stride, x, k, y + at);
  }
}

}  // namespace

bool RowDotsApplies(Isa isa, bool f64, int64_t rows) {
  return isa != Isa::kScalar && rows >= Lanes(isa, f64);
}

void RowDots(Isa isa, const float* a, int64_t row_stride, int64_t rows, const float* x, int64_t k,
             float* y) {
  using Group = void (*)(const float*, int64_t, const float*, int64_t, float*);
  Group group = isa == Isa::kAvx512 ? static_cast<Group>(Wide) : static_cast<Group>(Narrow);
  InGroups<float>(group, Lanes(isa, false), a, row_stride, rows, x, k, y);
}

void RowDots(Isa isa, const double* a, int64_t row_stride, int64_t rows, const double* x, int64_t k,
             double* y) {
  using Group = void (*)(const double*, int64_t, const double*, int64_t, double*);
  Group group = isa == Isa::kAvx512 ? static_cast<Group>(Wide) : static_cast<Group>(Narrow);
  InGroups<double>(group, Lanes(isa, true), a, row_stride, rows, x, k, y);
}

}  // namespace frazil::gemm
