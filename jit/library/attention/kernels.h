// The parts of attention between its matrix products, as kernels. Called by jit/library/attention.
// Invariant: the arithmetic of core/SEMANTICS.md, "Attention", and nothing else; every executor of
// kernels gives the same bits.
#pragma once

#include <array>
#include <memory>

#include "jit/cache/kernel_cache.h"

namespace frazil::jit {

// Where element (i, j) of an operand lies: data + i * row + j * col bytes. A row of numbers that
// all keys share has row 0.
struct Plane {
  void* data;
  int64_t row, col;
};

// A compiled kernel over two axes.
class PlaneKernel {
 public:
  // rows x cols points; with `looped` the rows are the loop axis.
  static StatusOr<PlaneKernel> Make(const kir::Kernel& kernel);

  template <size_t n>
  void Run(const std::array<Plane, n>& planes, int64_t rows, int64_t cols) const {
    void* buffers[n];
    int64_t strides[2 * n];
    for (size_t i = 0; i < n; ++i) {
      buffers[i] = planes[i].data;
      strides[2 * i] = looped_ ? planes[i].col : planes[i].row;
      strides[2 * i + 1] = looped_ ? planes[i].row : planes[i].col;
    }
    const int64_t extents[] = {looped_ ? cols : rows, looped_ ? rows : cols};
    const kir::KernelArgs args{buffers, extents, strides, nullptr};
    code_->Run(args, 0, looped_ ? 1 : rows, 0, cols);
  }

 private:
  std::shared_ptr<const Compiled> code_;
  bool looped_ = false;
};

// One block of keys takes three kernels. Their planes have a row a key and a column a query; what
// is written may lie over what is read. The score of a hidden key is -inf.
//
// Planes: scores, maximum before, written: maximum.
kir::Kernel MaximumKernel(DType dtype);
// Planes: maximum before, maximum, written: what earlier sums and results are to be multiplied by.
kir::Kernel FactorKernel(DType dtype);
// Planes: scores, maximum, sum, factor, written: weights, sum.
kir::Kernel WeightsKernel(DType dtype);

// The end of a block of queries. Planes: maximum, sum, written: logarithm of the sum of
// exponentials of scores, and what results are to be multiplied by.
kir::Kernel EndKernel(DType dtype);

// Planes: results, factor, written: results times factor, or 0 where the factor is.
kir::Kernel ResultsKernel(DType dtype);

// Weights and gradients of scores again. Planes, with a row a query and a column a key: scores,
// gradients of weights, logarithm as above, delta; written: weights, gradients of scores.
kir::Kernel GradientsKernel(DType dtype);

}  // namespace frazil::jit
