// A matrix of outputs as tiles that a kernel holds in registers while the sum goes through the runs
// of its left factor (kernels/gemm/codegen.h). Called by kernels/conv/lines.cc and weight_lines.cc.
// Invariant: the tiles cover each output once, whatever their sizes.
#pragma once

#include <algorithm>

#include "kernels/gemm/codegen.h"
#include "kernels/gemm/pack.h"

namespace frazil::conv {

template <typename S>
class RunTiles {
 public:
  static constexpr bool kF64 = sizeof(S) == 8;
  // `isa` is not kScalar. Neither rows nor cols is 0.
  RunTiles(Isa isa, gemm::ALayout layout, int64_t rows, int64_t cols)
      : lanes_(gemm::Lanes(isa, kF64)), rows_(rows), cols_(cols) {
    const int vectors = cols <= lanes_ ? 1 : Vectors(isa, layout);
    width_ = vectors * lanes_;
    const int64_t most = gemm::MaxRows(isa, vectors, gemm::Step::kFma, true);
    blocks_ = (rows + most - 1) / most;
    const int64_t last = cols - (slices() - 1) * width_;
    for (int larger = 0; larger < 2; ++larger) {
      const int height = int(rows / blocks_) + larger;
      if (larger == 1 && rows % blocks_ == 0) break;
      shape_[larger][0] = {kF64, isa, height, vectors, false, layout};
      shape_[larger][1] = shape_[larger][0];
      shape_[larger][1].nv = int((last + lanes_ - 1) / lanes_);
      shape_[larger][1].masked = last % lanes_ != 0;
      for (int end = 0; end < 2; ++end) {
        shape_[larger][end].runs = true;
        kernel_[larger][end] = gemm::GetKernel(shape_[larger][end]);
        made_ = made_ && kernel_[larger][end] != nullptr;
      }
    }
    gemm::SetMask(shape_[0][1], int((last - 1) % lanes_ + 1), &mask_);
  }

  // Vectors of a slice. Rows that lie together are read from a line each step, however few: fewer
  // rows of more vectors read less.
  int Vectors(Isa isa, gemm::ALayout layout) const {
    return isa == Isa::kAvx512 && layout == gemm::ALayout::kColumns && cols_ % (4 * lanes_) == 0
               ? 4
               : 2;
  }

  // False where the kernels cannot be generated.
  bool made() const { return made_; }

  // Rows [Start(i), Start(i + 1)) are those of block i.
  int64_t blocks() const { return blocks_; }
  int64_t Start(int64_t i) const { return rows_ / blocks_ * i + std::min(i, rows_ % blocks_); }
  // Columns of a slice: the last may have fewer.
  int64_t width() const { return width_; }
  int64_t slices() const { return (cols_ + width_ - 1) / width_; }

  // c (+)= runs @ b for one tile. `a`: elements of the runs' first row of this block behind their
  // pointers; b and c: of the tile. Strides in elements.
  void Run(int64_t block, int64_t slice, const gemm::Run* runs, int64_t count, int64_t a,
           int64_t lda, const S* b, int64_t ldb, S* c, int64_t ldc, bool continues) const {
    constexpr int64_t kSize = sizeof(S);
    const int larger = block < rows_ % blocks_, end = slice + 1 == slices();
    gemm::RunsCall call{mask_, runs, count};
    call.call.a = reinterpret_cast<const void*>(a * kSize);
    call.call.lda = lda * kSize;
    call.call.b = b;
    call.call.ldb = ldb * kSize;
    call.call.c = c;
    call.call.ldc = ldc * kSize;
    call.call.accumulate = continues;
    kernel_[larger][end](&call.call);
  }

 private:
  const int64_t lanes_, rows_, cols_;
  int64_t width_, blocks_;
  bool made_ = true;
  gemm::KernelShape shape_[2][2] = {};  // [blocks of one more row][the last slice]
  gemm::Kernel kernel_[2][2] = {};
  gemm::KernelCall mask_ = {};
};

}  // namespace frazil::conv
