#include "jit/emit/npu/epilogue.h"

#include <algorithm>

namespace frazil::npu {
namespace {

Arg N(int64_t n) { return Arg::Number(n); }

std::vector<int> AddParamsBut(const kir::Kernel& kernel, int product, Stream* stream) {
  std::vector<int> params;
  for (int b = 0; b < int(kernel.buffers.size()); ++b)
    params.push_back(b == product ? -1 : AddParam(kernel.buffers[b], stream));
  for (const kir::Scalar& s : kernel.scalars) params.push_back(AddParam(s, stream));
  return params;
}

}  // namespace

EpilogueQueue::EpilogueQueue(const kir::Kernel& kernel, const SpacePlan& plan, const BodyInfo& info,
                             int product, Type type, const Slicing& slicing, Stream* stream)
    : stream_(*stream),
      type_(type),
      slicing_(slicing),
      program_(kernel, plan, info, stream, AddParamsBut(kernel, product, stream), 2,
               {product, slicing.kept}) {}

void EpilogueQueue::Push(const Arg& accumulator, int64_t row, int64_t col, int64_t rows,
                         int64_t cols) {
  for (int64_t n = 0; n < cols; n += slicing_.cols) {
    Slice slice{accumulator, accumulator.value, {}};
    // Columns of fractals follow each other, 1 KiB each.
    slice.from.value += uint64_t(n / 16 * ((rows + 15) / 16) * 1024);
    slice.tile.row = row;
    slice.tile.rows = rows;
    slice.tile.col = col + n;
    slice.tile.cols = std::min(slicing_.cols, cols - n);
    slices_.push_back(slice);
  }
}

// Takes the next slice out of its accumulator.
void EpilogueQueue::Fetch() {
  const Slice& slice = slices_[size_t(fetched_++)];
  stream_.Emit(
      Op::kDR, type_, DrainFn(type_),
      {program_.Provide().at(), slice.from, N(slice.tile.rows), N(slice.tile.cols), N(0), N(0)});
}

void EpilogueQueue::Release(const Arg& accumulator) {
  const auto waits = [&] {
    return std::any_of(slices_.begin() + fetched_, slices_.end(),
                       [&](const Slice& s) { return s.accumulator == accumulator.value; });
  };
  while (waits()) fetched_ < slicing_.kept ? Fetch() : FinishSlice();
}

void EpilogueQueue::FinishSlice() {
  since_slice_ = 0;
  while (fetched_ < slicing_.kept && fetched_ < int64_t(slices_.size())) Fetch();
  // Other operands: one slice ahead.
  for (; loaded_ < 2 && loaded_ < int64_t(slices_.size()); ++loaded_)
    program_.Loads(slices_[size_t(loaded_)].tile);
  program_.Compute(slices_[0].tile);
  slices_.pop_front();
  --fetched_;
  --loaded_;
}

}  // namespace frazil::npu
