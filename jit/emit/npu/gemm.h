// Matrix products on the NPU: blocked, double-buffered, with the next block's loads issued before
// the current block's products. Called by the device for matmul. Invariant: for every output
// element k ascends through one accumulator (core/SEMANTICS.md), so the bits are the CPU's.
#pragma once

#include <array>
#include <optional>

#include "jit/emit/npu/emit.h"
#include "kernels/gemm/gemm.h"

namespace frazil::npu {

// Blocks of one level each, in elements.
struct GemmBlocks {
  int64_t l1_m = 0, l1_n = 0, l1_k = 0;  // staged
  int64_t half_m = 0;                    // rows of one accumulator; two live at a time
  int64_t l0_k = 0;                      // of one product
  bool double_buffered = true;
  bool prefetch = true;  // loads are issued before the products they overlap with
};

// What the matrix unit multiplies; nullopt for other dtypes.
std::optional<Type> MatrixTypeOf(DType dtype);

// Blocks that fit the preset, as large as they get.
GemmBlocks ChooseBlocks(const Preset& preset, Type type, int64_t m, int64_t n, int64_t k);

// What follows a product on the same points: a kernel over [m, n] without loops, one of whose
// buffers is the product, dense. It takes the accumulators from scratch memory; the product itself
// is nowhere else.
struct Epilogue {
  const kir::Kernel* kernel;
  LaunchShape shape;
  int product;  // number of the buffer
};

// c = a @ b for `args` (strides in elements, data unused), `batches` times: batch_offsets holds the
// byte offsets of a, b and c of each batch. Parameters: a, b, c; with an epilogue (of one batch) a,
// b, the kernel's other buffers and its scalars. NotImplementedError for what the matrix unit does
// not do: dtypes, k beyond one chunk, elements that lie apart.
StatusOr<Program> EmitGemm(const GemmArgs& args,
                           absl::Span<const std::array<int64_t, 3>> batch_offsets,
                           const Preset& preset, const GemmBlocks& blocks,
                           const EmitOptions& options = {}, const Epilogue* epilogue = nullptr);

}  // namespace frazil::npu
