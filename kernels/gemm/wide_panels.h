// Many rows of int8 times columns that lie along k: sums of 32 bits by VNNI. Panels of columns are laid
// out as words (kernels/gemm/words.h) that stay in a cache while all rows, read where they are, pass
// by. Called by word_gemm.cc. Invariant: exact modulo 2^32, so the bits are those of every other way.
#pragma once

#include "kernels/gemm/gemm.h"

namespace frazil::gemm {

// False: the product is of another kind, or has too few rows, or the machine lacks the instructions.
bool TryWidePanels(const GemmArgs& g, Isa units);

}  // namespace frazil::gemm
