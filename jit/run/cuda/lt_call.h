// A product of matrices by cuBLASLt from operands as plans have them: folded, copied where cuBLASLt
// cannot read them as they lie. Called by the products of jit/run/cuda. Invariant: what is
// asked of cuBLASLt (jit/cuda/lt_product.h) follows from precision, dtype, shape and orientation
// alone.
#pragma once

#include "core/precision.h"
#include "jit/cuda/lt_product.h"
#include "jit/library/product_shape.h"
#include "jit/run/cuda/strided.h"

namespace frazil::jit {

// How an operand reaches cuBLASLt.
struct LtSource {
  gpu::LtOperand lies;
  bool copy = false;  // first: dense, in the orientation that it has
  Axes dense;         // what such a copy visits

  LtSource(const Axes& batch, const Axes& rows, const Axes& columns, int64_t item);
};

// What cuBLASLt is asked for, by shape alone: where all batches have one b, they are rows.
struct LtProblem {
  gpu::LtShape shape;
  LtSource a, b;

  // Of a shape that is not empty.
  static LtProblem Of(const ProductShape& shape, DType dtype, bool tf32);
};

// True if the product is left to cuBLASLt.
bool IsForLt(const ProductShape& shape, DType dtype, Precision precision);

class LtCall {
 public:
  // NotImplementedError: frazil's own kernel does it.
  static StatusOr<std::unique_ptr<const LtCall>> Make(gpu::Device* device, const LtProblem& problem,
                                                      gpu::LtEpilogue epilogue,
                                                      const std::string& origin);

  // Queued on the device's stream. bias: null without such an epilogue.
  Status Run(const char* a, const char* b, const char* bias, char* result) const;
  // As LibraryCall's.
  bool capturable() const { return !copy_a_ && !copy_b_; }
  std::string text() const;
  const gpu::LtShape& shape() const { return shape_; }
  int64_t bytes() const { return int64_t{sizeof(*this)} + 2048; }

 private:
  LtCall(gpu::Device* device, const LtProblem& problem,
         std::unique_ptr<const gpu::LtProduct> product, const std::string& origin);

  // Memory for a copy. NotImplementedError in a graph, which would go on using it.
  StatusOr<StorageRef> Temporary(int64_t bytes) const;
  Status Densify(const StridedCopy& copy, bool always, const char** data, StorageRef* memory,
                 bool* dense) const;

  gpu::Device* const device_;
  const gpu::LtShape shape_;
  const std::unique_ptr<const gpu::LtProduct> product_;
  const bool copy_a_, copy_b_;
  const StridedCopy dense_a_, dense_b_;
  const gpu::LaunchNameRef name_;
};

}  // namespace frazil::jit
