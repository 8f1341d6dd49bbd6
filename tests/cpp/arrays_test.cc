// Functions of arrays and matrices under NumPy's names, in C++.
#include <gtest/gtest.h>

#include <cmath>

#include "bindings/cpp/frazil.h"

namespace {

namespace fz = frazil;
using Doubles = std::vector<double>;
using Shape = std::vector<int64_t>;

Shape ShapeOf(const fz::Tensor& t) { return {t.dims().begin(), t.dims().end()}; }

Doubles Of(const fz::Tensor& t) { return fz::to_vector<double>(fz::astype(t, fz::float64)); }

fz::Tensor Counting(const Shape& shape) {
  int64_t n = 1;
  for (const int64_t extent : shape) n *= extent;
  return fz::reshape(fz::arange(n, fz::float64), shape);
}

fz::Tensor Vector(const Doubles& values) {
  return fz::tensor<double>(values, {static_cast<int64_t>(values.size())});
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

TEST(Arrays, TurnedRoundAndRepeated) {
  const fz::Tensor v = Counting({4}), m = Counting({2, 3});
  EXPECT_EQ(Of(fz::transpose(m)), (Doubles{0, 3, 1, 4, 2, 5}));
  EXPECT_EQ(ShapeOf(fz::transpose(Counting({2, 3, 4}), {{1, 0, 2}})), (Shape{3, 2, 4}));
  EXPECT_EQ(Of(fz::unstack(m)[1]), (Doubles{3, 4, 5}));
  EXPECT_EQ(fz::unstack(m, -1).size(), 3u);
  EXPECT_EQ(Of(fz::roll(v, 1)), (Doubles{3, 0, 1, 2}));
  EXPECT_EQ(Of(fz::roll(m, {1, -1}, {{0, 1}})), (Doubles{4, 5, 3, 1, 2, 0}));
  EXPECT_EQ(Of(fz::repeat(Vector({5, 7}), 2)), (Doubles{5, 5, 7, 7}));
  EXPECT_EQ(Of(fz::repeat(Vector({5, 7}), {1, 3})), (Doubles{5, 7, 7, 7}));
  EXPECT_EQ(Of(fz::fliplr(m)), (Doubles{2, 1, 0, 5, 4, 3}));
  EXPECT_EQ(Of(fz::flipud(m)), (Doubles{3, 4, 5, 0, 1, 2}));
  EXPECT_EQ(Of(fz::flip(v)), (Doubles{3, 2, 1, 0}));
  EXPECT_EQ(Of(fz::rot90(m)), (Doubles{2, 5, 1, 4, 0, 3}));
  EXPECT_EQ(Of(fz::rot90(m, 2)), (Doubles{5, 4, 3, 2, 1, 0}));
  EXPECT_EQ(ShapeOf(fz::rollaxis(Counting({2, 3, 4}), 2)), (Shape{4, 2, 3}));
  EXPECT_EQ(ShapeOf(fz::moveaxis(Counting({2, 3, 4}), 0, -1)), (Shape{3, 4, 2}));
  EXPECT_EQ(ShapeOf(fz::squeeze(Counting({1, 3, 1}))), (Shape{3}));
  EXPECT_EQ(Of(fz::tile(Vector({1, 2}), 2)), (Doubles{1, 2, 1, 2}));
  EXPECT_EQ(Of(fz::pad(v, {1, 0}, 9)), (Doubles{9, 0, 1, 2, 3}));
  EXPECT_EQ(Of(fz::cummax(Vector({1, 3, 2}))), (Doubles{1, 3, 3}));
  EXPECT_EQ(Of(fz::cummin(Vector({3, 1, 2}))), (Doubles{3, 1, 1}));
  EXPECT_EQ(ErrorOf([&] { fz::roll(m, {1, 2}, {{0, 1, 1}}); }), "[roll] 2 shifts for 3 axes.");
  EXPECT_EQ(ErrorOf([&] { fz::repeat(v, -1); }), "[repeat] counts must not be negative, got -1.");
  EXPECT_EQ(ErrorOf([&] { fz::fliplr(v); }), "[fliplr] needs at least 2 axes, got shape (4,).");
}

TEST(Arrays, BroughtToOneShape) {
  EXPECT_EQ(fz::broadcast_shapes({{2, 1}, {3}}), (Shape{2, 3}));
  EXPECT_EQ(Of(fz::broadcast_arrays({Counting({2}), Counting({2, 1})})[1]), (Doubles{0, 0, 1, 1}));
  const fz::Tensors grids = fz::meshgrid({Counting({2}), Counting({3})});
  EXPECT_EQ(Of(grids[0]), (Doubles{0, 1, 0, 1, 0, 1}));
  EXPECT_EQ(ShapeOf(fz::meshgrid({Counting({2}), Counting({3})}, "ij")[0]), (Shape{2, 3}));
  EXPECT_EQ(ShapeOf(fz::atleast_1d(Counting({}))), (Shape{1}));
  EXPECT_EQ(ShapeOf(fz::atleast_2d(Counting({3}))), (Shape{1, 3}));
  EXPECT_EQ(ShapeOf(fz::atleast_3d(Counting({3}))), (Shape{1, 3, 1}));
  EXPECT_EQ(ErrorOf([] {
              fz::broadcast_shapes({{2, 3}, {4}});
            }),
            "[broadcast_shapes] shapes do not broadcast: [(2, 3), (4,)] (3 vs 4).");
  EXPECT_EQ(ErrorOf([] { fz::meshgrid({Counting({2})}, "zz"); }),
            "[meshgrid] indexing must be 'xy' or 'ij', got 'zz'.");
}

TEST(Arrays, PutInAndTakenOut) {
  const fz::Tensor v = Counting({5});
  EXPECT_EQ(Of(fz::append(Vector({1}), Vector({2, 3}))), (Doubles{1, 2, 3}));
  EXPECT_EQ(Of(fz::delete_(v, 1)), (Doubles{0, 2, 3, 4}));
  EXPECT_EQ(Of(fz::delete_(v, fz::Slice({}, {}, -2))), (Doubles{1, 3}));
  EXPECT_EQ(Of(fz::delete_(v, fz::tensor<int64_t>({0, -1}, {2}))), (Doubles{1, 2, 3}));
  EXPECT_EQ(Of(fz::delete_(v, v > 2)), (Doubles{0, 1, 2}));
  EXPECT_EQ(Of(fz::insert(v, 1, 9)), (Doubles{0, 9, 1, 2, 3, 4}));
  EXPECT_EQ(Of(fz::insert(v, fz::Slice(0, 2), Vector({8, 9}))), (Doubles{8, 0, 9, 1, 2, 3, 4}));
  EXPECT_EQ(Of(fz::hsplit(v, {2})[1]), (Doubles{2, 3, 4}));
  EXPECT_EQ(Of(fz::vsplit(Counting({2, 2}), 2)[1]), (Doubles{2, 3}));
  EXPECT_EQ(ShapeOf(fz::dsplit(Counting({1, 2, 4}), 2)[0]), (Shape{1, 2, 2}));
  EXPECT_EQ(Of(fz::nonzero(v > 2)[0]), (Doubles{3, 4}));
  EXPECT_EQ(ErrorOf([&] { fz::delete_(v, 5); }),
            "[delete] place 5 is out of range for an axis of extent 5.");
  EXPECT_EQ(ErrorOf([&] { fz::vsplit(v, 2); }), "[vsplit] needs at least 2 axes, got shape (5,).");
}

TEST(Arrays, OrderAndSums) {
  const fz::Tensor v = Vector({3, 1, 2});
  EXPECT_EQ(Of(fz::sort(v)), (Doubles{1, 2, 3}));
  EXPECT_EQ(Of(fz::sort(v, -1, true)), (Doubles{3, 2, 1}));
  EXPECT_EQ(Of(fz::argsort(v)), (Doubles{1, 2, 0}));
  EXPECT_EQ(Of(fz::searchsorted(Counting({3}), v)), (Doubles{3, 1, 2}));
  EXPECT_EQ(Of(fz::take_along_axis(v, fz::argsort(v))), (Doubles{1, 2, 3}));
  EXPECT_EQ(Of(fz::unique_values(Vector({3, 1, 3}))), (Doubles{1, 3}));
  EXPECT_EQ(Of(fz::bincount(fz::tensor<int64_t>({0, 2, 2}, {3}))), (Doubles{1, 0, 2}));
  EXPECT_EQ(Of(fz::diff(v)), (Doubles{-2, 1}));
  EXPECT_EQ(Of(fz::cumsum(v)), (Doubles{3, 4, 6}));
  EXPECT_EQ(Of(fz::cumprod(Counting({2, 2}), 0)), (Doubles{0, 1, 0, 3}));
  EXPECT_EQ(Of(fz::cumulative_sum(v, 0, {}, true)), (Doubles{0, 3, 4, 6}));
  EXPECT_EQ(Of(fz::cumulative_prod(v)), (Doubles{3, 3, 6}));
  EXPECT_EQ(Of(fz::power(v, 2)), (Doubles{9, 1, 4}));
  EXPECT_EQ(Of(fz::mod(v, 2)), (Doubles{1, 1, 0}));
  EXPECT_EQ(Of(fz::true_divide(v, 2)), (Doubles{1.5, 0.5, 1}));
  EXPECT_EQ(Of(fz::absolute(-v)), (Doubles{3, 1, 2}));
  const fz::Tensor i = fz::arange(3);
  EXPECT_EQ(Of(fz::left_shift(i, 1)), (Doubles{0, 2, 4}));
  EXPECT_EQ(Of(fz::right_shift(i, 1)), (Doubles{0, 0, 1}));
  EXPECT_EQ(Of(fz::invert(i)), Of(~i));
  EXPECT_EQ(Of(fz::positive(+v)), (Doubles{3, 1, 2}));
  EXPECT_EQ(Of(fz::detach(v)), (Doubles{3, 1, 2}));
  EXPECT_TRUE(fz::allclose(v, v + 1e-12));
  EXPECT_FALSE(fz::array_equal(v, v + 1));
  EXPECT_FALSE(fz::array_equal(v, Counting({2})));
  EXPECT_TRUE(fz::array_equal(Vector({NAN}), Vector({NAN}), true));
  EXPECT_EQ(ErrorOf([&] { fz::sort(v, 1); }), "[sort] axis 1 is out of range for rank 1.");
}

TEST(Arrays, Creation) {
  EXPECT_EQ(Of(fz::linspace(0, 1, 3)), (Doubles{0, 0.5, 1}));
  EXPECT_EQ(Of(fz::logspace(0, 2, 3)), (Doubles{1, 10, 100}));
  EXPECT_EQ(Of(fz::geomspace(1, 8, 4)), (Doubles{1, 2, 4, 8}));
  EXPECT_EQ(fz::geomspace(1.0, std::complex<double>(0, 1), 3).dtype(), fz::complex64);
  EXPECT_EQ(Of(fz::eye(2)), (Doubles{1, 0, 0, 1}));
  EXPECT_EQ(Of(fz::identity(2)), (Doubles{1, 0, 0, 1}));
  EXPECT_EQ(Of(fz::tri(2, 3)), (Doubles{1, 0, 0, 1, 1, 0}));
  EXPECT_EQ(Of(fz::arange(1, 7, 2)), (Doubles{1, 3, 5}));
  EXPECT_EQ(Of(fz::zeros_like(Counting({2}))), (Doubles{0, 0}));
  EXPECT_EQ(Of(fz::ones_like(Counting({2}))), (Doubles{1, 1}));
  EXPECT_EQ(Of(fz::full_like(Counting({2}), 3, fz::int64)), (Doubles{3, 3}));
  EXPECT_EQ(ShapeOf(fz::empty({2, 0})), (Shape{2, 0}));
  EXPECT_EQ(ShapeOf(fz::empty_like(Counting({3}))), (Shape{3}));
  EXPECT_EQ(Of(fz::indices({2, 2})), (Doubles{0, 0, 1, 1, 0, 1, 0, 1}));
  EXPECT_EQ(Of(fz::tril_indices(2)[1]), (Doubles{0, 0, 1}));
  EXPECT_EQ(Of(fz::triu_indices(2)[1]), (Doubles{0, 1, 1}));
  EXPECT_EQ(Of(fz::diag_indices(2)[1]), (Doubles{0, 1}));
  EXPECT_EQ(ShapeOf(fz::ix_({Counting({2}), Counting({3})})[1]), (Shape{1, 3}));
  EXPECT_EQ(ErrorOf([] { fz::geomspace(0, 1); }),
            "[geomspace] needs two numbers of one sign, got 0 and 1.");
  EXPECT_EQ(ErrorOf([] { fz::tri(-1); }), "[tri] n must be at least 0, got -1.");
}

TEST(Arrays, MatricesAndProducts) {
  const fz::Tensor m = Counting({2, 2}), v = Vector({1, 2});
  EXPECT_EQ(Of(fz::diagonal(m)), (Doubles{0, 3}));
  EXPECT_EQ(Of(fz::diag(v, 1)), (Doubles{0, 1, 0, 0, 0, 2, 0, 0, 0}));
  EXPECT_EQ(Of(fz::diagflat(v)), (Doubles{1, 0, 0, 2}));
  EXPECT_EQ(Of(fz::tril(m)), (Doubles{0, 0, 2, 3}));
  EXPECT_EQ(Of(fz::triu(m)), (Doubles{0, 1, 0, 3}));
  EXPECT_EQ(Of(fz::dot(m, v)), (Doubles{2, 8}));
  EXPECT_EQ(Of(fz::inner(m, v)), (Doubles{2, 8}));
  EXPECT_EQ(Of(fz::outer(v, v)), (Doubles{1, 2, 2, 4}));
  EXPECT_EQ(Of(fz::vdot(m, m)), (Doubles{14}));
  EXPECT_EQ(Of(fz::vecdot(m, v)), (Doubles{2, 8}));
  EXPECT_EQ(Of(fz::matvec(m, v)), (Doubles{2, 8}));
  EXPECT_EQ(Of(fz::vecmat(v, m)), (Doubles{4, 7}));
  EXPECT_EQ(Of(fz::kron(v, v)), (Doubles{1, 2, 2, 4}));
  EXPECT_EQ(Of(fz::cross(Vector({1, 0, 0}), Vector({0, 1, 0}))), (Doubles{0, 0, 1}));
  EXPECT_EQ(Of(fz::tensordot(m, m, 1)), (Doubles{2, 3, 6, 11}));
  EXPECT_EQ(Of(fz::tensordot(m, m, {0, 1}, {0, 1})), (Doubles{14}));
  EXPECT_EQ(Of(fz::vander(v, 3)), (Doubles{1, 1, 1, 4, 2, 1}));
  EXPECT_EQ(ErrorOf([&] { fz::diagonal(v); }),
            "[diagonal] needs at least two axes, got shape (2,).");
  EXPECT_EQ(ErrorOf([&] { fz::vecdot(v, Counting({3})); }),
            "[vecdot] axis -1 has 2 elements in (2,) and 3 in (3,).");
  const auto slope = fz::grad([&](const fz::Tensor& x) { return fz::sum(fz::kron(x, v)); })(v);
  EXPECT_EQ(Of(slope), (Doubles{3, 3}));
}

TEST(Arrays, LinearAlgebra) {
  namespace la = fz::linalg;
  const fz::Tensor m = fz::tensor<double>({2, 0, 0, 8}, {2, 2}), v = Vector({3, 4});
  EXPECT_EQ(Of(la::norm(v)), (Doubles{5}));
  EXPECT_EQ(Of(la::norm(m, "nuc")), (Doubles{10}));
  EXPECT_EQ(Of(la::norm(m, 1, {{0}})), (Doubles{2, 8}));
  EXPECT_EQ(Of(la::vector_norm(v, {}, false, INFINITY)), (Doubles{4}));
  EXPECT_EQ(Of(la::matrix_norm(m, false, 2)), (Doubles{8}));
  EXPECT_EQ(Of(la::cond(m)), (Doubles{4}));
  EXPECT_EQ(Of(la::cond(fz::zeros({2, 2}), 1)), (Doubles{INFINITY}));
  EXPECT_EQ(Of(la::matrix_rank(m)), (Doubles{2}));
  EXPECT_EQ(Of(la::trace(m)), (Doubles{10}));
  EXPECT_EQ(Of(la::diagonal(Counting({1, 2, 2}))), (Doubles{0, 3}));
  EXPECT_EQ(Of(la::expm(fz::zeros({2, 2}))), (Doubles{1, 0, 0, 1}));
  EXPECT_TRUE(fz::allclose(la::cholesky_solve(v, la::cholesky(m)), la::solve(m, v)));
  const auto fit = la::lstsq(m, v);
  EXPECT_TRUE(fz::allclose(fit.x, Vector({1.5, 0.5})));
  EXPECT_EQ(fit.rank, 2);
  EXPECT_EQ(ErrorOf([&] { la::norm(m, "max"); }),
            "[norm] ord must be 'fro', 'nuc', 1, -1, 2, -2, inf or -inf, got 'max'.");
  EXPECT_EQ(ErrorOf([&] {
              la::expm(Counting({2, 3}));
            }),
            "[expm] needs square matrices, got shape (2, 3).");
  EXPECT_EQ(Of(fz::special::expit(Vector({0}))), (Doubles{0.5}));
  EXPECT_EQ(Of(fz::special::psi(Vector({1}))), Of(fz::special::digamma(Vector({1}))));
  EXPECT_EQ(Of(fz::nn::relu(Vector({-1, 2}))), (Doubles{0, 2}));
}

}  // namespace
