#include "kernels/gemm/blocked.h"

#include <algorithm>
#include <cmath>
#include <type_traits>

#include "core/long_work.h"
#include "kernels/gemm/codegen.h"
#include "kernels/gemm/pack.h"
#include "kernels/gemm/row_dots.h"
#include "kernels/gemm/scratch.h"

namespace frazil::gemm {
namespace {

// Sizes, in bytes, that keep a panel of B near the first-level cache, a block of A in the second
// level, and the packed part of B in what is left. They change speed only.
constexpr int64_t kStepsOfK = 768;      // k steps between visits to C
constexpr int64_t kStepsOfOneRow = 32;  // the same where there is one row: B streams once
constexpr int64_t kBlockOfA = 512 << 10;
constexpr int64_t kBlockOfB = 8 << 20;
constexpr int64_t kDirectA = 256 << 10;  // operands up to this size are read where they are
constexpr int64_t kDirectB = 64 << 10;
constexpr int64_t kRowPadding = 64;  // keeps rows of a packed block in different cache sets

int64_t CeilDiv(int64_t a, int64_t b) { return (a + b - 1) / b; }

// A range cut into parts whose sizes differ by one at most.
struct EvenParts {
  EvenParts() = default;
  EvenParts(int64_t total, int64_t parts)
      : count(parts), smaller(total / parts), larger_parts(total - smaller * parts) {}
  int64_t Start(int64_t i) const { return smaller * i + std::min(i, larger_parts); }
  int64_t Size(int64_t i) const { return smaller + (i < larger_parts); }

  int64_t count = 0, smaller = 0, larger_parts = 0;
};

template <typename S>
class Blocked {
 public:
  using T = Acc<S>;
  static constexpr bool kStoredAsComputed = std::is_same_v<S, T>;
  static constexpr bool kF64 = std::is_same_v<T, double>;

  Blocked(Isa isa, View<S> a, View<S> b, int64_t k, const Block<T>& c)
      : isa_(isa), a_(a), b_(b), k_(k), c_(c), lanes_(Lanes(isa, kF64)) {
    ChooseTile();
    ChooseReading();
  }

  // False where the kernels cannot be generated.
  bool FindKernels() {
    for (int size = 0; size < 2; ++size) {
      int64_t mr = rows_.smaller + size;
      if (size == 1 && rows_.larger_parts == 0) break;
      shape_ = KernelShape{kF64, isa_, int(mr), int(nv_), false, a_layout_};
      kernels_[size][0] = GetKernel(shape_);
      shape_.nv = int(CeilDiv(TailColumns(), lanes_));
      shape_.masked = TailColumns() % lanes_ != 0;
      if (TailColumns() != 0) kernels_[size][1] = GetKernel(shape_);
      if (kernels_[size][0] == nullptr) return false;
      if (TailColumns() != 0 && kernels_[size][1] == nullptr) return false;
    }
    return true;
  }

  void Run() {
    int64_t steps = c_.rows == 1 ? kStepsOfOneRow : kStepsOfK;
    EvenParts ks(k_, k_ <= steps ? 1 : CeilDiv(k_, steps));
    int64_t step_bytes = std::max<int64_t>(1, ks.Size(0)) * int64_t(sizeof(T));
    int64_t panels_a_block = std::max<int64_t>(1, kBlockOfA / (step_bytes * mr_));
    EvenParts a_blocks(rows_.count, CeilDiv(rows_.count, panels_a_block));
    int64_t columns = std::max<int64_t>(nr_, kBlockOfB / step_bytes / nr_ * nr_);
    for (j0_ = 0; j0_ < c_.cols; j0_ += columns) {
      j1_ = std::min(c_.cols, j0_ + columns);
      for (int64_t p = 0; p < ks.count; ++p) {
        k0_ = ks.Start(p);
        steps_ = ks.Size(p);
        if (!direct_b_) PackB();
        for (int64_t block = 0; block < a_blocks.count; ++block) {
          if (Abandoned()) return;
          DoBlock(a_blocks.Start(block), a_blocks.Start(block + 1));
        }
      }
    }
  }

