// The door to OpenBLAS: opened at first use, never linked.
// Called by matmul under precision "blas" and by benchmarks. Invariant: the number of threads is
// fixed by SetBlasThreads (1 to begin with), never by load.
#pragma once

#include "core/status.h"
#include "kernels/gemm/gemm.h"

namespace frazil {

bool BlasAvailable();

// For f32 and f64. Operands whose layout BLAS cannot take are copied first.
Status BlasGemm(const GemmArgs& args);

Status SetBlasThreads(int threads);

}  // namespace frazil
