// A product of matrices by frazil's own kernel (jit/emit/cuda/matmul_text.h). Made by the products
// of jit/run/cuda. Invariant: the CPU's bits for every dtype, stride and shape.
#pragma once

#include "jit/emit/cuda/matmul_text.h"
#include "jit/library/product_shape.h"
#include "jit/run/cuda/entry.h"

namespace frazil::jit {

class ExactProduct {
 public:
  ExactProduct(gpu::Device* device, const ProductShape& shape, DType dtype,
               const std::string& origin);

  // Queued on the device's stream.
  Status Run(const char* a, const char* b, char* c) const;

 private:
  cuda::MatmulArgs args_{};  // without pointers
  int64_t batches_ = 1;
  std::unique_ptr<const CudaEntry> entry_;
};

}  // namespace frazil::jit
