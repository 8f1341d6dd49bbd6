// The C++ interface: ops, gradients, traced callables against untraced ones.
#include <atomic>
#include <cmath>
#include <memory>
#include <thread>

#include "bindings/cpp/frazil.h"
#include "gtest/gtest.h"

namespace fz = frazil;

namespace {

using Floats = std::vector<float>;

TEST(Cpp, OpsAndErrors) {
  const auto a = fz::tensor<float>({1, 2, 3}, {3}), b = fz::tensor<float>({4, 5, 6}, {3});
  EXPECT_EQ(fz::to_vector<float>(a + b), (Floats{5, 7, 9}));
  EXPECT_EQ(fz::to_vector<float>(a * b), (Floats{4, 10, 18}));
  EXPECT_EQ(fz::to_vector<float>(2.0 - a), (Floats{1, 0, -1}));
  try {
    a + fz::ones({4});
    FAIL();
  } catch (const fz::Error& e) {
    EXPECT_STREQ(e.what(), "[add] shapes do not broadcast: [3] and [4] (3 vs 4).");
    EXPECT_EQ(e.kind(), fz::ErrorKind::kValue);
  }
  try {
    fz::mse_loss(a, fz::ones({4}));  // fails in a subtraction inside
    FAIL();
  } catch (const fz::Error& e) {
    EXPECT_STREQ(e.what(), "[mse_loss] shapes do not broadcast: [3] and [4] (3 vs 4).");
  }
}

TEST(Cpp, LinearAlgebra) {
  const auto a = fz::tensor<float>({2, 1, 1, 3}, {2, 2}), b = fz::tensor<float>({3, 4}, {2});
  EXPECT_EQ(fz::to_vector<float>(fz::solve(a, b)), (Floats{1, 1}));
  EXPECT_EQ(fz::item(fz::det(a)), 5);
  const auto [w, v] = fz::eigh(a);
  const auto back = fz::matmul(v * w, fz::matrix_transpose(v));
  EXPECT_NEAR(fz::to_vector<float>(back)[1], 1, 1e-6);
  EXPECT_EQ(fz::to_vector<float>(fz::slogdet(fz::zeros({2, 2})).sign), (Floats{0}));
  try {
    fz::inv(fz::ones({2, 2}));
    FAIL();
  } catch (const fz::Error& e) {
    EXPECT_STREQ(e.what(), "[inv] singular: f32[2,2].");
    EXPECT_EQ(e.kind(), fz::ErrorKind::kLinAlg);
  }
}

TEST(Cpp, CompositesTakeNumbersAndDefaults) {
  const auto a = fz::tensor<float>({3, -8, 0}, {3}), b = fz::tensor<float>({4, 6, NAN}, {3});
  EXPECT_EQ(fz::to_vector<float>(fz::hypot(a, fz::nan_to_num(b))), (Floats{5, 10, 0}));
  EXPECT_EQ(fz::to_vector<float>(fz::clip(a, -1.0, fz::full({}, fz::Scalar::Int(2)))),
            (Floats{2, -1, 0}));
  EXPECT_EQ(fz::to_vector<float>(fz::copysign(a, -1)), (Floats{-3, -8, -0.0f}));
  EXPECT_EQ(fz::item(fz::all(fz::isclose(b, b, 0, 0, true))), 1);
  EXPECT_EQ(fz::item(fz::std(fz::tensor<float>({1, 3}, {2}))), 1);
  EXPECT_EQ(fz::item(fz::gelu(fz::zeros({1}), "tanh")), 0);
}

TEST(Cpp, TextbookGradient) {
  const auto x = fz::tensor<float>({.8f, .6f, .2f, 1.8f, 1.3f, 1.1f}, {2, 3});
  const auto y = fz::tensor<float>({.11f, 3.3f, 1.1f, 1.1f, .2f, 1.4f, 1.1f, 2.2f, .3f}, {3, 3});
  const auto g = fz::grad([](const fz::Tensor& x, const fz::Tensor& y) {
    return fz::sum(fz::matmul(x * 1.0, y));
  })(x, y);
  const Floats want = {4.51f, 2.7f, 3.6f, 4.51f, 2.7f, 3.6f};
  const Floats got = fz::to_vector<float>(g);
  for (size_t i = 0; i < want.size(); ++i) EXPECT_NEAR(got[i], want[i], 1e-5);
}

TEST(Cpp, SecondDerivative) {
  const auto f = [](const fz::Tensor& x) { return fz::sum(x * x * x); };
  const auto first = fz::grad(f);
  const auto second = fz::grad([&](const fz::Tensor& x) { return fz::sum(first(x)); });
  EXPECT_EQ(fz::to_vector<float>(second(fz::tensor<float>({1, 2, 3}, {3}))), (Floats{6, 12, 18}));
}

TEST(Cpp, TracedEqualsEager) {
  const auto body = [](const fz::Tensor& x, const fz::Tensor& w) {
    return fz::softmax(fz::relu(fz::matmul(x, w) + 1.0) * fz::exp(x));
  };
  auto traced = fz::jit::trace(body);
  for (int i = 0; i < 6; ++i) {
    const auto x = fz::arange(16, fz::DType::kF32) * 0.1 + double(i);
    const auto m = fz::reshape(x, {4, 4});
    EXPECT_EQ(fz::to_vector<float>(traced(m, m)), fz::to_vector<float>(body(m, m))) << i;
  }
  EXPECT_EQ(traced.stats().replayed, 5) << traced.explain();
  EXPECT_EQ(traced.stats().plans, 1) << traced.explain();
}

TEST(Cpp, BothBranchesAndCapturedState) {
  double scale = 2;
  std::vector<fz::Tensor> seen;
  auto f = fz::jit::trace([&](const fz::Tensor& x) {
    seen.push_back(x + 1.0);
    if (fz::item(fz::sum(x)) > 0) return x * scale;
    return x - 10.0;
  });
  for (int i = 0; i < 8; ++i) {
    scale = i;
    const auto x = fz::tensor<float>({1, i % 2 ? -5.f : 5.f}, {2});
    const Floats want = i % 2 ? Floats{-9, -15} : Floats{float(i), 5.f * i};
    EXPECT_EQ(fz::to_vector<float>(f(x)), want) << i;
  }
  ASSERT_EQ(seen.size(), 8u);
  for (int i = 0; i < 8; ++i)
    EXPECT_EQ(fz::to_vector<float>(seen[i]), (Floats{2, i % 2 ? -4.f : 6.f}));
}

TEST(Cpp, WhileLoopCompilesItsBodyOnce) {
  auto f = fz::jit::trace([](fz::Tensor x) {
    while (fz::item(fz::sum(x)) < 1000) x = x * 2.0 + 1.0;
    return x;
  });
  for (int i = 0; i < 4; ++i) {
    fz::Tensor want = fz::tensor<float>({float(i), 1}, {2});
    const fz::Tensor got = f(want);
    while (fz::item(fz::sum(want)) < 1000) want = want * 2.0 + 1.0;
    EXPECT_EQ(fz::to_vector<float>(got), fz::to_vector<float>(want));
  }
  EXPECT_LE(f.stats().plans, 4) << f.explain();
}

TEST(Cpp, FourierTransforms) {
  const auto x = fz::tensor<float>({1, 2, 3, 2}, {4});
  EXPECT_EQ(fz::to_vector<float>(fz::real(fz::fft::fft(x))), (Floats{8, -2, 0, -2}));
  EXPECT_EQ(fz::to_vector<float>(
                fz::fft::irfft(fz::fft::rfft(x, std::nullopt, -1, "ortho"), 4, 0, "ortho")),
            (Floats{1, 2, 3, 2}));
  EXPECT_EQ(fz::to_vector<float>(fz::fft::fftshift(fz::fft::fftfreq(4))),
            (Floats{-0.5, -0.25, 0, 0.25}));
  EXPECT_EQ(fz::fft::ifft2(fz::reshape(x, {2, 2}), fz::ops::Lengths{2, 3}).dims().back(), 3);
  try {
    fz::fft::fft(x, 0);
    FAIL();
  } catch (const fz::Error& e) {
    EXPECT_STREQ(e.what(), "[fft] needs at least one point, got 0 along axis 0 of f32[4].");
  }
}

TEST(Cpp, GradientInsideAndOutside) {
  struct Case {
    static fz::Tensor Loss(const fz::Tensor& x) { return fz::sum(fz::tanh(x) * x); }
  };
  const auto x = fz::tensor<float>({0.5, -1, 2}, {3});
  const Floats want = fz::to_vector<float>(fz::grad(Case::Loss)(x));
  auto inside = fz::jit::trace(fz::grad(Case::Loss));
  auto traced = fz::jit::trace(Case::Loss);
  const auto outside = fz::grad([&](const fz::Tensor& t) { return traced(t); });
  for (int i = 0; i < 4; ++i) {
    EXPECT_EQ(fz::to_vector<float>(inside(x)), want) << i;
    EXPECT_EQ(fz::to_vector<float>(outside(x)), want) << i;
  }
  fz::Tensor leaf = x;
  fz::set_requires_grad(leaf);
  for (int i = 0; i < 3; ++i) fz::backward(traced(leaf));
  const Floats got = fz::to_vector<float>(fz::grad_of(leaf));
  for (size_t i = 0; i < 3; ++i) EXPECT_NEAR(got[i], 3 * want[i], 1e-5);
}

TEST(Cpp, ExplainsWhatChanged) {
  auto f = fz::jit::trace([](const fz::Tensor& x) { return fz::exp(x) + 1.0; }, "f");
  for (int64_t n : {4, 4, 7, 7}) f(fz::ones({n}));
  EXPECT_EQ(
      f.explain(),
      "f: 4 calls, 2 replayed, 2 recorded, 0 fell back; 2 plans, 1 kernels compiled.\n"
      "  f: 'exp' begins the first recording; recorded.\n"
      "  f: new plan for 2 calls up to C++: 1 kernels, 1 compiled.\n"
      "  f: shape of operand 0 of 'exp' (recorded at C++) changed f32[4] -> f32[7]; recorded.\n"
      "  f: new plan for 2 calls up to C++: 1 kernels, 0 compiled.\n");
}

TEST(Cpp, ThrowingBodyLeavesEverythingInPlace) {
  fz::Tensor kept;
  auto f = fz::jit::trace([&](const fz::Tensor& x, bool fail) {
    kept = x * 3.0;
    if (fail) throw std::runtime_error("stop");
    return kept + 1.0;
  });
  const auto x = fz::tensor<float>({1, 2}, {2});
  for (int i = 0; i < 6; ++i) {
    if (i % 2) {
      EXPECT_THROW(f(x * double(i), true), std::runtime_error);
    } else {
      EXPECT_EQ(fz::to_vector<float>(f(x * double(i), false)), (Floats{3.f * i + 1, 6.f * i + 1}));
    }
    EXPECT_EQ(fz::to_vector<float>(kept), (Floats{3.f * i, 6.f * i}));
  }
}

TEST(Cpp, CopiesShareWhatTheyRecordedAndRunInThreads) {
  const auto body = [](const fz::Tensor& x, double k) { return fz::exp(x * k) + x; };
  auto plain = fz::jit::trace(body);
  auto skipped = fz::jit::trace(body, fz::jit::Pure{.first = 1, .every = 5});
  std::vector<std::thread> threads;
  std::atomic<int> failures{0};
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([t, body, plain, skipped, &failures]() mutable {
      for (int i = 0; i < 200; ++i) {
        const auto x = fz::arange(4 + (i + t) % 3, fz::DType::kF32) * 0.1;
        const double k = (i * t) % 4;
        const Floats want = fz::to_vector<float>(body(x, k));
        failures += fz::to_vector<float>(plain(x, k)) != want;
        failures += fz::to_vector<float>(skipped(x, k)) != want;
      }
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(failures, 0);
  EXPECT_EQ(plain.stats().calls, 1600);
  EXPECT_EQ(skipped.stats().calls, 1600);
  EXPECT_GT(skipped.stats().skipped, 600) << skipped.explain();
}

TEST(Cpp, CapturedTensorsMayChangeAndDie) {
  auto weight = std::make_shared<fz::Tensor>(fz::ones({3}));
  auto traced = fz::jit::trace([&](const fz::Tensor& x) { return x * *weight + 1.0; });
  const auto x = fz::arange(3, fz::DType::kF32);
  for (int i = 0; i < 6; ++i) {
    weight.reset();  // the tensor that was recorded is gone
    weight = std::make_shared<fz::Tensor>(fz::ones({i == 4 ? 1 : 3}) * double(i));
    EXPECT_EQ(fz::to_vector<float>(traced(x)), (Floats{1, 1.f + i, 1 + 2.f * i}));
  }
  EXPECT_EQ(traced.stats().replayed, 4) << traced.explain();
}

}  // namespace
