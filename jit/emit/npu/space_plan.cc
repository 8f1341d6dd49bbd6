#include "jit/emit/npu/space_plan.h"

#include <algorithm>

namespace frazil::npu {

SpacePlan::SpacePlan(const kir::Kernel& kernel, const LaunchShape& shape)
    : kernel_(kernel), shape_(shape) {
  const int rank = kernel.rank;
  if (!kernel.has_loop) {
    col_axis_ = rank - 1;
    row_axis_ = rank - 2;
  } else if (kernel.vec == kir::VecAxis::kLoop) {
    col_axis_ = rank;
    row_axis_ = rank - 1;
    chunk_rows_ = kernel.chunked && rank == 1;
  } else {
    row_axis_ = rank;
    col_axis_ = rank - 1;
  }
  for (int axis = 0; axis < kernel.axes(); ++axis) {
    if (axis != row_axis_ && axis != col_axis_) outer_.push_back(axis);
  }
  const auto extent = [&](int axis) {
    const bool cut = kernel.chunked && axis == rank;
    return cut ? std::min(shape.extents[axis], kir::kChunk) : shape.extents[axis];
  };
  cols_ = extent(col_axis_);
  if (row_axis_ >= 0) rows_ = extent(row_axis_);
}

int64_t SpacePlan::RowStride(int buffer, bool in_loop) const {
  if (row_axis_ < 0 || (loop_is_rows() && !in_loop)) return 0;
  const int64_t chunk = chunk_rows_ && in_loop ? kir::kChunk * Stride(buffer, kernel_.rank) : 0;
  return Stride(buffer, row_axis_) + chunk;
}

int64_t SpacePlan::ColStride(int buffer, bool in_loop) const {
  return loop_is_cols() && !in_loop ? 0 : Stride(buffer, col_axis_);
}

bool SpacePlan::VariesOverRows(int buffer, bool in_loop) const {
  return rows_ > 1 && RowStride(buffer, in_loop) != 0;
}

bool SpacePlan::VariesOverCols(int buffer, bool in_loop) const {
  return cols_ > 1 && ColStride(buffer, in_loop) != 0;
}

int64_t SpacePlan::OffsetOf(int buffer, const Tile& tile, bool in_loop) const {
  int64_t offset = tile.row * RowStride(buffer, in_loop) + tile.col * ColStride(buffer, in_loop);
  for (size_t i = 0; i < outer_.size(); ++i) offset += tile.outer[i] * Stride(buffer, outer_[i]);
  if (kernel_.chunked && !chunk_rows_ && in_loop)
    offset += tile.outer[0] * kir::kChunk * Stride(buffer, kernel_.rank);
  return offset;
}

void SpacePlan::CutRange(std::vector<int64_t> outer, int64_t row_begin, int64_t row_end,
                         int64_t col_begin, int64_t col_end, int64_t rows, int64_t cols,
                         std::vector<Tile>* out) const {
  const auto add = [&](int64_t r, int64_t c) {
    Tile tile{outer, r, std::min(rows, row_end - r), c, std::min(cols, col_end - c)};
    if (loop_is_rows()) {
      tile.first = r == row_begin;
      tile.last = r + rows >= row_end;
    } else if (loop_is_cols()) {
      tile.first = c == col_begin;
      tile.last = c + cols >= col_end;
    }
    out->push_back(std::move(tile));
  };
  if (loop_is_rows()) {  // the loop goes innermost
    for (int64_t c = col_begin; c < col_end; c += cols)
      for (int64_t r = row_begin; r < row_end; r += rows) add(r, c);
  } else {
    for (int64_t r = row_begin; r < row_end; r += rows)
      for (int64_t c = col_begin; c < col_end; c += cols) add(r, c);
  }
}

std::vector<Tile> SpacePlan::Cut(int64_t rows, int64_t cols) const {
  std::vector<Tile> tiles;
  if (chunk_rows_) {
    // Whole chunks, then the last, shorter one.
    const int64_t n = shape_.extents[kernel_.rank];
    const int64_t whole = n / kir::kChunk, rest = n % kir::kChunk;
    if (whole) CutRange({}, 0, whole, 0, kir::kChunk, rows, cols, &tiles);
    if (rest) CutRange({}, whole, whole + 1, 0, rest, rows, cols, &tiles);
    return tiles;
  }
  std::vector<int64_t> outer(outer_.size(), 0);
  int64_t count = 1;
  for (int axis : outer_) count *= shape_.extents[axis];
  for (int64_t i = 0; i < count; ++i) {
    int64_t rest = i;
    for (size_t a = outer_.size(); a-- > 0;) {
      outer[a] = rest % shape_.extents[outer_[a]];
      rest /= shape_.extents[outer_[a]];
    }
    int64_t loop_extent = kernel_.has_loop ? shape_.extents[kernel_.rank] : 0;
    if (kernel_.chunked) loop_extent = std::min(kir::kChunk, loop_extent - outer[0] * kir::kChunk);
    CutRange(outer, 0, loop_is_rows() ? loop_extent : rows_, 0,
             loop_is_cols() ? loop_extent : cols_, rows, cols, &tiles);
  }
  return tiles;
}

}  // namespace frazil::npu
