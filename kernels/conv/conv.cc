#include "kernels/conv/conv.h"

#include <cstring>

#include "core/caches.h"
#include "core/threads/long_work.h"
#include "core/tuned.h"
#include "kernels/conv/dense.h"
#include "kernels/conv/lines.h"
#include "kernels/conv/plane.h"

namespace frazil {
namespace {

using conv::Patches;
using gemm::Scratch;

constexpr int64_t kRowsOfTile = 14;  // what a kernel of the product takes at a time, about

int64_t ResultSize(const ConvArgs& g) { return SizeOf(g.wide ? DType::kI32 : g.dtype); }

template <typename U>
class Forward {
 public:
  Forward(const ConvArgs& g, Isa isa)
      : g_(g),
        s_(g.shape),
        isa_(isa),
        kernel_(conv::TakeMatrix<U>(&g_, {s_.kernel_h, s_.kernel_w, s_.channels, s_.outputs})),
        pitch_(s_.window() + tuned::kPatchPadding / int64_t(sizeof(U))) {}

  // Each thread reads a block of patches, which stays in its cache, and multiplies it. Where too
  // few rows fit, or there are too few of them for the threads, all threads work on one larger
  // block.
  void Run() {
    if (TryPointwise()) return;
    conv::TakeImage<U>(&g_);
    if (g_.dtype == DType::kF32 && TryFloats<float>()) return;
    if (g_.dtype == DType::kF64 && TryFloats<double>()) return;
    const Patches<U> patches = conv::PatchesOf<U>(g_);
    const int64_t fit = SecondLevelCacheBytes() / 4 / (pitch_ * int64_t(sizeof(U)));
    const int64_t rows = fit / kRowsOfTile * kRowsOfTile;
    if (rows < tuned::kFewestPatchRows || s_.positions() < NumThreads() * tuned::kFewestPatchRows)
      return RunTogether(patches);
    ParallelFor(s_.positions(), kRowsOfTile, [&](int64_t begin, int64_t end) {
      U* block = Scratch::ThisThread().Get<U>(Scratch::kPatches, rows * pitch_);
      for (int64_t at = begin; at < end && !Abandoned(); at += rows) {
        const int64_t last = std::min(end, at + rows);
        patches.Read(at, last, 0, s_.window(), block, pitch_);
        Gemm(Product(at, last, block), isa_);
        if (g_.rows_done && !Abandoned()) (*g_.rows_done)(at, last);
      }
    });
  }

 private:
  template <typename S>
  bool TryFloats() {
    const Isa isa = ResolveIsa(isa_);
    return conv::TryPlane<S>(g_, isa) || conv::TryLines<S>(g_, isa);
  }

  // A window of one element that moves by one: the image itself is the matrix.
  bool TryPointwise() {
    if (s_.kernel_h != 1 || s_.kernel_w != 1 || s_.stride_h != 1 || s_.stride_w != 1) return false;
    if (s_.top != 0 || s_.left != 0 || s_.out_h != s_.height || s_.out_w != s_.width) return false;
    const int64_t extents[] = {s_.batch, s_.height, s_.width};
    const auto row = conv::OneStride(extents, g_.image_strides.data(), 3);
    if (!row) return false;
    GemmArgs product = Product(0, s_.positions(), nullptr);
    product.a = {const_cast<void*>(g_.image), *row, g_.image_strides[3]};
    if (g_.rows_done) {
      GemmOnPool(product, *g_.rows_done, isa_);
    } else {
      GemmOnPool(product, isa_);
    }
    return true;
  }

  void RunTogether(const Patches<U>& patches) {
    const int64_t fit = tuned::kPatchBytes / (pitch_ * int64_t(sizeof(U)));
    const int64_t rows = std::min(s_.positions(), std::max(fit, tuned::kFewestPatchRows));
    U* block = Scratch::ThisThread().Get<U>(Scratch::kPatches, rows * pitch_);
    for (int64_t at = 0; at < s_.positions() && !Abandoned(); at += rows) {
      const int64_t last = std::min(s_.positions(), at + rows);
      ParallelFor(last - at, kRowsOfTile, [&](int64_t begin, int64_t end) {
        patches.Read(at + begin, at + end, 0, s_.window(), block + begin * pitch_, pitch_);
      });
      GemmOnPool(Product(at, last, block), isa_);
    }
  }

  GemmArgs Product(int64_t first, int64_t last, U* block) const {
    return {g_.dtype,
            last - first,
            s_.outputs,
            s_.window(),
            {block, pitch_, 1},
            {const_cast<U*>(kernel_.data), kernel_.rs, kernel_.cs},
            {static_cast<char*>(g_.result) + first * s_.outputs * ResultSize(g_), s_.outputs, 1},
            false,
            g_.wide};
  }

  ConvArgs g_;
  const ConvShape s_;
  const Isa isa_;
  const gemm::View<U> kernel_;
  const int64_t pitch_;
};

void Compute(const ConvArgs& args, Isa isa) {
  const ConvShape& s = args.shape;
  conv::VisitSize(args.dtype, [&](auto zero) {
    using U = decltype(zero);
    if (s.window() == 0) {  // sums of nothing
      std::memset(args.result, 0, size_t(s.positions() * s.outputs * ResultSize(args)));
      return;
    }
    Forward<U>(args, isa).Run();
  });
}

}  // namespace

void Conv(const ConvArgs& args, Isa isa) {
  const ConvShape& s = args.shape;
  if (s.positions() == 0 || s.outputs == 0) return;
  if (args.rows_done) {
    return TellRows(s.positions(), *args.rows_done, [&](const RowsDone& rows_done) {
      ConvArgs telling = args;
      telling.rows_done = &rows_done;
      Compute(telling, isa);
    });
  }
  Compute(args, isa);
}

}  // namespace frazil
