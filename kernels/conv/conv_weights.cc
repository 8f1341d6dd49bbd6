// The gradient of a convolution to its kernel. Positions are the long axis: a few hundred of them
// at a time are multiplied while the operands that belong to them are in the cache.
#include <type_traits>
#include <vector>

#include "core/threads/fp_mode.h"
#include "core/threads/long_work.h"
#include "core/tuned.h"
#include "kernels/conv/conv.h"
#include "kernels/conv/dense.h"
#include "kernels/conv/padded.h"
#include "kernels/conv/weight_lines.h"
#include "kernels/gemm/blocked.h"

namespace frazil {
namespace {

using conv::Patches;
using gemm::Block;
using gemm::Scratch;
using gemm::View;

constexpr int64_t kPiece = 512;   // positions at a time
constexpr int64_t kColumns = 64;  // elements of a window at a time

// Elements [m0, m1) of the windows, as columns of a product whose rows are the outputs: so neither
// operand has to be transposed. `Product` adds positions [first, first + count) to out.
template <typename U, typename T, typename Product>
void Piecewise(const Patches<U>& patches, int64_t first, int64_t last, int64_t m0,
               const Block<T>& out, Product product) {
  U* block = Scratch::ThisThread().Get<U>(Scratch::kPatches, kPiece * kColumns);
  for (int64_t at = first; at < last && !Abandoned(); at += kPiece) {
    const int64_t count = std::min(kPiece, last - at);
    for (int64_t c = 0; c < out.cols; c += kColumns) {
      const int64_t width = std::min(kColumns, out.cols - c);
      patches.Read(at, at + count, m0 + c, m0 + c + width, block, width);
      product(at, count, block, Block<T>{out.data + c, out.rows, width, out.ld}, at != first);
    }
  }
}

// S: a float type. The bits lie in memory as U.
template <typename S, typename U>
void FloatPart(const ConvArgs& g, const Patches<U>& patches, const View<U>& other, int64_t m0,
               int64_t m1, Isa isa) {
  using T = gemm::Acc<S>;
  const int64_t outputs = g.shape.outputs, positions = g.shape.positions(), cols = m1 - m0;
  const auto product = [&](int64_t at, int64_t count, const U* block, const Block<T>& out,
                           bool continues) {
    View<S> a{reinterpret_cast<const S*>(other.At(at, 0)), other.cs, other.rs};
    View<S> b{reinterpret_cast<const S*>(block), out.cols, 1};
    gemm::ChunkGemm(isa, a, b, count, out, gemm::Team(), continues);
  };
  T* sums = Scratch::ThisThread().Get<T>(Scratch::kOutput, outputs * cols);
  const auto chunk = [&](int64_t index, const Block<T>& out) {
    const int64_t first = index * gemm::kChunk;
    Piecewise(patches, first, std::min(positions, first + gemm::kChunk), m0, out, product);
  };
  gemm::ChunkSum<T>::Run((positions + gemm::kChunk - 1) / gemm::kChunk,
                         Block<T>{sums, outputs, cols, cols}, gemm::Team(), chunk);
  S* result = static_cast<S*>(g.result) + m0 * outputs;
  for (int64_t c = 0; c < cols; ++c) {
    for (int64_t r = 0; r < outputs; ++r)
      gemm::Narrow(sums[r * cols + c], result + c * outputs + r);
  }
}

// Integers wrap, so the order does not matter.
template <typename U>
void IntegerPart(const ConvArgs& g, const Patches<U>& patches, const View<U>& other, int64_t m0,
                 int64_t m1) {
  const int64_t outputs = g.shape.outputs, cols = m1 - m0;
  U* sums = Scratch::ThisThread().Get<U>(Scratch::kSumFirst, outputs * kColumns);
  U* result = static_cast<U*>(g.result) + m0 * outputs;
  std::fill(result, result + cols * outputs, U{});
  const auto product = [&](int64_t at, int64_t count, U* block, const Block<U>& out, bool) {
    Gemm({g.dtype,
          out.cols,
          outputs,
          count,
          {block, 1, out.cols},
          {const_cast<U*>(other.At(at, 0)), other.rs, other.cs},
          {sums, outputs, 1}});
    for (int64_t i = 0; i < out.cols * outputs; ++i) out.data[i] = U(out.data[i] + sums[i]);
  };
  for (int64_t c = 0; c < cols; c += kColumns) {
    const Block<U> out{result + c * outputs, outputs, std::min(kColumns, cols - c), 0};
    Piecewise(patches, 0, g.shape.positions(), m0 + c, out, product);
  }
}

template <typename U>
void Part(const ConvArgs& g, const Patches<U>& patches, const View<U>& other, int64_t m0,
          int64_t m1, Isa isa) {
  const DefaultFpMode mode;
  switch (g.dtype) {
    case DType::kF32:
      return FloatPart<float>(g, patches, other, m0, m1, isa);
    case DType::kF64:
      return FloatPart<double>(g, patches, other, m0, m1, isa);
    case DType::kF16:
      return FloatPart<Half>(g, patches, other, m0, m1, isa);
    case DType::kBF16:
      return FloatPart<BFloat16>(g, patches, other, m0, m1, isa);
    default:
      return IntegerPart(g, patches, other, m0, m1);
  }
}

// S: float or double. `g` as TakeImage and TakeMatrix leave it.
template <typename S>
bool TryLines(const ConvArgs& g, const std::array<int64_t, 4>& extents, Isa isa) {
  ConvArgs dense = g;
  if (g.shape.outputs > 1 && g.other_strides[3] != 1) {
    if (!conv::LiesInLines(g)) return false;
    const S* data = static_cast<const S*>(g.other);
    dense.other = conv::CopyDense(data, extents.data(), g.other_strides, Scratch::kOther);
    dense.other_strides = {extents[1] * extents[2] * extents[3], extents[2] * extents[3],
                           extents[3], 1};
  }
  const auto stride = conv::OneStride(extents.data(), dense.other_strides.data(), 3);
  const View<S> other{static_cast<const S*>(dense.other), *stride, dense.other_strides[3]};
  return conv::TryWeightLines(dense, other, ResolveIsa(isa));
}

}  // namespace

void ConvWeights(const ConvArgs& args, Isa isa) {
  const ConvShape& s = args.shape;
  if (s.window() == 0 || s.outputs == 0) return;
  conv::VisitSize(args.dtype, [&](auto zero) {
    using U = decltype(zero);
    if (s.positions() == 0) {
      U* out = static_cast<U*>(args.result);
      return std::fill(out, out + s.window() * s.outputs, U{});
    }
    ConvArgs g = args;
    conv::TakeImage<U>(&g);
    const std::array<int64_t, 4> extents = {s.batch, s.out_h, s.out_w, s.outputs};
    const View<U> other = conv::TakeMatrix<U>(&g, extents);
    if (g.dtype == DType::kF32 && TryLines<float>(g, extents, isa)) return;
    if (g.dtype == DType::kF64 && TryLines<double>(g, extents, isa)) return;
    const Patches<U> patches = conv::PatchesOf<U>(g);
    ParallelFor(s.window(), tuned::kFewestWindowColumns, [&](int64_t begin, int64_t end) {
      Part(args, patches, other, begin, end, ResolveIsa(isa));
    });
  });
}

}  // namespace frazil
