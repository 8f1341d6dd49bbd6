// The door to OpenBLAS: opened at first use, never linked.
// Called by matmul under precision "blas", by linear algebra (kernels/lapack) and by benchmarks.
// Invariant: it has as many threads as our pool, or those that SetBlasThreads fixed, never by load,
// but one while a BlasTurn of one thread lives; idle ones sleep.
#pragma once

#include <mutex>

#include "core/status.h"
#include "kernels/gemm/gemm.h"

namespace frazil {

bool BlasAvailable();

// For f32 and f64. Operands whose layout BLAS cannot take are copied first.
Status BlasGemm(const GemmArgs& args);

Status SetBlasThreads(int threads);  // from now on, whatever SetNumThreads says

// OK if OpenBLAS was found; else what is wrong and the way out.
Status CheckBlas();
// One of its functions by Fortran's name; null if it lacks it.
void* BlasFunction(const char* name);

// While one lives, OpenBLAS works with one thread, since those of our pool call it, or with all
// that it has; and no other one lives: who comes next waits without the host's lock.
class BlasTurn {
 public:
  explicit BlasTurn(bool all_threads);
  ~BlasTurn();
  BlasTurn(const BlasTurn&) = delete;
  BlasTurn& operator=(const BlasTurn&) = delete;

 private:
  std::mutex& turn_;
};

}  // namespace frazil
