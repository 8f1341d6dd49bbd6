// The definition of the matmul rule in plain loops (std::fma), for every dtype.
// Called by tests and by nobody else. Invariant: clarity; kernels/gemm/gemm.h must equal it bit for
// bit.
#pragma once

#include "kernels/gemm/gemm.h"

namespace frazil::gemm {

void ReferenceGemm(const GemmArgs& args);

}  // namespace frazil::gemm
