// The door to OpenBLAS: opened at first use, never linked.
// Called by matmul under precision "blas" and by benchmarks. Invariant: it has as many threads
// as our pool, or those that SetBlasThreads fixed, never by load; idle ones sleep.
#pragma once

#include "core/status.h"
#include "kernels/gemm/gemm.h"

namespace frazil {

bool BlasAvailable();

// For f32 and f64. Operands whose layout BLAS cannot take are copied first.
Status BlasGemm(const GemmArgs& args);

Status SetBlasThreads(int threads);  // from now on, whatever SetNumThreads says

}  // namespace frazil
