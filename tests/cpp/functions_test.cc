// Functions of frazil.h beyond the rows of the tables: joins, parts, products of many matrices,
// products with sparse ones.
#include <gtest/gtest.h>

#include "bindings/cpp/frazil.h"

namespace {

namespace fz = frazil;
using Floats = std::vector<float>;
using Shape = std::vector<int64_t>;

Shape ShapeOf(const fz::Tensor& t) { return {t.dims().begin(), t.dims().end()}; }

fz::Tensor Counting(const Shape& shape) {
  int64_t n = 1;
  for (const int64_t extent : shape) n *= extent;
  return fz::reshape(fz::arange(n, fz::DType::kF32), shape);
}

template <typename F>
std::string ErrorOf(const F& f) {
  try {
    f();
  } catch (const fz::Error& e) {
    return e.what();
  }
  return "";
}

TEST(Functions, Joins) {
  const fz::Tensor v = Counting({2}), m = Counting({2, 2}), number = Counting({});
  EXPECT_EQ(fz::to_vector<float>(fz::hstack({v, v, number})), (Floats{0, 1, 0, 1, 0}));
  EXPECT_EQ(fz::to_vector<float>(fz::hstack({m, m})), (Floats{0, 1, 0, 1, 2, 3, 2, 3}));
  EXPECT_EQ(fz::to_vector<float>(fz::vstack({v, m})), (Floats{0, 1, 0, 1, 2, 3}));
  EXPECT_EQ(ShapeOf(fz::dstack({v, v})), (Shape{1, 2, 2}));
  EXPECT_EQ(ShapeOf(fz::dstack({m, m})), (Shape{2, 2, 2}));
  EXPECT_EQ(fz::to_vector<float>(fz::column_stack({v, m})), (Floats{0, 0, 1, 1, 2, 3}));
  EXPECT_EQ(ErrorOf([&] {
              fz::vstack({v, Counting({3})});
            }),
            "[vstack] shapes differ off axis 0: f32[1,2], f32[1,3].");
}

TEST(Functions, Parts) {
  const fz::Tensor x = Counting({5});
  std::vector<Floats> got;
  for (const fz::Tensor& part : fz::array_split(x, 3)) got.push_back(fz::to_vector<float>(part));
  EXPECT_EQ(got, (std::vector<Floats>{{0, 1}, {2, 3}, {4}}));
  got.clear();
  for (const fz::Tensor& part : fz::split(x, Shape{1, -1, 9}))
    got.push_back(fz::to_vector<float>(part));
  EXPECT_EQ(got, (std::vector<Floats>{{0}, {1, 2, 3}, {4}, {}}));
  EXPECT_EQ(ShapeOf(fz::split(Counting({3, 4}), 2, -1)[1]), (Shape{3, 2}));
  EXPECT_EQ(ErrorOf([&] { fz::split(x, 2); }), "[split] axis 0 of extent 5 has no 2 equal parts.");
  EXPECT_EQ(ErrorOf([&] { fz::array_split(x, 0); }),
            "[array_split] the number of parts must be positive, got 0.");
  EXPECT_EQ(ErrorOf([&] { fz::array_split(x, 2, 1); }),
            "[array_split] axis 1 is out of range for rank 1.");
}

TEST(Functions, ProductsOfManyMatrices) {
  const fz::Tensor m = fz::tensor<float>({1, 1, 0, 1}, {2, 2});
  EXPECT_EQ(fz::to_vector<float>(fz::matrix_power(m, 5)), (Floats{1, 5, 0, 1}));
  EXPECT_EQ(fz::to_vector<float>(fz::matrix_power(m, -2)), (Floats{1, -2, 0, 1}));
  EXPECT_EQ(fz::to_vector<float>(fz::matrix_power(m, 0)), (Floats{1, 0, 0, 1}));
  EXPECT_EQ(ErrorOf([] {
              fz::matrix_power(Counting({2, 3}), 2);
            }),
            "[matrix_power] needs square matrices, got f32[2,3].");
  const fz::Tensor a = Counting({3}), b = Counting({3, 40}), c = Counting({40, 2});
  const fz::Tensor want = fz::matmul(fz::matmul(a, b), c);
  EXPECT_EQ(fz::to_vector<float>(fz::multi_dot({a, b, c})), fz::to_vector<float>(want));
  EXPECT_EQ(ShapeOf(fz::multi_dot({a, b, c, Counting({2})})), Shape{});
  EXPECT_EQ(ErrorOf([&] { fz::multi_dot({b}); }), "[multi_dot] needs at least two arrays, got 1.");
  EXPECT_EQ(ErrorOf([&] {
              fz::multi_dot({b, Counting({2, 2, 2})});
            }),
            "[multi_dot] needs matrices, got f32[2,2,2].");
}

// [[0, 2, 0], [3, 0, 4]]
TEST(Functions, ProductsWithSparseMatrices) {
  const fz::Tensor values = fz::tensor<float>({2, 3, 4}, {3});
  const fz::ops::SparsePlaces rows{fz::tensor<int32_t>({0, 1, 3, 1, 0, 2}, {6}), false, 2, 3};
  const fz::ops::SparsePlaces pairs{fz::tensor<int64_t>({1, 0, 1, 2, 1, 0}, {6}), true, 2, 3};
  const fz::Tensor x = fz::tensor<float>({1, 10, 100}, {3}), y = fz::tensor<float>({1, 10}, {2});
  EXPECT_EQ(fz::to_vector<float>(fz::sparse_matmul(values, rows, x)), (Floats{20, 403}));
  EXPECT_EQ(fz::to_vector<float>(fz::sparse_matmul(values, rows, y, true)), (Floats{30, 2, 40}));
  const fz::Tensor other = fz::tensor<float>({4, 2, 3}, {3});
  EXPECT_EQ(fz::to_vector<float>(fz::sparse_matmul(other, pairs, x)), (Floats{20, 403}));
  EXPECT_EQ(fz::to_vector<float>(fz::sparse_matmul(other, pairs, y, true)), (Floats{30, 2, 40}));
  const auto gradient =
      fz::grad([&](const fz::Tensor& v) { return fz::sum(fz::sparse_matmul(v, rows, x)); })(values);
  EXPECT_EQ(fz::to_vector<float>(gradient), (Floats{10, 1, 100}));
  EXPECT_EQ(ErrorOf([&] { fz::sparse_matmul(values, rows, y); }),
            "[sparse_matmul] a sparse matrix of shape [2,3] and f32[2] do not fit.");
  const fz::ops::SparsePlaces wrong{fz::tensor<int32_t>({0, 1, 3, 1, 0, 3}, {6}), false, 2, 3};
  EXPECT_EQ(ErrorOf([&] { fz::to_vector<float>(fz::sparse_matmul(values, wrong, x)); }),
            "[sparse_matmul] column 3 is out of range for a matrix of shape (2, 3).");
}

}  // namespace
