// An operand of attention: matrices (or rows of numbers), one for each point of the batch axes.
// Called by jit/library/attention. Invariant: the batch axes of all operands have the same extents;
// strides are as they come.
#pragma once

#include "core/layout.h"
#include "kernels/gemm/gemm.h"

namespace frazil::jit {

class AttentionOperand {
 public:
  // The last `inner` axes are no batch axes.
  AttentionOperand(const Layout* layout, int inner, int64_t item)
      : layout_(layout), batch_axes_(layout->rank - inner), item_(item) {}

  int64_t batches() const {
    int64_t n = 1;
    for (int i = 0; i < batch_axes_; ++i) n *= layout_->extents[i];
    return n;
  }

  // The first element of matrix `batch` (row-major over the batch axes) of the operand at `data`.
  char* At(char* data, int64_t batch) const {
    int64_t offset = 0;
    for (int i = batch_axes_ - 1; i >= 0; --i) {
      offset += batch % layout_->extents[i] * layout_->strides_[i];
      batch /= layout_->extents[i];
    }
    return data + offset * item_;
  }

  // Rows from `row` of that matrix.
  MatrixRef Rows(char* data, int64_t batch, int64_t row) const {
    return {At(data, batch) + row * rs() * item_, rs(), layout_->strides_[batch_axes_ + 1]};
  }
  // Of the first axis that is no batch axis.
  int64_t rs() const { return layout_->strides_[batch_axes_]; }
  int64_t rows() const { return layout_->extents[batch_axes_]; }
  int64_t cols() const { return layout_->extents[batch_axes_ + 1]; }

 private:
  LayoutRef layout_;
  int batch_axes_;
  int64_t item_;
};

inline MatrixRef Transposed(const MatrixRef& m) { return {m.data, m.col_stride, m.row_stride}; }

}  // namespace frazil::jit
