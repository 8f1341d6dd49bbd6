// The bounds of what traces keep: eviction while threads walk what is evicted.
#include "tracer/bounds.h"

#include <atomic>
#include <thread>

#include "bindings/cpp/frazil.h"
#include "gtest/gtest.h"
#include "jit/cache/kernel_cache.h"
#include "jit/eager/eager.h"
#include "tests/cpp/limit.h"

namespace fz = frazil;

namespace {

using Floats = std::vector<float>;

int64_t Count(const fz::tracer::TraceStats& stats, fz::tracer::Cause cause) {
  return stats.causes[static_cast<int>(cause)];
}

// Worth being traced, also where there is little to compute (tracer/gain.h).
fz::Tensor Work(const fz::Tensor& x) {
  fz::Tensor y = x;
  for (int i = 0; i < 8; ++i) y = fz::exp(y) * 0.5;
  return y;
}

TEST(Bounds, TheLeastRecentlyUsedGoes) {
  const fz::Limit limit(fz::Setting::k_plan_entries, 8);
  auto f = fz::jit::trace(Work, "f");
  const auto call = [&](int64_t n) { f(fz::ones({n})); };
  for (int64_t n = 1; n <= 8; ++n) call(n), call(n), call(1);
  const int64_t plans = f.stats().plans;
  call(1);
  EXPECT_EQ(f.stats().plans, plans);
  call(9), call(9);
  EXPECT_EQ(Count(f.stats(), fz::tracer::Cause::kEvictedPlans), 1) << f.explain();
  EXPECT_LE(fz::tracer::Bounds::totals().plans, 8);
  call(1), call(9), call(8);
  EXPECT_EQ(f.stats().plans, plans + 1) << f.explain();
  call(2);
  EXPECT_EQ(f.stats().plans, plans + 2) << f.explain();
  EXPECT_EQ(Count(f.stats(), fz::tracer::Cause::kReplanned), 1) << f.explain();
}

TEST(Bounds, NothingIsLeftOfDeadFunctions) {
  const auto before = fz::tracer::Bounds::totals();
  for (int i = 0; i < 50; ++i) {
    auto f = fz::jit::trace([](const fz::Tensor& x) { return fz::exp(x) + 1.0; });
    for (int k = 0; k < 3; ++k) f(fz::ones({3}));
  }
  const auto after = fz::tracer::Bounds::totals();
  EXPECT_EQ(after.nodes, before.nodes);
  EXPECT_EQ(after.node_bytes, before.node_bytes);
  EXPECT_EQ(after.plans, before.plans);
  EXPECT_EQ(after.plan_bytes, before.plan_bytes);
}

TEST(Bounds, ManyChildrenAreFound) {
  auto f = fz::jit::trace(Work);
  for (int round = 0; round < 3; ++round) {
    for (int64_t n = 0; n < 300; ++n) f(fz::ones({n}));
  }
  EXPECT_EQ(f.stats().recorded, 300);
  EXPECT_EQ(f.stats().replayed, 600);
}

// Signatures come and go faster than the bounds allow, from many threads at once, while another
// forgets everything now and then.
TEST(Bounds, EvictionUnderThreads) {
  const fz::Limit calls(fz::Setting::k_segment_entries, 40), plans(fz::Setting::k_plan_entries, 6),
      eager(fz::Setting::k_eager_entries, 10), kernels(fz::Setting::k_kernel_entries, 2);
  auto f = fz::jit::trace([](const fz::Tensor& x, double by) {
    fz::Tensor y = fz::exp(x) * by;
    if (fz::item(fz::sum(x)) > 5) y = y + x;
    return y - 1.0;
  });
  auto g = fz::jit::trace([](const fz::Tensor& x) { return fz::sin(x) * x + 2.0; });
  const auto values = [](int64_t n) {
    Floats v(n);
    for (int64_t i = 0; i < n; ++i) v[i] = float(i % 3) / 2;
    return fz::tensor<float>(v, {n});
  };
  constexpr int kThreads = 8, kShapes = 24;
  std::vector<Floats> want_f(kShapes), want_g(kShapes);
  for (int n = 0; n < kShapes; ++n) {
    const auto x = values(n + 1);
    fz::Tensor y = fz::exp(x) * 2.0;
    if (fz::item(fz::sum(x)) > 5) y = y + x;
    want_f[n] = fz::to_vector<float>(y - 1.0);
    want_g[n] = fz::to_vector<float>(fz::sin(x) * x + 2.0);
  }
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 150; ++i) {
        const int n = (i / 2 + t * 5) % kShapes;
        const auto x = values(n + 1);
        wrong += fz::to_vector<float>(f(x, 2.0)) != want_f[n];
        wrong += fz::to_vector<float>(g(x)) != want_g[n];
        if (t == 0 && i % 50 == 49) g.clear();
      }
    });
  }
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_LE(fz::tracer::Bounds::totals().nodes, 40);
  EXPECT_LE(fz::tracer::Bounds::totals().plans, 6);
  EXPECT_LE(fz::jit::EagerStats().entries, 10);
  EXPECT_GT(Count(f.stats(), fz::tracer::Cause::kEvictedSegments), 0);
}

}  // namespace
