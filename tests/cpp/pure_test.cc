// Calls by promise from C++: skipped bodies, guards, writes, outcomes, broken promises.
#include <thread>

#include "bindings/cpp/frazil.h"
#include "gtest/gtest.h"
#include "tracer/recording.h"

namespace fz = frazil;

namespace {

using Floats = std::vector<float>;

fz::Tensor Vec(const Floats& v) { return fz::tensor<float>(v, {static_cast<int64_t>(v.size())}); }

TEST(Pure, SkipsTheBodyAndGivesItsBits) {
  int bodies = 0;
  auto f = fz::jit::trace(
      [&](const fz::Tensor& a, const fz::Tensor& b) {
        ++bodies;
        return fz::exp(a * b + a);
      },
      fz::jit::pure);
  for (int i = 0; i < 20; ++i) {
    const auto a = Vec({1.f + i, 2, 3}), b = Vec({4, 5.f * i, 6});
    EXPECT_EQ(fz::to_vector<float>(f(a, b)), fz::to_vector<float>(fz::exp(a * b + a)));
  }
  EXPECT_EQ(bodies, 4);  // recorded, learnt, compared twice
  EXPECT_EQ(f.stats().skipped, 16) << f.explain();
}

TEST(Pure, GuardsShapesNumbersAndAliases) {
  auto f = fz::jit::trace(
      [](const fz::Tensor& a, const fz::Tensor& b, double scale) { return a * scale + b; },
      fz::jit::Pure{.first = 0});
  for (int round = 0; round < 4; ++round) {
    for (double scale : {2.0, -0.5}) {
      const auto a = Vec({1, 2, 3}), b = Vec({4, 5, 6}), c = Vec({7, 8, 9, 10});
      EXPECT_EQ(fz::to_vector<float>(f(a, b, scale)), fz::to_vector<float>(a * scale + b));
      EXPECT_EQ(fz::to_vector<float>(f(a, a, scale)), fz::to_vector<float>(a * scale + a));
      EXPECT_EQ(fz::to_vector<float>(f(c, c * 2.0, scale)),
                fz::to_vector<float>(c * scale + c * 2.0));
    }
  }
  EXPECT_GE(f.stats().skipped, 10) << f.explain();
}

TEST(Pure, CommitsWritesToArguments) {
  auto f = fz::jit::trace(
      [](fz::Tensor& state, const fz::Tensor& x) {
        state = state + x;
        return fz::sum(state);
      },
      fz::jit::pure);
  auto state = Vec({0, 0});
  const auto other = state;  // a cell of its own
  for (int i = 1; i <= 8; ++i) {
    EXPECT_EQ(fz::item(f(state, Vec({1, 2}))), 3.0 * i);
    EXPECT_EQ(fz::to_vector<float>(state), (Floats{1.f * i, 2.f * i}));
  }
  EXPECT_EQ(fz::to_vector<float>(other), (Floats{0, 0}));
  EXPECT_GE(f.stats().skipped, 3) << f.explain();
}

TEST(Pure, FollowsOutcomesAndLearnsNewOnes) {
  auto f = fz::jit::trace(
      [](const fz::Tensor& x, const fz::Tensor& n) {
        fz::Tensor y = x * 2.0;
        for (int i = 0; i < static_cast<int>(fz::item(n)); ++i) y = y + x;
        return y;
      },
      fz::jit::Pure{.first = 0});
  for (int round = 0; round < 6; ++round) {
    for (int n : {0, 3, 1}) {
      const auto count = fz::tensor<int64_t>({n}, {1});
      EXPECT_EQ(fz::to_vector<float>(f(Vec({1, 2}), count)), (Floats{2.f + n, 4.f + 2 * n}));
    }
  }
  EXPECT_GE(f.stats().skipped, 9) << f.explain();
}

TEST(Pure, NestsOfTensorsComeBack) {
  auto f = fz::jit::trace(
      [](const std::vector<fz::Tensor>& xs) {
        std::vector<fz::Tensor> out;
        for (const auto& x : xs) out.push_back(x * x);
        return std::pair<std::vector<fz::Tensor>, int>(out, static_cast<int>(xs.size()));
      },
      fz::jit::pure);
  for (int i = 0; i < 8; ++i) {
    for (int n : {2, 3}) {
      const std::vector<fz::Tensor> xs(n, Vec({1.f * i}));
      const auto [out, size] = f(xs);
      ASSERT_EQ(size, n);
      ASSERT_EQ(out.size(), xs.size());
      EXPECT_EQ(fz::to_vector<float>(out[n - 1]), (Floats{1.f * i * i}));
    }
  }
  EXPECT_GT(f.stats().skipped, 0) << f.explain();
}

TEST(Pure, BrokenPromiseIsNamed) {
  fz::Tensor outside = Vec({1, 2});
  auto f = fz::jit::trace([&](const fz::Tensor& x) { return x + outside; }, fz::jit::pure, "step");
  f(Vec({1, 1}));
  f(Vec({1, 1}));
  outside = Vec({5, 2});
  try {
    f(Vec({1, 1}));
    FAIL() << f.explain();
  } catch (const fz::Error& e) {
    EXPECT_STREQ(
        e.what(),
        "[trace] step: pure=True promises that the call depends on its arguments only, but "
        "'add' read f32[2] [1, 2] -> f32[2] [5, 2]. Pass what changes as an argument, or "
        "trace without pure=True.");
  }
}

TEST(Pure, FloatsReadIntoTheProgramAreRefused) {
  auto f =
      fz::jit::trace([](const fz::Tensor& x) { return x * fz::item(fz::sum(x)); }, fz::jit::pure);
  for (int i = 0; i < 6; ++i)
    EXPECT_EQ(fz::to_vector<float>(f(Vec({1.f, 1.f * i}))), (Floats{1.f + i, (1.f + i) * i}));
  EXPECT_EQ(f.stats().skipped, 0);
  EXPECT_NE(f.explain().find("reads"), std::string::npos) << f.explain();
}

// By a call of C++, which replaces the content of the cells that it is given.
TEST(Pure, AnotherThreadsStepIsNotLearnt) {
  for (int when : {1, 2, 3, 4}) {
    int bodies = 0;
    auto f = fz::jit::trace(
        [&](fz::Tensor& p, fz::Tensor& v, const fz::Tensor& g) {
          if (++bodies == when) std::thread([&] { fz::sgd_step(p, g, v, 0.5, 0.9); }).join();
          return p * 3.0 + v;
        },
        fz::jit::pure);
    for (int i = 0; i < 8; ++i) {
      auto p = Vec({1.f * i, 2}), v = Vec({0, 1.f * i});
      const auto y = f(p, v, Vec({3, 4}));
      EXPECT_EQ(fz::to_vector<float>(y), fz::to_vector<float>(p * 3.0 + v)) << when << " " << i;
    }
    EXPECT_GT(f.stats().skipped, 0);
  }
}

TEST(Pure, EveryNthCallIsCompared) {
  int bodies = 0;
  auto f = fz::jit::trace([&](const fz::Tensor& x) { return ++bodies, x * 2.0; },
                          fz::jit::Pure{.first = 1, .every = 10});
  for (int i = 0; i < 100; ++i) f(Vec({1, 2}));
  EXPECT_EQ(bodies, 3 + 10) << f.explain();
}

TEST(Pure, ATrainingStepWithGradients) {
  const auto body = [](std::vector<fz::Tensor>& w, const fz::Tensor& x) {
    auto [loss, grads] = fz::value_and_grad([&](const std::vector<fz::Tensor>& w) {
      return fz::sum(fz::relu(fz::matmul(x, w[0]) - w[1]));
    })(w);
    for (size_t i = 0; i < w.size(); ++i) w[i] = w[i] - grads[i] * 0.01;
    return loss;
  };
  auto f = fz::jit::trace(body, fz::jit::pure);
  const auto x = fz::reshape(fz::arange(6, fz::DType::kF32) * 0.1, {2, 3});
  std::vector<fz::Tensor> a = {fz::reshape(fz::arange(12, fz::DType::kF32) * 0.1, {3, 4}),
                               Vec({1, 2, 3, 4})};
  std::vector<fz::Tensor> b = a;
  for (int i = 0; i < 10; ++i) {
    EXPECT_EQ(fz::item(f(a, x)), fz::item(body(b, x)));
    for (int k : {0, 1}) EXPECT_EQ(fz::to_vector<float>(a[k]), fz::to_vector<float>(b[k]));
  }
  EXPECT_GE(f.stats().skipped, 6) << f.explain();
}

// Counts what it is asked for, and how often with a plan that has most of the answer.
class CountingCompiler : public fz::tracer::SegmentCompiler {
 public:
  explicit CountingCompiler(fz::tracer::SegmentCompiler* inner) : inner_(inner) {}
  fz::StatusOr<std::shared_ptr<const fz::tracer::SegmentPlan>> Compile(
      const fz::tracer::Program& program, const fz::tracer::LiveMask& live, fz::Precision precision,
      const fz::tracer::Overwritable& overwritable, const fz::tracer::SegmentPlan* like) override {
    (like ? again : anew) += 1;
    return inner_->Compile(program, live, precision, overwritable, like);
  }

  int anew = 0, again = 0;

 private:
  fz::tracer::SegmentCompiler* inner_;
};

TEST(Pure, AScriptsPlanIsMadeOfTheSegments) {
  fz::tracer::SegmentCompiler* const own = fz::tracer::GetSegmentCompiler();
  CountingCompiler counting(own);
  fz::tracer::SetSegmentCompiler(&counting);
  auto f = fz::jit::trace([](const fz::Tensor& x) { return fz::exp(x) * x - fz::sum(x); },
                          fz::jit::pure);
  const fz::Tensor x = Vec(Floats(40, 0.5f));
  const Floats want = fz::to_vector<float>(fz::exp(x) * x - fz::sum(x));
  for (int i = 0; i < 6; ++i) EXPECT_EQ(fz::to_vector<float>(f(x)), want);
  fz::tracer::SetSegmentCompiler(own);
  EXPECT_EQ(counting.anew, 1);
  EXPECT_EQ(counting.again, 1);
}

}  // namespace
