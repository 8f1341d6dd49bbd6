// kernels/yardstick.h for bench/yardstick.py, which loads it through ctypes.
#include "kernels/yardstick.h"

#include "core/threads/parallel.h"

#define FZ_EXPORT extern "C" __attribute__((visibility("default")))

// Null if there is no memory. n is a multiple of 1024.
FZ_EXPORT void* frazil_bench_triad_new(int64_t n) { return frazil::Triad::Make(n).release(); }

FZ_EXPORT void frazil_bench_triad_run(void* triad, int threads) {
  frazil::SetNumThreads(threads);
  static_cast<frazil::Triad*>(triad)->Run();
}

FZ_EXPORT void frazil_bench_triad_delete(void* triad) { delete static_cast<frazil::Triad*>(triad); }

FZ_EXPORT double frazil_bench_fma(double flops, int threads) {
  frazil::SetNumThreads(threads);
  return frazil::RunFma(flops);
}
