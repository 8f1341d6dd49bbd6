// What a product asks for, whoever computes it: extents, where the matrices lie, which batches are
// rows.
#include "jit/library/product_shape.h"

#include <gtest/gtest.h>

#include "jit/plan/pending.h"
#include "tests/jit/pending_testing.h"

namespace frazil::jit {
namespace {

const Layout* Of(std::vector<int64_t> dims) { return Dense(dims); }
const Layout* Of(std::vector<int64_t> dims, std::vector<int64_t> strides) {
  return Intern(dims, strides);
}

using Words = std::vector<int64_t>;

// m, n, k.
Words Extents(const ProductShape& s) { return {s.m, s.n, s.k}; }
// Of a's rows and columns, and of b's.
Words Strides(const ProductShape& s) {
  return {s.a.row_stride, s.a.col_stride, s.b.row_stride, s.b.col_stride};
}
// Of each axis: its extent, a's stride, b's.
Words Batches(const ProductShape& s) {
  Words words;
  for (const ProductShape::Batch& axis : s.batch)
    words.insert(words.end(), {axis.extent, axis.a, axis.b});
  return words;
}
// Of each batch: where a, b and c lie.
Words Places(const ProductShape& s) {
  Words words;
  for (int64_t i = 0; i < s.batches(); ++i) {
    const gemm::BatchPlace at = s.PlaceOf(i);
    words.insert(words.end(), {at.a, at.b, at.c});
  }
  return words;
}

TEST(ProductShape, TwoMatrices) {
  const auto s = ProductShape::Of(Of({2, 3}), Of({3, 5}), Of({2, 5}));
  EXPECT_EQ(Extents(s), (Words{2, 5, 3}));
  EXPECT_EQ(Strides(s), (Words{3, 1, 5, 1}));
  EXPECT_EQ(s.batches(), 1);
  EXPECT_EQ(Places(s), (Words{0, 0, 0}));
  EXPECT_TRUE(s.one_b);
  EXPECT_FALSE(s.empty());
  EXPECT_EQ(Extents(s.Stacked()), Extents(s));
}

TEST(ProductShape, TransposedViewsAreStrides) {
  const auto s = ProductShape::Of(Of({2, 3}, {1, 2}), Of({3, 5}, {1, 3}), Of({2, 5}));
  EXPECT_EQ(Extents(s), (Words{2, 5, 3}));
  EXPECT_EQ(Strides(s), (Words{1, 2, 1, 3}));
  const GemmArgs args = s.Args(DType::kF64);
  EXPECT_EQ(args.dtype, DType::kF64);
  EXPECT_EQ((Words{args.m, args.n, args.k}), Extents(s));
  EXPECT_EQ((Words{args.a.row_stride, args.a.col_stride, args.b.row_stride, args.b.col_stride}),
            Strides(s));
  EXPECT_EQ((Words{args.c.row_stride, args.c.col_stride}), (Words{5, 1}));
}

TEST(ProductShape, VectorsAreMatricesOfOneRowOrColumn) {
  const auto row = ProductShape::Of(Of({1, 3}), Of({3, 5}), Of({1, 5}));
  EXPECT_EQ(Extents(row), (Words{1, 5, 3}));
  EXPECT_EQ(Strides(row), (Words{0, 1, 5, 1}));
  const auto column = ProductShape::Of(Of({4, 3}), Of({3, 1}), Of({4, 1}));
  EXPECT_EQ(Extents(column), (Words{4, 1, 3}));
  EXPECT_EQ(Strides(column), (Words{3, 1, 1, 0}));
  EXPECT_EQ(column.Args(DType::kF32).c.row_stride, 1) << "rows of a result lie apart";
  const auto dot = ProductShape::Of(Of({1, 3}), Of({3, 1}), Of({1, 1}));
  EXPECT_EQ(Extents(dot), (Words{1, 1, 3}));
}

TEST(ProductShape, BatchesOfTheirOwnMatrices) {
  const auto s = ProductShape::Of(Of({2, 3, 4, 5}), Of({2, 3, 5, 6}), Of({2, 3, 4, 6}));
  EXPECT_EQ(Extents(s), (Words{4, 6, 5}));
  EXPECT_EQ(Batches(s), (Words{2, 60, 90, 3, 20, 30}));
  EXPECT_EQ(s.batches(), 6);
  EXPECT_EQ(Places(s),
            (Words{0, 0, 0, 20, 30, 24, 40, 60, 48, 60, 90, 72, 80, 120, 96, 100, 150, 120}));
  EXPECT_FALSE(s.one_b);
  EXPECT_EQ(Batches(s.Stacked()), Batches(s));
}

TEST(ProductShape, WhatIsBroadcastHasStrideZero) {
  const auto s = ProductShape::Of(Of({2, 1, 4, 5}), Of({1, 3, 5, 6}), Of({2, 3, 4, 6}));
  EXPECT_EQ(Batches(s), (Words{2, 20, 0, 3, 0, 30}));
  EXPECT_EQ(Places(s), (Words{0, 0, 0, 0, 30, 24, 0, 60, 48, 20, 0, 72, 20, 30, 96, 20, 60, 120}));
  EXPECT_FALSE(s.one_b);
  EXPECT_EQ(Batches(s.Stacked()), Batches(s)) << "the last axis has matrices b of its own";
}

TEST(ProductShape, AxesOfOneBatchAreNone) {
  const auto s = ProductShape::Of(Of({1, 3, 1, 4, 5}), Of({1, 3, 1, 5, 6}), Of({1, 3, 1, 4, 6}));
  EXPECT_EQ(Batches(s), (Words{3, 20, 30}));
  EXPECT_EQ(s.batches(), 3);
}

TEST(ProductShape, BatchesOfOneBAreRows) {
  const auto s = ProductShape::Of(Of({2, 3, 4, 5}), Of({1, 1, 5, 6}), Of({2, 3, 4, 6}));
  EXPECT_TRUE(s.one_b);
  EXPECT_EQ(s.batches(), 6) << "until they are stacked";
  const ProductShape stacked = s.Stacked();
  EXPECT_EQ(Extents(stacked), (Words{24, 6, 5}));
  EXPECT_EQ(Strides(stacked), (Words{5, 1, 6, 1}));
  EXPECT_EQ(stacked.batches(), 1);
  EXPECT_TRUE(stacked.one_b);
}

TEST(ProductShape, BatchesOfOneRowAreRowsHoweverFarApart) {
  const auto s =
      ProductShape::Of(Of({7, 1, 5}, {100, 0, 2}), Of({1, 5, 6}), Of({7, 1, 6})).Stacked();
  EXPECT_EQ(Extents(s), (Words{7, 6, 5}));
  EXPECT_EQ(Strides(s), (Words{100, 2, 6, 1}));
  EXPECT_EQ(s.batches(), 1);
}

TEST(ProductShape, RowsBackwardsAreRowsToo) {
  const auto s =
      ProductShape::Of(Of({3, 2, 5}, {-10, -5, 1}), Of({1, 5, 6}), Of({3, 2, 6})).Stacked();
  EXPECT_EQ(Extents(s), (Words{6, 6, 5}));
  EXPECT_EQ(s.a.row_stride, -5);
}

TEST(ProductShape, OnlyTheLastAxesMayBeRows) {
  const auto s = ProductShape::Of(Of({2, 3, 4, 5}), Of({2, 1, 5, 6}), Of({2, 3, 4, 6})).Stacked();
  EXPECT_EQ(Extents(s), (Words{12, 6, 5}));
  EXPECT_EQ(Batches(s), (Words{2, 60, 30}));
  EXPECT_EQ(Places(s), (Words{0, 0, 0, 60, 30, 72}));
}

TEST(ProductShape, MatricesThatLieApartStayBatches) {
  const Layout* b = Of({1, 5, 6});
  for (const auto& strides : {Words{21, 5, 1}, Words{0, 5, 1}, Words{5, 15, 1}, Words{20, 1, 4}}) {
    const auto s = ProductShape::Of(Of({3, 4, 5}, strides), b, Of({3, 4, 6})).Stacked();
    EXPECT_EQ(s.batches(), 3) << strides[0];
    EXPECT_EQ(s.m, 4) << strides[0];
  }
}

TEST(ProductShape, ARepeatedBIsOneByItsStridesNotByItsShape) {
  const auto s = ProductShape::Of(Of({2, 4, 5}), Of({2, 5, 6}, {0, 6, 1}), Of({2, 4, 6}));
  EXPECT_FALSE(s.one_b);
  EXPECT_EQ(s.Stacked().m, 8);
}

TEST(ProductShape, Empty) {
  const auto none = ProductShape::Of(Of({0, 4, 5}), Of({1, 5, 6}), Of({0, 4, 6}));
  EXPECT_EQ(none.batches(), 0);
  EXPECT_TRUE(none.empty());
  EXPECT_TRUE(none.Stacked().empty());
  EXPECT_TRUE(ProductShape::Of(Of({0, 5}), Of({5, 6}), Of({0, 6})).empty());
  EXPECT_TRUE(ProductShape::Of(Of({4, 5}), Of({5, 0}), Of({4, 0})).empty());
  const auto sums = ProductShape::Of(Of({4, 0}), Of({0, 6}), Of({4, 6}));
  EXPECT_TRUE(sums.empty()) << "nothing to sum";
  EXPECT_EQ(Extents(sums), (Words{4, 6, 0}));
}

// The launch of a product and its reader has the product's operands in its place.
TEST(ProductShape, ALaunchWithoutItsProduct) {
  const Graph graph = *Parse(R"(graph (f32[8,8], f32[2,8,4], f32[8,4]) {
    %3 = slice %1 {1, 1, 1, 0, 1, 8, 0, 1, 4} : view f32[1,8,4] strides [0,4,1] offset 32
    %4 = reshape %3 {8, 4} : view f32[8,4] offset 0
    %5 = matmul %0, %4 : f32[8,4]
    %6 = add %2, %5 : f32[8,4]
    return %6
  })");
  const ProductShape shape = ProductShape::Of(graph, 5);
  EXPECT_EQ(Extents(shape), (Words{8, 4, 8}));
  Launch reader;
  reader.buffers = {{2, 0}, {5, 0}, {6, 0}};
  reader.strides = {16, 4, 16, 4, 16, 4};
  reader.rows = 8;
  const Launch launch = WithoutProduct(graph, 5, reader, 1);
  std::vector<std::pair<int32_t, int64_t>> buffers;
  for (const Launch::Buffer& b : launch.buffers) buffers.emplace_back(b.node, b.offset);
  EXPECT_EQ(buffers,
            (std::vector<std::pair<int32_t, int64_t>>{{0, 0}, {1, 8 * 4 * 4}, {2, 0}, {6, 0}}));
  EXPECT_EQ(launch.rows, 8);
  EXPECT_EQ(reader.buffers.size(), 3u);
}

}  // namespace
}  // namespace frazil::jit