 private:
  void ChooseTile() {
    nv_ = 2;
    while (nv_ < kMaxVectors && MaxRows(isa_, nv_ + 1) >= c_.rows) ++nv_;
    nv_ = std::min(nv_, CeilDiv(c_.cols, lanes_));
    nr_ = nv_ * lanes_;
    tail_ = c_.cols % nr_;
    int64_t most = MaxRows(isa_, nv_);
    rows_ = EvenParts(c_.rows, CeilDiv(c_.rows, most));
    mr_ = rows_.Size(0);
  }

  // Which operands are read in place, and how A is walked.
  void ChooseReading() {
    a_layout_ = a_.rs == 1 && a_.cs != 1 ? ALayout::kColumns : ALayout::kRows;
    if (!kStoredAsComputed) return;
    bool a_walks = a_.cs == 1 || a_.rs == 1;
    bool a_small = c_.rows * k_ * int64_t(sizeof(T)) <= kDirectA;
    direct_a_ = a_walks && (a_small || c_.cols <= 2 * nr_);
    bool b_small = c_.cols * k_ * int64_t(sizeof(T)) <= kDirectB;
    direct_b_ = b_.cs == 1 && (b_small || rows_.count <= 2);
  }

  int64_t TailColumns() const { return tail_; }

  void PackB() {
    int64_t columns = j1_ - j0_;
    packed_b_ =
        Scratch::ThisThread().Get<T>(Scratch::kPackedB, CeilDiv(columns, nr_) * nr_ * steps_);
    for (int64_t j = j0_; j < j1_; j += nr_) {
      int64_t used = std::min(nr_, j1_ - j);
      View<S> panel{b_.At(k0_, j), b_.rs, b_.cs};
      PackPanel(panel, steps_, used, CeilDiv(used, lanes_) * lanes_,
                packed_b_ + (j - j0_) * steps_);
    }
  }

  int64_t PackedRow() const { return steps_ + kRowPadding / int64_t(sizeof(T)); }

  void PackA(int64_t panel0, int64_t panel1) {
    int64_t size = mr_ * PackedRow();
    packed_a_ = Scratch::ThisThread().Get<T>(Scratch::kPackedA, (panel1 - panel0) * size);
    for (int64_t p = panel0; p < panel1; ++p) {
      View<S> panel{a_.At(rows_.Start(p), k0_), a_.rs, a_.cs};
      T* to = packed_a_ + (p - panel0) * size;
      if (a_layout_ == ALayout::kRows) {
        PackRows(panel, rows_.Size(p), steps_, to, PackedRow());
      } else {
        PackPanel(panel.Transposed(), steps_, rows_.Size(p), rows_.Size(p), to);
      }
    }
  }

  void SetA(int64_t panel, int64_t panel0, KernelCall* call) const {
    if (direct_a_) {
      call->a = a_.At(rows_.Start(panel), k0_);
      call->lda = (a_layout_ == ALayout::kRows ? a_.rs : a_.cs) * int64_t(sizeof(T));
    } else {
      call->a = packed_a_ + (panel - panel0) * mr_ * PackedRow();
      call->lda =
          (a_layout_ == ALayout::kRows ? PackedRow() : rows_.Size(panel)) * int64_t(sizeof(T));
    }
  }

  void SetB(int64_t j, int64_t used, KernelCall* call) const {
    if (direct_b_) {
      call->b = b_.At(k0_, j);
      call->ldb = b_.rs * int64_t(sizeof(T));
    } else {
      call->b = packed_b_ + (j - j0_) * steps_;
      call->ldb = CeilDiv(used, lanes_) * lanes_ * int64_t(sizeof(T));
    }
  }

