#include "jit/run/cuda/exact_product.h"

#include "jit/run/cuda/strided.h"

namespace frazil::jit {

ExactProduct::ExactProduct(gpu::Device* device, const Layout* a, const Layout* b, const Layout* c,
                           DType dtype, const std::string& origin) {
  const int r = c->rank;
  args_.m = c->extents[r - 2];
  args_.n = c->extents[r - 1];
  args_.k = a->extents[r - 1];
  args_.a_row = a->strides_[r - 2], args_.a_col = a->strides_[r - 1];
  args_.b_row = b->strides_[r - 2], args_.b_col = b->strides_[r - 1];
  const Axes of_a = AxesOf(a, 0, r - 2, c), of_b = AxesOf(b, 0, r - 2, c);
  Axes rows = of_a;
  rows.push_back({args_.m, args_.m == 1 ? 0 : args_.a_row});
  const auto row = OneStride(rows);
  if (row && OneStride(of_b) == 0) {  // one b for all: the batches are rows
    args_.m = SizeOf(rows);
    args_.a_row = *row;
  } else {
    for (size_t i = 0; i < of_a.size(); ++i) {
      if (of_a[i].extent == 1) continue;
      args_.batch_extents[args_.batch_axes] = of_a[i].extent;
      args_.a_batch[args_.batch_axes] = of_a[i].stride;
      args_.b_batch[args_.batch_axes++] = of_b[i].stride;
      batches_ *= of_a[i].extent;
    }
  }
  if (c->size == 0) return;
  const cuda::MatmulShape shape = cuda::ChooseMatmul(dtype, batches_, args_.m, args_.n, args_.k,
                                                     device->info().multiprocessors);
  const int64_t tile = shape.tile();
  args_.tiles_m = (args_.m + tile - 1) / tile;
  args_.tiles_n = (args_.n + tile - 1) / tile;
  entry_ = std::make_unique<const CudaEntry>(device, cuda::MatmulEntry(shape),
                                             cuda::MatmulText(shape), origin);
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
