// Products of float32 whose right factor is stored in 16 bits, as the weights of a quantised layer
// are: it is read as it lies, half as many bytes, and widened on the way into the kernels. Called by
// library steps (jit/library) and tests. Invariant: the bits of the product of the widened matrix
// (kernels/gemm/gemm.h).
#pragma once

#include "kernels/gemm/gemm.h"

namespace frazil {

// On the project's pool, as GemmOnPool. args.dtype is kF32; b holds elements of type `stored`, kF16
// or kBF16.
void StoredGemmOnPool(const GemmArgs& args, DType stored, Isa isa = Isa::kBest);
void StoredGemmOnPool(const GemmArgs& args, DType stored, const RowsDone& done,
                      Isa isa = Isa::kBest);

}  // namespace frazil
