// How a kernel's axes become tiles: which axis are rows, which columns, what is left outside.
// Called by the emitter of kernels. Invariant: every point of the space lies in exactly one tile;
// the loop axis lies whole in a tile unless the plan says that loops are split.
#pragma once

#include <vector>

#include "jit/emit/npu/emit.h"

namespace frazil::npu {

// A rectangle of points. Rows and columns are counted along the kernel's row and column axis; in a
// chunked kernel the column (or row) count starts at the chunk's first element.
struct Tile {
  std::vector<int64_t> outer;  // index along each axis that is neither
  int64_t row = 0, rows = 1, col = 0, cols = 1;
  bool first = true, last = true;  // of the tiles that share one pass over a split loop
};

class SpacePlan {
 public:
  SpacePlan(const kir::Kernel& kernel, const LaunchShape& shape);

  int row_axis() const { return row_axis_; }  // -1: none
  int col_axis() const { return col_axis_; }
  bool loop_is_rows() const { return kernel_.has_loop && row_axis_ == kernel_.rank; }
  bool loop_is_cols() const { return kernel_.has_loop && col_axis_ == kernel_.rank; }

  // Whether the buffer's address moves along rows or columns, inside or outside of loops.
  bool VariesOverRows(int buffer, bool in_loop) const;
  bool VariesOverCols(int buffer, bool in_loop) const;
  int64_t RowStride(int buffer, bool in_loop) const;  // bytes
  int64_t ColStride(int buffer, bool in_loop) const;
  // Bytes from the buffer's first element to the tile's.
  int64_t OffsetOf(int buffer, const Tile& tile, bool in_loop) const;

  int64_t rows() const { return rows_; }
  int64_t cols() const { return cols_; }  // of one chunk if chunks are rows

  // All tiles of at most rows x cols, in order.
  std::vector<Tile> Cut(int64_t rows, int64_t cols) const;

 private:
  int64_t Stride(int buffer, int axis) const {
    return shape_.strides[buffer * kernel_.axes() + axis];
  }
  void CutRange(std::vector<int64_t> outer, int64_t row_begin, int64_t row_end, int64_t col_begin,
                int64_t col_end, int64_t rows, int64_t cols, std::vector<Tile>* out) const;

  const kir::Kernel& kernel_;
  LaunchShape shape_;
  int row_axis_ = -1, col_axis_ = 0;
  bool chunk_rows_ = false;  // the rows are the chunks
  std::vector<int> outer_;   // axes
  int64_t rows_ = 1, cols_ = 1;
};

}  // namespace frazil::npu
