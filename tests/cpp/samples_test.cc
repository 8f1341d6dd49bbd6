// Sets, choices, statistics, functions on a line, einsum and random numbers in C++.
#include <gtest/gtest.h>

#include <cmath>

#include "bindings/cpp/frazil.h"

namespace {

namespace fz = frazil;
using Doubles = std::vector<double>;
using Shape = std::vector<int64_t>;

Shape ShapeOf(const fz::Tensor& t) { return {t.dims().begin(), t.dims().end()}; }

Doubles Of(const fz::Tensor& t) { return fz::to_vector<double>(fz::astype(t, fz::float64)); }

fz::Tensor Vector(const Doubles& values) {
  return fz::tensor<double>(values, {static_cast<int64_t>(values.size())});
}

fz::Tensor Integers(const std::vector<int64_t>& values) {
  return fz::tensor<int64_t>(values, {static_cast<int64_t>(values.size())});
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

TEST(Samples, Sets) {
  const fz::Tensor a = Vector({3, 1, 3}), b = Vector({3, 7});
  EXPECT_EQ(Of(fz::unique(a)[0]), (Doubles{1, 3}));
  EXPECT_EQ(Of(fz::unique(a, true, true, true)[3]), (Doubles{1, 2}));
  EXPECT_EQ(Of(fz::unique_all(a)[1]), (Doubles{1, 0}));
  EXPECT_EQ(Of(fz::unique_counts(a).counts), (Doubles{1, 2}));
  EXPECT_EQ(Of(fz::unique_inverse(a).inverse_indices), (Doubles{1, 0, 1}));
  EXPECT_EQ(Of(fz::isin(a, b)), (Doubles{1, 0, 1}));
  EXPECT_EQ(Of(fz::union1d(a, b)), (Doubles{1, 3, 7}));
  EXPECT_EQ(Of(fz::intersect1d(a, b)[0]), (Doubles{3}));
  EXPECT_EQ(Of(fz::intersect1d(a, b, true)[2]), (Doubles{0}));
  EXPECT_EQ(Of(fz::setdiff1d(a, b)), (Doubles{1}));
  EXPECT_EQ(Of(fz::setxor1d(a, b)), (Doubles{1, 7}));
  EXPECT_EQ(ErrorOf([&] { fz::unique(a, false, false, false, 2); }),
            "[unique] axis 2 is out of range for rank 1.");
}

TEST(Samples, Choices) {
  const fz::Tensor v = Vector({0, 5, 2, 0});
  EXPECT_EQ(Of(fz::select({v > 4, v > 1}, {v, -1.0}, 9)), (Doubles{9, 5, -1, 9}));
  EXPECT_EQ(Of(fz::choose(Integers({1, 0}), {7, 8})), (Doubles{8, 7}));
  EXPECT_EQ(Of(fz::choose(Integers({3, -1}), {7, 8}, "wrap")), (Doubles{8, 8}));
  EXPECT_EQ(Of(fz::compress(v > 1, v)), (Doubles{5, 2}));
  EXPECT_EQ(Of(fz::extract(v > 1, v)), (Doubles{5, 2}));
  EXPECT_EQ(Of(fz::flatnonzero(v)), (Doubles{1, 2}));
  EXPECT_EQ(ShapeOf(fz::argwhere(v)), (Shape{2, 1}));
  EXPECT_EQ(Of(fz::trim_zeros(v)), (Doubles{5, 2}));
  EXPECT_EQ(Of(fz::trim_zeros(v, "b")), (Doubles{0, 5, 2}));
  EXPECT_EQ(Of(fz::lexsort({Integers({2, 1, 0}), Integers({1, 0, 1})})), (Doubles{1, 2, 0}));
  EXPECT_EQ(Of(fz::partition(v, 1)), (Doubles{0, 0, 5, 2}));
  EXPECT_EQ(Of(fz::argpartition(v, {0, 1})), (Doubles{0, 3, 2, 1}));
  EXPECT_EQ(Of(fz::topk(v, 2)[0]), (Doubles{5, 2}));
  EXPECT_EQ(Of(fz::topk(v, 1, -1, false)[1]), (Doubles{0}));
  EXPECT_EQ(Of(fz::unravel_index(Integers({5}), {2, 3})[1]), (Doubles{2}));
  EXPECT_EQ(Of(fz::ravel_multi_index({Integers({1}), Integers({2})}, {2, 3})), (Doubles{5}));
  EXPECT_EQ(ErrorOf([&] { fz::select({v > 1}, {1, 2}); }), "[select] 1 conditions for 2 choices.");
  EXPECT_EQ(ErrorOf([] {
              fz::choose(Integers({5}), {1, 2});
            }),
            "[choose] a place is not one of 2 choices.");
  EXPECT_EQ(ErrorOf([&] { fz::topk(v, 9); }), "[topk] k 9 is more than the axis of extent 4 has.");
  EXPECT_EQ(ErrorOf([] {
              fz::unravel_index(Integers({6}), {2, 3});
            }),
            "[unravel_index] an index is out of range for shape (2, 3).");
}

TEST(Samples, Statistics) {
  const fz::Tensor v = Vector({1, 4}), w = Vector({2, 1});
  EXPECT_EQ(Of(fz::average(v)), (Doubles{2.5}));
  EXPECT_EQ(Of(fz::average(v, {}, &w)), (Doubles{2}));
  EXPECT_EQ(Of(fz::cov(v)), (Doubles{4.5}));
  EXPECT_TRUE(fz::allclose(fz::corrcoef(v, &w), fz::tensor<double>({1, -1, -1, 1}, {2, 2})));
  EXPECT_EQ(Of(fz::digitize(v, Vector({0, 2, 3}))), (Doubles{1, 3}));
  EXPECT_EQ(Of(fz::histogram_bin_edges(v, 3)), (Doubles{1, 2, 3, 4}));
  EXPECT_EQ(Of(fz::histogram(Vector({1, 2, 1}), Vector({0, 1, 2, 3}))[0]), (Doubles{0, 2, 1}));
  EXPECT_EQ(Of(fz::histogram(v, 2, {{0, 8}}, true)[0]), (Doubles{0.125, 0.125}));
  EXPECT_EQ(Of(fz::histogram2d(v, v, 2, 2)[0]), (Doubles{1, 0, 0, 1}));
  EXPECT_EQ(ErrorOf([&] { fz::histogram(v, 0); }), "[histogram] bins must be at least 1, got 0.");
  EXPECT_EQ(ErrorOf([&] {
              fz::digitize(v, Vector({1, 3, 2}));
            }),
            "[digitize] bins must rise or fall all the way.");
}

TEST(Samples, OnALine) {
  const fz::Tensor v = Vector({1, 2, 4});
  const fz::Tensor x = Vector({0, 1, 3}), end = Vector({9});
  EXPECT_EQ(Of(fz::ediff1d(v, &end)), (Doubles{1, 2, 9}));
  EXPECT_EQ(Of(fz::gradient(v)[0]), (Doubles{1, 1.5, 2}));
  EXPECT_EQ(Of(fz::gradient(v, {x})[0]), (Doubles{1, 1, 1}));
  EXPECT_EQ(Of(fz::gradient(v, {1.0}, {}, 2)[0]), (Doubles{0.5, 1.5, 2.5}));
  EXPECT_EQ(Of(fz::trapezoid(v)), (Doubles{4.5}));
  EXPECT_EQ(Of(fz::trapezoid(v, &x)), (Doubles{7.5}));
  EXPECT_EQ(Of(fz::interp(Vector({2, 9}), x, v, {}, -1.0)), (Doubles{3, -1}));
  EXPECT_EQ(Of(fz::convolve(v, Vector({1, 1}))), (Doubles{1, 3, 6, 4}));
  EXPECT_EQ(Of(fz::correlate(v, Vector({1, 1}))), (Doubles{3, 6}));
  EXPECT_EQ(Of(fz::unwrap(Vector({0, 3, 6}), {}, -1, 4)), (Doubles{0, -1, -2}));
  EXPECT_EQ(Of(fz::polyval(Vector({3, 0, 1}), Vector({5}))), (Doubles{76}));
  EXPECT_EQ(Of(fz::polyadd(v, end)), (Doubles{1, 2, 13}));
  EXPECT_EQ(Of(fz::polysub(v, end)), (Doubles{1, 2, -5}));
  EXPECT_EQ(Of(fz::polymul(v, end)), (Doubles{9, 18, 36}));
  EXPECT_EQ(Of(fz::polyder(v)), (Doubles{2, 2}));
  EXPECT_EQ(Of(fz::polyint(Vector({2, 2}), 1, 4)), (Doubles{1, 2, 4}));
  EXPECT_TRUE(fz::allclose(fz::polyfit(x, Vector({1, 3, 13}), 2), Vector({1, 1, 1})));
  EXPECT_EQ(ErrorOf([&] { fz::convolve(v, v, "all"); }),
            "[convolve] mode must be 'full', 'same' or 'valid', got 'all'.");
  EXPECT_EQ(ErrorOf([] { fz::gradient(Vector({1})); }),
            "[gradient] needs 2 points along axis 0, got 1.");
}

TEST(Samples, Einsum) {
  const fz::Tensor m = fz::tensor<double>({0, 1, 2, 3}, {2, 2}), v = Vector({1, 2});
  EXPECT_EQ(Of(fz::einsum("ij,jk->ik", {m, m})), (Doubles{2, 3, 6, 11}));
  EXPECT_EQ(Of(fz::einsum("ij,jk,k", {m, m, v})), Of(fz::matmul(fz::matmul(m, m), v)));
  EXPECT_EQ(Of(fz::einsum("ij,jk,k", {m, m, v}, fz::ops::EinsumPath({{1, 2}, {0, 1}}))),
            Of(fz::matmul(m, fz::matmul(m, v))));
  EXPECT_EQ(Of(fz::einsum("ii", {m})), (Doubles{3}));
  EXPECT_EQ(Of(fz::einsum("...i,i->...", {m, v})), (Doubles{2, 8}));
  EXPECT_EQ(Of(fz::einsum("i,j->ij", {v, v})), (Doubles{1, 2, 2, 4}));
  EXPECT_EQ(ErrorOf([&] { fz::einsum("ij,jk", {m}); }),
            "[einsum] 'ij,jk' is of 2 operands, 1 are given.");
  EXPECT_EQ(ErrorOf([&] { fz::einsum("ij->k", {m}); }),
            "[einsum] the result has 'k', which no operand has.");
  const auto slope = fz::grad([&](const fz::Tensor& x) { return fz::einsum("i,i", {x, v}); })(v);
  EXPECT_EQ(Of(slope), (Doubles{1, 2}));
}

TEST(Samples, RandomNumbersOfAStream) {
  namespace random = fz::random;
  random::seed(3);
  random::Generator g(3);
  EXPECT_EQ(Of(random::uniform({4})), Of(g.uniform({4})));
  EXPECT_EQ(Of(random::normal({4})), Of(g.normal({4})));
  EXPECT_EQ(Of(random::integers(0, 9, {4})), Of(g.integers(0, 9, {4})));
  EXPECT_EQ(Of(random::gamma(2.0, 1.5, {.shape = {{3}}})), Of(g.gamma(2.0, 1.5, {.shape = {{3}}})));
  const fz::Tensor state = g.get_state();
  const Doubles drawn = Of(g.normal({4}));
  g.set_state(state);
  EXPECT_EQ(Of(g.normal({4})), drawn);
  random::set_state(state);
  EXPECT_EQ(Of(random::normal({4})), drawn);
  EXPECT_EQ(Of(random::get_state()), Of(g.get_state()));
  EXPECT_THROW(g.set_state(fz::ones({2})), fz::Error);
  auto f = fz::jit::trace([](const fz::Tensor& x) { return x + random::uniform({2}); });
  random::seed(1);
  std::vector<Doubles> got, want;
  for (int i = 0; i < 3; ++i) got.push_back(Of(f(fz::zeros({2}))));
  random::seed(1);
  for (int i = 0; i < 3; ++i) want.push_back(Of(random::uniform({2})));
  EXPECT_EQ(got, want);
}

// Means of many numbers against those of the distributions.
TEST(Samples, Distributions) {
  namespace random = fz::random;
  random::seed(0);
  const random::DrawOptions many = {.shape = {{20000}}, .dtype = fz::float64};
  const auto mean = [](const fz::Tensor& t) {
    return fz::item(fz::mean(fz::astype(t, fz::float64)));
  };
  const random::DrawOptions counts = {.shape = {{20000}}};
  EXPECT_NEAR(mean(random::bernoulli(0.3, counts)), 0.3, 0.02);
  EXPECT_NEAR(mean(random::beta(2.0, 3.0, many)), 0.4, 0.01);
  EXPECT_NEAR(mean(random::binomial(10, 0.3, counts)), 3, 0.06);
  EXPECT_NEAR(mean(random::binomial(100, 0.3, counts)), 30, 0.2);
  EXPECT_NEAR(mean(random::chisquare(3.0, many)), 3, 0.1);
  EXPECT_NEAR(mean(random::dirichlet(Vector({1, 1}), many)), 0.5, 1e-9);
  EXPECT_NEAR(mean(random::exponential(2.0, many)), 2, 0.08);
  EXPECT_NEAR(mean(random::f(5.0, 10.0, many)), 1.25, 0.08);
  EXPECT_NEAR(mean(random::gamma(2.0, 3.0, many)), 6, 0.15);
  EXPECT_NEAR(mean(random::geometric(0.25, counts)), 4, 0.12);
  EXPECT_NEAR(mean(random::gumbel(0.0, 1.0, many)), 0.5772, 0.05);
  EXPECT_NEAR(mean(random::laplace(1.0, 1.0, many)), 1, 0.05);
  EXPECT_NEAR(mean(random::logistic(1.0, 1.0, many)), 1, 0.07);
  EXPECT_NEAR(mean(random::lognormal(0.0, 0.5, many)), std::exp(0.125), 0.03);
  EXPECT_NEAR(mean(random::negative_binomial(3.0, 0.5, counts)), 3, 0.1);
  EXPECT_NEAR(mean(random::pareto(4.0, many)), 1.0 / 3, 0.03);
  EXPECT_NEAR(mean(random::poisson(4.0, counts)), 4, 0.08);
  EXPECT_NEAR(mean(random::poisson(40.0, counts)), 40, 0.25);
  EXPECT_NEAR(mean(random::rayleigh(1.0, many)), std::sqrt(M_PI / 2), 0.03);
  EXPECT_NEAR(mean(fz::abs(random::standard_cauchy(many)) > 1), 0.5, 0.02);
  EXPECT_NEAR(mean(random::standard_t(9.0, many)), 0, 0.05);
  EXPECT_NEAR(mean(random::triangular(0.0, 1.0, 2.0, many)), 1, 0.02);
  EXPECT_NEAR(mean(random::truncated_normal(-1.0, 1.0, many)), 0, 0.03);
  EXPECT_NEAR(mean(random::wald(2.0, 3.0, many)), 2, 0.08);
  EXPECT_NEAR(mean(random::weibull(1.0, many)), 1, 0.04);
  EXPECT_NEAR(mean(random::categorical(Vector({0, 0}), Shape{20000})), 0.5, 0.02);
  EXPECT_EQ(Of(fz::sum(random::multinomial(9, Vector({0.5, 0.5})))), (Doubles{9}));
  EXPECT_EQ(ShapeOf(random::multivariate_normal(fz::zeros({2}), fz::eye(2), {.shape = {{5}}})),
            (Shape{5, 2}));
  EXPECT_EQ(Of(fz::sort(random::permutation(fz::arange(5)))), (Doubles{0, 1, 2, 3, 4}));
  EXPECT_EQ(ShapeOf(random::choice(fz::arange(5), {2, 2})), (Shape{2, 2}));
  const fz::Tensor sure = Vector({0, 1, 0});
  EXPECT_EQ(Of(random::choice(fz::arange(3), {2}, true, &sure)), (Doubles{1, 1}));
  EXPECT_EQ(ErrorOf([] { random::gamma(-1.0); }),
            "[random.gamma] a parameter must be positive, got -1.0.");
  EXPECT_EQ(ErrorOf([] { random::choice(fz::arange(2), {3}, false); }),
            "[random.choice] 3 of 2 elements need replacement.");
}

}  // namespace
