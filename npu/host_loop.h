// Loops over elements, compiled for the vector instructions that the host has: AVX2 or none (by
// wider ones blocks of kBlock lanes gain little, and the loops are 90 KB larger). Called by the
// files of the machine that compute (vector_*.cc). Invariant: iterations do not depend on each other
// (arrays are the same or disjoint), so every version gives the same bits.
#pragma once

#include <cstdint>

#include "core/cpu.h"

namespace frazil::npu {

#if defined(__x86_64__)
#define FZ_NPU_AVX2 gnu::target("avx2,fma,f16c")
#define FZ_NPU_AVX512 gnu::target("avx512f,avx512bw,avx512dq,avx512vl,avx2,fma,f16c")
#endif

// Before a loop: iterations do not depend on each other.
#if defined(__clang__)
#define FZ_NPU_INDEPENDENT _Pragma("clang loop vectorize(assume_safety)")
#else
#define FZ_NPU_INDEPENDENT _Pragma("GCC ivdep")
#endif

enum class HostIsa : uint8_t { kPlain, kAvx2, kAvx512 };
inline HostIsa Host() {
  const CpuFeatures& cpu = Cpu();
  return cpu.avx512 ? HostIsa::kAvx512 : cpu.avx2 ? HostIsa::kAvx2 : HostIsa::kPlain;
}

namespace loop_internal {

// Whatever f calls is inlined and so compiled for the same instructions.
template <class F>
[[gnu::flatten, gnu::noinline]] void Plain(int64_t n, const F f) {
  FZ_NPU_INDEPENDENT
  for (int64_t i = 0; i < n; ++i) f(i);
}
#if defined(__x86_64__)
template <class F>
[[FZ_NPU_AVX2, gnu::flatten, gnu::noinline]] void Avx2(int64_t n, const F f) {
  FZ_NPU_INDEPENDENT
  for (int64_t i = 0; i < n; ++i) f(i);
}
#endif

}  // namespace loop_internal

// f(0) ... f(n - 1) in any order.
template <class F>
void ForEach(int64_t n, const F& f) {
#if defined(__x86_64__)
  if (Host() != HostIsa::kPlain) return loop_internal::Avx2(n, f);
#endif
  loop_internal::Plain(n, f);
}

}  // namespace frazil::npu
