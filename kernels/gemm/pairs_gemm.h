// Products of bfloat16 under precision "native": what the tiles of AMX compute, on every machine.
// Called by kernels/gemm/gemm.cc. Invariant: the rule of core/SEMANTICS.md for "native", with the
// same bits on tiles, on vectors and in plain loops (kernels/gemm/pairs_rule.h).
#pragma once

#include "kernels/gemm/gemm.h"

namespace frazil::gemm {

// `units` is what ResolveUnits gives.
void PairsGemm(const GemmArgs& args, Isa units);

}  // namespace frazil::gemm
