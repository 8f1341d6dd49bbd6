// The yardstick of memory-bound kernels: o = b + s * c with streaming stores, written by hand.
// Loaded by bench/yardstick.py through ctypes. It is split among threads by the same worker pool as
// frazil's kernels, so that what differs is the kernel alone.
#include <sys/mman.h>

#include <cstdint>
#include <cstdlib>
#include <new>

#include "core/threads/parallel.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace {

constexpr size_t kHugePage = size_t{2} << 20;

struct Triad {
  int64_t n;
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
__attribute__((target("avx512f"))) void Part512(const Triad& t, int64_t begin, int64_t end) {
  const __m512 s = _mm512_set1_ps(0.5f);
  for (int64_t i = begin; i < end; i += 16) {
    const __m512 x = _mm512_mul_ps(s, _mm512_load_ps(t.c + i));
    _mm512_stream_ps(t.o + i, _mm512_add_ps(_mm512_load_ps(t.b + i), x));
  }
  _mm_sfence();
}
__attribute__((target("avx2"))) void Part256(const Triad& t, int64_t begin, int64_t end) {
  const __m256 s = _mm256_set1_ps(0.5f);
  for (int64_t i = begin; i < end; i += 8) {
    const __m256 x = _mm256_mul_ps(s, _mm256_load_ps(t.c + i));
    _mm256_stream_ps(t.o + i, _mm256_add_ps(_mm256_load_ps(t.b + i), x));
  }
  _mm_sfence();
}
#endif

void Part(const Triad& t, int64_t begin, int64_t end) {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f")) return Part512(t, begin, end);
  if (__builtin_cpu_supports("avx2")) return Part256(t, begin, end);
#endif
  for (int64_t i = begin; i < end; ++i) t.o[i] = t.b[i] + 0.5f * t.c[i];
}

}  // namespace

#define FZ_EXPORT extern "C" __attribute__((visibility("default")))

// Null if there is no memory. n is a multiple of 1024.
FZ_EXPORT void* frazil_bench_triad_new(int64_t n) {
  auto* t = new (std::nothrow) Triad{n, NewFloats(n), NewFloats(n), NewFloats(n)};
  return t && t->o && t->b && t->c ? t : nullptr;
}

FZ_EXPORT void frazil_bench_triad_run(void* triad, int threads) {
  const auto& t = *static_cast<Triad*>(triad);
  frazil::SetNumThreads(threads);
  frazil::ParallelFor(t.n, 1024, [&](int64_t begin, int64_t end) { Part(t, begin, end); });
}

FZ_EXPORT void frazil_bench_triad_delete(void* triad) {
  auto* t = static_cast<Triad*>(triad);
  for (float* p : {t->o, t->b, t->c}) std::free(p);
  delete t;
}
