// Combines the results of the chunks of k by the project's sum rule: chunk c adds to lane c mod 64
// in ascending order (lanes start at -0), then lane[i] += lane[i+32], 16, 8, 4, 2, 1; more than
// 4096 chunks are first combined in groups of 4096. Called by kernels/gemm/float_gemm.cc.
// Invariant: the order of additions is the rule's. Additions of lanes that no chunk reached are
// left out: x + -0 is x.
#pragma once

#include <algorithm>
#include <cstdint>

#include "absl/functional/function_ref.h"
#include "core/check.h"
#include "kernels/gemm/scratch.h"
#include "kernels/gemm/team.h"

namespace frazil::gemm {

inline constexpr int64_t kChunk = 4096;
inline constexpr int64_t kLanes = 64;

// A block of rows x cols accumulators.
template <typename T>
struct Block {
  T* data;
  int64_t rows, cols, ld;
};

template <typename T>
class ChunkSum {
 public:
  // Writes chunk `index`'s result, whole, to the block.
  using Leaf = absl::FunctionRef<void(int64_t index, const Block<T>& out)>;

  static void Run(int64_t count, const Block<T>& out, const Team& team, Leaf leaf) {
    ChunkSum(team).Sum(count, out, leaf);
  }

 private:
  explicit ChunkSum(const Team& team) : team_(team) {}

  void Sum(int64_t count, const Block<T>& out, Leaf leaf) {
    if (count <= kChunk) return Tree(count, 0, 1, out, leaf);
    auto group = [&](int64_t g, const Block<T>& dst) {
      Sum(std::min(kChunk, count - g * kChunk), dst,
          [&](int64_t c, const Block<T>& d) { leaf(g * kChunk + c, d); });
    };
    Sum((count + kChunk - 1) / kChunk, out, group);
  }

  // What lane i holds after the halving step that leaves `width` lanes.
  void Tree(int64_t count, int64_t i, int64_t width, const Block<T>& out, Leaf leaf) {
    if (width == kLanes) {
      leaf(i, out);
      for (int64_t c = i + kLanes; c < count; c += kLanes) {
        AddInto(out, [&](const Block<T>& term) { leaf(c, term); });
      }
      return;
    }
    Tree(count, i, width * 2, out, leaf);
    if (i + width < count) {
      AddInto(out, [&](const Block<T>& term) { Tree(count, i + width, width * 2, term, leaf); });
    }
  }

  // out += what `fill` writes.
  void AddInto(const Block<T>& out, absl::FunctionRef<void(const Block<T>&)> fill) {
    int slot = Scratch::kSumFirst + depth_++;
    FZ_CHECK(slot <= Scratch::kSumLast);
    T* data = Scratch::ThisThread().Get<T>(slot, out.rows * out.cols);
    fill(Block<T>{data, out.rows, out.cols, out.cols});
    --depth_;
    team_.Run(team_.threads(), [&](int64_t part) {
      const int64_t end = out.rows * (part + 1) / team_.threads();
      for (int64_t r = out.rows * part / team_.threads(); r < end; ++r) {
        T* to = out.data + r * out.ld;
        const T* from = data + r * out.cols;
        for (int64_t c = 0; c < out.cols; ++c) to[c] += from[c];
      }
    });
  }

  const Team& team_;
  int depth_ = 0;
};

}  // namespace frazil::gemm
