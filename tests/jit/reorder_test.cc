// The reorder pass on random graphs around convolutions: what is computed in the order of memory
// has the bits and the layouts that it had, for all views, pads and reductions of it.
#include <algorithm>
#include <numeric>

#include "gtest/gtest.h"
#include "jit/graph/passes/passes.h"
#include "tests/jit/graph_gen.h"

namespace frazil::jit {
namespace {

class Writer {
 public:
  explicit Writer(uint64_t seed) : rng_(seed) {}

  // A convolution and what some random ops make of it.
  Graph Run() {
    const int64_t n = 1 + Below(2), side = 2 * (1 + Below(3)), c = 1 + Below(4);
    graph_.AddInput(DType::kF32, Device(), Dense({n, side, side, 2}), false);
    graph_.AddInput(DType::kF32, Device(), Dense({3, 3, 2, c}), false);
    graph_.AddInput(DType::kF32, Device(), Dense({n, c, side, side}), false);
    graph_.AddInput(DType::kF32, Device(), Dense({c, 1, 1}), false);
    graph_.AddInput(DType::kF32, Device(), Dense({}), true);
    const int32_t y = *graph_.AddOp(OpId::k_conv2d, {0, 1}, {1, 1, 1, 1, 1, 1, 1, 1});
    values_ = {2, 3, 4, *graph_.AddOp(OpId::k_permute_dims, {y}, {0, 3, 1, 2})};
    for (int i = 0; i < 14; ++i) Add();
    for (size_t i = 3; i < values_.size(); ++i) {
      if (Below(4) == 0 || i + 1 == values_.size()) graph_.outputs.push_back(values_[i]);
    }
    return std::move(graph_);
  }

 private:
  int64_t Below(int64_t n) { return int64_t(rng_() % uint64_t(n)); }
  int32_t Any() { return values_[size_t(Below(int64_t(values_.size())))]; }
  int32_t Late() { return Below(3) ? values_.back() : Any(); }

  void Add() {
    const int32_t x = Late();
    const Dims dims = graph_.nodes[x].layout->dims();
    const auto rank = int64_t(dims.size());
    if (rank == 0) return;
    Attrs attrs;
    OpId op = OpId::k_negative;
    absl::InlinedVector<int32_t, 3> operands = {x};
    switch (Below(11)) {
      case 0:
        op = OpId::k_permute_dims;
        attrs.resize(dims.size());
        std::iota(attrs.begin(), attrs.end(), 0);
        for (int64_t i = rank - 1; i > 0; --i) std::swap(attrs[i], attrs[Below(i + 1)]);
        break;
      case 1:
        op = OpId::k_slice;
        for (const int64_t extent : dims) {
          const int64_t start = Below(extent), step = 1 + Below(2);
          attrs.insert(attrs.end(), {start, step, 1 + Below((extent - start - 1) / step + 1)});
        }
        break;
      case 2:
        if (rank > 6) return;
        op = OpId::k_pad;
        operands.push_back(4);
        for (int64_t i = 0; i < rank; ++i) {
          const bool pads = dims[i] == 1 || Below(4) == 0;
          attrs.insert(attrs.end(), {pads ? Below(2) : 0, pads ? Below(2) : 0});
        }
        break;
      case 3:  // an axis of one element, or two axes made one, or one made two
        op = OpId::k_reshape;
        attrs.assign(dims.begin(), dims.end());
        if (const int64_t i = Below(rank + 1); rank < 6 && (i == rank || Below(2))) {
          attrs.insert(attrs.begin() + i, 1);
        } else if (i + 1 < rank) {
          attrs[i] *= attrs[i + 1];
          attrs.erase(attrs.begin() + i + 1);
        } else if (i < rank && attrs[i] % 2 == 0) {
          attrs[i] /= 2;
          attrs.insert(attrs.begin() + i + 1, 2);
        }
        break;
      case 4:
        op = Below(2) ? OpId::k_sum : OpId::k_max;
        attrs = {1 + Below((int64_t{1} << rank) - 1), Below(2)};
        break;
      case 5:
        break;
      case 6:
        op = OpId::k_concat;
        operands.push_back(Below(2) ? x : Any());
        if (Below(2)) std::swap(operands[0], operands[1]);
        attrs = {Below(rank)};
        break;
      case 7: {
        op = OpId::k_take;
        attrs = {Below(rank)};
        const int64_t count = 1 + Below(dims[size_t(attrs[0])]);
        operands.push_back(*graph_.AddOp(OpId::k_iota, {}, {int64_t(DType::kI64), count}));
        break;
      }
      default:
        op = Below(2) ? OpId::k_multiply : OpId::k_subtract;
        operands.push_back(Any());
        if (Below(2)) std::swap(operands[0], operands[1]);
    }
    const StatusOr<int32_t> made = graph_.AddOp(op, operands, attrs);
    if (made.ok() && graph_.nodes[*made].layout->size <= 4096) values_.push_back(*made);
  }

  Rng rng_;
  Graph graph_;
  std::vector<int32_t> values_;
};

TEST(Reorder, WhatIsMadeOfConvolutionsKeepsItsBitsAndLayouts) {
  int reordered = 0;
  for (uint64_t seed = 0; seed < 600; ++seed) {
    const Graph before = Writer(seed).Run();
    ASSERT_TRUE(Verify(before).ok()) << Verify(before) << Print(before);
    Graph after = before;
    Reorder(&after);
    Dce(&after);
    ASSERT_TRUE(Verify(after).ok()) << Verify(after) << Print(before) << Print(after);
    Rng rng(seed);
    const std::vector<ValueRef> inputs = RandomInputs(rng, before);
    const auto want = RunOpByOp(before, inputs), got = RunOpByOp(after, inputs);
    ASSERT_TRUE(want.ok() && got.ok()) << want.status() << got.status();
    ASSERT_EQ(want->size(), got->size());
    for (size_t i = 0; i < want->size(); ++i) {
      EXPECT_EQ((*want)[i]->layout, (*got)[i]->layout) << Print(before) << Print(after);
      EXPECT_EQ(Differences(*(*got)[i], *(*want)[i]), "") << Print(before) << Print(after);
    }
    Graph plain = before;
    Dce(&plain);
    reordered += Print(after) != Print(plain);
  }
  EXPECT_GT(reordered, 200);
}

}  // namespace
}  // namespace frazil::jit
