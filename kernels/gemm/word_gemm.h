// The fast product of integers of at most four bytes: words of them (kernels/gemm/words.h) through
// the kernels of the float GEMM or the tiles of AMX.
// Called by kernels/gemm/gemm.cc. Invariant: sums modulo 2^32, narrowed, so that any order gives
// the same bits as kernels/gemm/integer_gemm.h.
#pragma once

#include "kernels/gemm/gemm.h"

namespace frazil::gemm {

// S is uint8_t, uint16_t or uint32_t, which stand for the signed types too. `isa` is what
// ResolveUnits gives. False, with nothing done, where no code can be generated.
template <typename S>
bool TryWordGemm(const GemmArgs& args, Isa isa);

// The same for int8 into int32 (GemmArgs::wide): signed, all 32 bits.
bool TryWideGemm(const GemmArgs& args, Isa isa);

}  // namespace frazil::gemm
