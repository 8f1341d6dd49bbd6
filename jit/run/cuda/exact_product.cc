#include "jit/run/cuda/exact_product.h"

namespace frazil::jit {

ExactProduct::ExactProduct(gpu::Device* device, const ProductShape& shape, DType dtype,
                           const std::string& origin) {
  const ProductShape p = shape.Stacked();
  args_.m = p.m, args_.n = p.n, args_.k = p.k;
  args_.a_row = p.a.row_stride, args_.a_col = p.a.col_stride;
  args_.b_row = p.b.row_stride, args_.b_col = p.b.col_stride;
  for (const ProductShape::Batch& axis : p.batch) {
    args_.batch_extents[args_.batch_axes] = axis.extent;
    args_.a_batch[args_.batch_axes] = axis.a;
    args_.b_batch[args_.batch_axes++] = axis.b;
  }
  batches_ = p.batches();
  if (batches_ * p.m * p.n == 0) return;
  const cuda::MatmulShape chosen =
      cuda::ChooseMatmul(dtype, batches_, p.m, p.n, p.k, device->info().multiprocessors);
  const int64_t tile = chosen.tile();
  args_.tiles_m = (args_.m + tile - 1) / tile;
  args_.tiles_n = (args_.n + tile - 1) / tile;
  entry_ = std::make_unique<const CudaEntry>(device, cuda::MatmulEntry(chosen),
                                             cuda::MatmulText(chosen), origin);
}

Status ExactProduct::Run(const char* a, const char* b, char* c) const {
  if (!entry_) return absl::OkStatus();
  if (args_.k > cuda::kMatmulLongestK)
    return NotImplementedError("[matmul] sums of ", args_.k, " products are too long for a GPU.");
  cuda::MatmulArgs args = args_;
  args.a = a;
  args.b = b;
  args.c = c;
  return entry_->Launch(args.tiles_m * args.tiles_n * batches_, cuda::kMatmulThreads, &args);
}

}  // namespace frazil::jit