  // Row panels [panel0, panel1) against the columns of the current block.
  void DoBlock(int64_t panel0, int64_t panel1) {
    if (!direct_a_) PackA(panel0, panel1);
    KernelCall call{};
    call.k = steps_;
    call.accumulate = k0_ != 0;
    call.ldc = c_.ld * int64_t(sizeof(T));
    if (TailColumns() != 0) SetMask(shape_, int((TailColumns() - 1) % lanes_ + 1), &call);
    for (int64_t j = j0_; j < j1_; j += nr_) {
      int64_t used = std::min(nr_, j1_ - j);
      SetB(j, used, &call);
      for (int64_t p = panel0; p < panel1; ++p) {
        SetA(p, panel0, &call);
        call.c = c_.data + rows_.Start(p) * c_.ld + j;
        kernels_[rows_.Size(p) - rows_.smaller][used != nr_](&call);
      }
    }
  }

  const Isa isa_;
  const View<S> a_, b_;
  const int64_t k_;
  const Block<T> c_;
  const int64_t lanes_;
  int64_t nv_, nr_, mr_;  // the tile: vectors and columns, rows at most
  int64_t tail_;          // columns of the last panel if it is not whole, or 0
  EvenParts rows_;        // row panels
  ALayout a_layout_ = ALayout::kRows;
  bool direct_a_ = false, direct_b_ = false;
  KernelShape shape_;          // of the tail columns
  Kernel kernels_[2][2] = {};  // by rows (fewer, one more) and by columns (all, tail)
  T *packed_a_ = nullptr, *packed_b_ = nullptr;
  int64_t j0_, j1_, k0_, steps_;  // the current block
};

// Without generated code.
template <typename S>
void PlainChunk(View<S> a, View<S> b, int64_t k, const Block<Acc<S>>& out) {
  for (int64_t i = 0; i < out.rows && !Abandoned(); ++i) {
    Acc<S>* row = out.data + i * out.ld;
    std::fill(row, row + out.cols, Acc<S>(0));
    for (int64_t p = 0; p < k; ++p) {
      Acc<S> x = Widen(*a.At(i, p));
      for (int64_t j = 0; j < out.cols; ++j) row[j] = std::fma(x, Widen(*b.At(p, j)), row[j]);
    }
  }
}

// One row of A against B whose columns are adjacent in memory. False where that is not the case.
template <typename S>
bool TryOneRow(Isa isa, View<S> a, View<S> b, int64_t k, const Block<Acc<S>>& out) {
  using T = Acc<S>;
  if constexpr (std::is_same_v<S, T>) {
    if (out.rows != 1 || b.rs != 1 || b.cs == 1) return false;
    const T* x = a.data;
    if (a.cs != 1) {
      T* copy = Scratch::ThisThread().Get<T>(Scratch::kPackedA, k);
      PackRows(a, 1, k, copy, k);
      x = copy;
    }
    return TryRowDots(isa, b.data, b.cs, out.cols, x, k, out.data);
  }
  return false;
}

}  // namespace

template <typename S>
void ChunkGemm(Isa isa, View<S> a, View<S> b, int64_t k, const Block<Acc<S>>& out) {
  if (isa == Isa::kScalar) return PlainChunk(a, b, k, out);
  if (TryOneRow(isa, a, b, k, out)) return;
  Blocked<S> blocked(isa, a, b, k, out);
  if (!blocked.FindKernels()) return PlainChunk(a, b, k, out);
  blocked.Run();
}

template void ChunkGemm(Isa, View<float>, View<float>, int64_t, const Block<float>&);
template void ChunkGemm(Isa, View<double>, View<double>, int64_t, const Block<double>&);
template void ChunkGemm(Isa, View<Half>, View<Half>, int64_t, const Block<float>&);
template void ChunkGemm(Isa, View<BFloat16>, View<BFloat16>, int64_t, const Block<float>&);

}  // namespace frazil::gemm
