#include "kernels/yardstick.h"

#include <sys/mman.h>

#include <atomic>
#include <cstdlib>

#include "core/threads/parallel.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace frazil {
namespace {

constexpr size_t kHugePage = size_t{2} << 20;

struct Arrays {
  float *o, *b, *c;
};

// As the allocator of large storages: aligned to huge pages, which are asked for.
float* NewFloats(int64_t n) {
  const size_t bytes = (static_cast<size_t>(n) * 4 + kHugePage - 1) / kHugePage * kHugePage;
  auto* p = static_cast<float*>(std::aligned_alloc(kHugePage, bytes));
  if (!p) return nullptr;
  madvise(p, bytes, MADV_HUGEPAGE);
  for (int64_t i = 0; i < n; ++i) p[i] = 1;
  return p;
}

#if defined(__x86_64__)
__attribute__((target("avx512f"))) void Part512(const Arrays& t, int64_t begin, int64_t end) {
  const __m512 s = _mm512_set1_ps(0.5f);
  for (int64_t i = begin; i < end; i += 16) {
    const __m512 x = _mm512_mul_ps(s, _mm512_load_ps(t.c + i));
    _mm512_stream_ps(t.o + i, _mm512_add_ps(_mm512_load_ps(t.b + i), x));
  }
  _mm_sfence();
}
__attribute__((target("avx2"))) void Part256(const Arrays& t, int64_t begin, int64_t end) {
  const __m256 s = _mm256_set1_ps(0.5f);
  for (int64_t i = begin; i < end; i += 8) {
    const __m256 x = _mm256_mul_ps(s, _mm256_load_ps(t.c + i));
    _mm256_stream_ps(t.o + i, _mm256_add_ps(_mm256_load_ps(t.b + i), x));
  }
  _mm_sfence();
}
#endif

void Part(const Arrays& t, int64_t begin, int64_t end) {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f")) return Part512(t, begin, end);
  if (__builtin_cpu_supports("avx2")) return Part256(t, begin, end);
#endif
  for (int64_t i = begin; i < end; ++i) t.o[i] = t.b[i] + 0.5f * t.c[i];
}

// --- multiply-adds
constexpr int kChains = 12;
constexpr int64_t kPart = 4096;  // steps handed out at once; a step is one multiply-add a chain

#if defined(__x86_64__)
__attribute__((target("avx512f"))) float Fma512(int64_t steps) {
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
__attribute__((target("avx2,fma"))) float Fma256(int64_t steps) {
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

float FmaScalar(int64_t steps) {
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

float FmaPart(int lanes, int64_t steps) {
#if defined(__x86_64__)
  if (lanes == 16) return Fma512(steps);
  if (lanes == 8) return Fma256(steps);
#endif
  return FmaScalar(steps);
}

}  // namespace

Triad::Triad(int64_t n) : n_(n), o_(NewFloats(n)), b_(NewFloats(n)), c_(NewFloats(n)) {}

Triad::~Triad() {
  for (float* p : {o_, b_, c_}) std::free(p);
}

std::unique_ptr<Triad> Triad::Make(int64_t n) {
  std::unique_ptr<Triad> triad(new Triad(n));
  return triad->o_ && triad->b_ && triad->c_ ? std::move(triad) : nullptr;
}

void Triad::Run() {
  const Arrays arrays{o_, b_, c_};
  ParallelFor(n_, 1024, [&](int64_t begin, int64_t end) { Part(arrays, begin, end); });
}

double RunFma(double flops) {
  const int lanes = Lanes();
  const auto steps = static_cast<int64_t>(flops / (2.0 * kChains * lanes)) + 1;
  std::atomic<int> sink = 0;
  ParallelFor(steps, kPart, [&](int64_t begin, int64_t end) {
    sink += static_cast<int>(FmaPart(lanes, end - begin));
  });
  return sink;
}

}  // namespace frazil
