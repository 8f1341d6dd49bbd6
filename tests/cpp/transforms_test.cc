// Transforms and control flow of frazil.h.
#include <gtest/gtest.h>

#include <cmath>
#include <thread>

#include "bindings/cpp/frazil.h"
#include "tests/cpp/limit.h"

namespace frazil {
namespace {

Tensor Of(const std::vector<double>& values) {
  const auto n = static_cast<int64_t>(values.size());
  return tensor(values, {n});
}
void ExpectNear(const Tensor& got, const std::vector<double>& want) {
  ASSERT_EQ(got.size(), static_cast<int64_t>(want.size()));
  const Tensor flat = reshape(got, {got.size()});
  for (size_t i = 0; i < want.size(); ++i)
    EXPECT_NEAR(item(flat(static_cast<int64_t>(i))), want[i], 1e-12) << i;
}

TEST(Transforms, VmapRunsForEveryExample) {
  const Tensor x = reshape(Of({1, 2, 3, 4, 5, 6}), {2, 3});
  ExpectNear(vmap([](const Tensor& v) { return sum(v * v); })(x), {14, 77});
  const auto scaled = vmap([](const Tensor& v, const Tensor& s) { return v * s; },
                           {.in_axes = {1, std::nullopt}, .out_axis = 1});
  ExpectNear(scaled(x, Of({10, 100})), {10, 20, 30, 400, 500, 600});
  const auto pairs = vmap([](const std::pair<Tensor, Tensor>& p) {
    return std::pair(p.first + p.second, p.first * p.second);
  });
  const auto [sums, products] = pairs(std::pair(Of({1, 2}), Of({3, 4})));
  ExpectNear(sums, {4, 6});
  ExpectNear(products, {3, 8});
}

TEST(Transforms, BatchedTensorsAreNotLookedAt) {
  const auto look = vmap([](const Tensor& v) { return item(v) > 0 ? v : -v; });
  EXPECT_THROW(look(Of({1, -1})), Error);
}

TEST(Transforms, ForwardAndReverseMode) {
  const auto f = [](const Tensor& x) { return sin(x) * x; };
  const Tensor x = Of({0.5, 2});
  const auto [value, slope] = jvp(f, x, Of({1, 10}));
  ExpectNear(value, {std::sin(0.5) * 0.5, std::sin(2) * 2});
  const std::vector<double> d = {std::cos(0.5) * 0.5 + std::sin(0.5),
                                 std::cos(2) * 2 + std::sin(2)};
  ExpectNear(slope, {d[0], 10 * d[1]});
  const auto pull = vjp(f, x).second;
  for (int i = 0; i < 2; ++i) ExpectNear(pull(Of({1, 2})), {d[0], 2 * d[1]});
  ExpectNear(jacfwd(f)(x), {d[0], 0, 0, d[1]});
  ExpectNear(jacrev(f)(x), {d[0], 0, 0, d[1]});
  ExpectNear(hessian([](const Tensor& v) { return sum(v * v * v); })(x), {3, 0, 0, 12});
  ExpectNear(grad([](const Tensor& v) { return sum(v * stop_gradient(v)); })(x), {0.5, 2});
  EXPECT_THROW(jvp(f, x, Of({1})), Error);
}

TEST(Transforms, ArgumentsByPosition) {
  const auto f = [](const Tensor& x, double scale, const std::vector<Tensor>& ws, const Tensor& y) {
    return sum(x * ws[0] * y + y * y * ws[1]) * scale;
  };
  const Tensor x = Of({1, 2}), y = Of({3, 4});
  const std::vector<Tensor> ws = {Of({5, 6}), Of({7, 8})};
  ExpectNear(grad(f)(x, 2.0, ws, y), {30, 48});
  ExpectNear(grad<3>(f)(x, 2.0, ws, y), {94, 152});
  const auto [value, grads] = value_and_grad<3, 2>(f)(x, 2.0, ws, y);
  ExpectNear(value, {2 * (15 + 63 + 48 + 128)});
  ExpectNear(std::get<0>(grads), {94, 152});
  ExpectNear(std::get<1>(grads)[0], {6, 16});
  ExpectNear(std::get<1>(grads)[1], {18, 32});
  const auto g = [](const Tensor& a, const Tensor& b) { return a * a * b; };
  const auto [by_a, by_b] = jacfwd<0, 1>(g)(x, y);
  ExpectNear(by_a, {6, 0, 0, 16});
  ExpectNear(by_b, {1, 0, 0, 4});
  ExpectNear(jacrev<1>(g)(x, y), {1, 0, 0, 4});
  ExpectNear(jacrev(g)(x, y), {6, 0, 0, 16});
  const auto total = [&](const Tensor& a, const Tensor& b) { return sum(g(a, b * b)); };
  const auto second = hessian<0, 1>(total)(x, y);
  ExpectNear(std::get<0>(std::get<0>(second)), {18, 0, 0, 32});
  ExpectNear(std::get<1>(std::get<0>(second)), {12, 0, 0, 32});
  ExpectNear(std::get<0>(std::get<1>(second)), {12, 0, 0, 32});
  ExpectNear(std::get<1>(std::get<1>(second)), {2, 0, 0, 8});
  ExpectNear(hessian<1>(total)(x, y), {2, 0, 0, 8});
}

TEST(Transforms, TangentsGoToOtherThreads) {
  const auto elsewhere = [](const auto& f) {
    std::thread thread(f);
    thread.join();
  };
  const auto f = [&](const Tensor& x) {
    Tensor y;
    elsewhere([&] { y = sin(x) * x; });
    return y;
  };
  const Tensor x = Of({0.5, 2}), d = Of({1, 10});
  ExpectNear(jvp(f, x, d).second,
             {std::cos(0.5) * 0.5 + std::sin(0.5), 10 * (std::cos(2) * 2 + std::sin(2))});
  // Scopes of that thread lie inside of the one that the value comes from.
  const auto slopes = [&](const Tensor& v) {
    Tensor slope;
    elsewhere([&] { slope = grad([](const Tensor& u) { return sum(u * u * u); })(v); });
    return slope;
  };
  ExpectNear(jvp(slopes, x, d).second, {3, 120});
  const auto twice = [&](const Tensor& v) {
    Tensor slope;
    elsewhere([&] {
      slope = jvp([&](const Tensor& u) { return u * u * v; }, v, v).second;  // 2 v^3
    });
    return slope;
  };
  ExpectNear(jvp(twice, x, d).second, {6 * 0.25, 6 * 4 * 10});
  EXPECT_FALSE(autograd::InForwardMode());
}

TEST(Transforms, ControlFlow) {
  const auto up = [](const Tensor& v) { return v + 1.0; };
  const auto down = [](const Tensor& v) { return v - 1.0; };
  const auto choose = [&](const Tensor& v) { return cond(v > 0.0, up, down, v); };
  ExpectNear(choose(Of({2})(0)), {3});
  ExpectNear(vmap(choose)(Of({2, -2})), {3, -3});
  const auto doubled = [](const Tensor& v) {
    return while_loop([](const Tensor& s) { return s < 100.0; },
                      [](const Tensor& s) { return s * 2.0; }, v);
  };
  ExpectNear(vmap(doubled)(Of({1, 7, 300})), {128, 112, 300});
  ExpectNear(fori_loop(
                 0, 3, [](int64_t i, const Tensor& s) { return s * double(i + 1); }, Of({1})),
             {6});
  const auto [last, sums] = scan(
      [](const Tensor& c, const Tensor& x) {
        const Tensor next = c + x;
        return std::pair(next, next);
      },
      Of({0})(0), Of({1, 2, 3}));
  ExpectNear(last, {6});
  ExpectNear(sums, {1, 3, 6});
  EXPECT_THROW(cond(Of({1, 2}) > 0.0, up, down, Of({1})), Error);
}

TEST(Transforms, Switch) {
  const std::tuple branches([](const Tensor& v) { return v; },
                            [](const Tensor& v) { return v * 10.0; },
                            [](const Tensor& v) { return -v; });
  const auto choose = [&](const Tensor& at, const Tensor& v) {
    return switch_case(at, branches, v);
  };
  const Tensor at = tensor<int64_t>({-3, 0, 1, 2, 7}, {5});
  ExpectNear(choose(at(2), Of({5})), {50});
  ExpectNear(choose(at(4), Of({5})), {-5});
  ExpectNear(vmap(choose)(at, Of({1, 2, 3, 4, 5})), {1, 2, 30, -4, -5});
  EXPECT_THROW(choose(Of({1})(0), Of({5})), Error);
  EXPECT_THROW(choose(at, Of({5})), Error);
}

TEST(Transforms, LoopsOverNestsWithCheckpoints) {
  using Both = std::pair<Tensor, Tensor>;
  const Tensor a = Of({0.5, 1, 2, 3, 5}), w = Of({0.3});
  int runs = 0;
  const auto loss = [&](const LoopOptions& options) {
    return [&, options](const Tensor& v) {
      const auto step = [&](const Tensor& carry, const Both& x) {
        ++runs;
        const Tensor next = sin(carry * x.first + x.second);
        return std::pair(next, Both(next * x.first, next));
      };
      const auto [last, ys] = scan(step, v, Both(a, Of({1, 2, 3, 4, 5})), options);
      EXPECT_EQ(ys.first.dims(), Dims({5, 1}));
      return sum(last) + sum(ys.first * ys.second);
    };
  };
  for (const bool reverse : {false, true}) {
    runs = 0;
    const Tensor want = grad(loss({.reverse = reverse}))(w);
    EXPECT_EQ(runs, 5);
    for (const int64_t every : {int64_t{1}, int64_t{2}, kSqrtSteps}) {
      runs = 0;
      ExpectNear(grad(loss({.reverse = reverse, .checkpoint = every}))(w), {item(want)});
      EXPECT_EQ(runs, 10);
    }
  }
  const auto power = [](const LoopOptions& options) {
    return [options](const Tensor& v) {
      const auto body = [v](int64_t, const Tensor& s) { return s * v; };
      return sum(fori_loop(0, 7, body, v, options));
    };
  };
  ExpectNear(grad(power({}))(Of({2})), {8 * 128});
  ExpectNear(grad(power({.checkpoint = kSqrtSteps}))(Of({2})), {8 * 128});
  EXPECT_THROW(power({.checkpoint = -2})(Of({2})), Error);
  ExpectNear(map([](const Both& x) { return x.first * x.second; }, Both(a, a)),
             {0.25, 1, 4, 9, 25});
  const auto add = [](const Tensor& x, const Tensor& y) { return x + y; };
  ExpectNear(associative_scan(add, a), {0.5, 1.5, 3.5, 6.5, 11.5});
  ExpectNear(associative_scan(add, a, {.reverse = true}), {11.5, 11, 10, 8, 5});
  ExpectNear(associative_scan(add, reshape(a, {1, 5}), {}, 1), {0.5, 1.5, 3.5, 6.5, 11.5});
  EXPECT_THROW(associative_scan(add, a(0)), Error);
}

TEST(Transforms, ProductsWithDerivatives) {
  const auto cubes = [](const Tensor& v) { return sum(v * v * v); };
  ExpectNear(hvp(cubes, Of({1, 2}), Of({1, 10})), {6, 120});
  int runs = 0;
  const auto [value, push] = linearize(
      [&](const Tensor& v) {
        ++runs;
        return sin(v);
      },
      Of({0.5, 2}));
  ExpectNear(value, {std::sin(0.5), std::sin(2)});
  for (int i = 1; i < 3; ++i)
    ExpectNear(push(Of({1, double(i)})), {std::cos(0.5), i * std::cos(2)});
  EXPECT_EQ(runs, 1);
}

TEST(Transforms, CheckpointComputesAgain) {
  const Tensor x = Of({0.5, 1, 2}), w = Of({2, 3, 4});
  int runs = 0;
  const auto layer = [&](const Tensor& v, const Tensor& u) {
    ++runs;
    return std::pair(sin(v * u), cos(v) * w);
  };
  const auto loss = [&](const auto& f) {
    return [&](const Tensor& v) {
      const auto [s, c] = f(v, w);
      return sum(s + c);
    };
  };
  const Tensor want = grad(loss(layer))(x);
  EXPECT_EQ(runs, 1);
  const auto again = checkpoint(layer);
  EXPECT_EQ(item(max(abs(grad(loss(again))(x) - want))), 0);
  EXPECT_EQ(runs, 3);
  // What it reads besides its arguments has a gradient, too; and all of it in a vmap.
  const auto shifted = [&](const Tensor& b) {
    return sum(vmap(checkpoint([&](const Tensor& v) { return v * b * b; }))(x));
  };
  ExpectNear(grad(shifted)(Of({3})), {2 * 3 * 3.5});
}

TEST(Transforms, InTracedFunctions) {
  auto step = jit::trace(
      [](const Tensor& x) { return vmap([](const Tensor& v) { return sin(v) * v; })(x); });
  Tensor x = Of({1, 2});
  for (int i = 0; i < 3; ++i) ExpectNear(step(x), {std::sin(1), std::sin(2) * 2});
}

}  // namespace
}  // namespace frazil
