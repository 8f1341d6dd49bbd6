// Many threads: one traced function and their own, tensors handed over while they are deferred,
// work that the host abandons. Meant for the thread sanitizer (./dev tsan).
#include <atomic>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <optional>
#include <thread>

#include "bindings/cpp/frazil.h"
#include "core/threads/long_work.h"
#include "core/threads/parallel.h"
#include "gtest/gtest.h"
#include "jit/cache/kernel_cache.h"
#include "tests/cpp/limit.h"

namespace fz = frazil;

namespace {

using Floats = std::vector<float>;

constexpr int kThreads = 16;

template <typename F>
void OnThreads(int n, const F& f) {
  std::vector<std::thread> threads;
  for (int t = 0; t < n; ++t) threads.emplace_back([&f, t] { f(t); });
  for (std::thread& t : threads) t.join();
}

fz::Tensor Body(const fz::Tensor& x, double scale) {
  fz::Tensor y = fz::exp(x * 0.25) + scale;
  if (fz::item(fz::sum(y)) > 12) y = fz::softmax(y) * 3.0;
  return y - fz::sum(y * x);
}

TEST(Threads, OneFunctionAndTheirOwnWhilePlansAreEvicted) {
  const fz::Limit plans(fz::Setting::k_plan_entries, 6), calls(fz::Setting::k_segment_entries, 40);
  const fz::Limit eager(fz::Setting::k_eager_entries, 12),
      kernels(fz::Setting::k_kernel_entries, 10);
  auto shared = fz::jit::trace(Body);
  std::atomic<int> wrong{0};
  OnThreads(kThreads, [&](int t) {
    for (int i = 0; i < 40; ++i) {
      const int64_t n = 1 + (t + i) % 9;
      const auto x = fz::arange(n, fz::DType::kF32) * 0.5;
      auto own = fz::jit::trace(Body);
      const Floats want = fz::to_vector<float>(Body(x, i % 3));
      wrong += fz::to_vector<float>(shared(x, i % 3)) != want;
      for (int k = 0; k < 3; ++k) wrong += fz::to_vector<float>(own(x, i % 3)) != want;
    }
  });
  EXPECT_EQ(wrong.load(), 0);
}

TEST(Threads, OneCompilationForEachKernel) {
  fz::jit::ClearKernelCache();
  const auto before = fz::jit::GetKernelCacheStats();
  auto f = fz::jit::trace([](const fz::Tensor& x) {
    fz::Tensor y = x;
    for (int i = 0; i < 5; ++i) y = fz::tanh(y * 1.5) + fz::sqrt(fz::exp(y));
    return fz::sum(y);
  });
  OnThreads(kThreads, [&](int t) {
    for (int i = 0; i < 4; ++i) f(fz::ones({64 + i}));
  });
  const auto after = fz::jit::GetKernelCacheStats();
  EXPECT_EQ(after.compiles - before.compiles, after.entries);
}

// A queue of one direction.
class Channel {
 public:
  void Put(std::pair<fz::Tensor, float> item) {
    const std::lock_guard<std::mutex> lock(mutex_);
    items_.push_back(std::move(item));
    filled_.notify_one();
  }
  std::pair<fz::Tensor, float> Get() {
    std::unique_lock<std::mutex> lock(mutex_);
    filled_.wait(lock, [&] { return !items_.empty(); });
    auto item = std::move(items_.front());
    items_.pop_front();
    return item;
  }

 private:
  std::mutex mutex_;
  std::condition_variable filled_;
  std::deque<std::pair<fz::Tensor, float>> items_;
};

TEST(Threads, DeferredTensorsAreHandedOver) {
  constexpr int kCalls = 400;
  Channel channels[4];
  auto f = fz::jit::trace([&](const fz::Tensor& x, int to, double scale) {
    fz::Tensor y = x * scale + 1.0;
    channels[to].Put({y, static_cast<float>(scale + 1)});  // deferred when replayed
    return fz::exp(y) * 0.5;
  });
  std::atomic<int> wrong{0};
  OnThreads(8, [&](int t) {
    if (t >= 4) {
      for (int i = 0; i < kCalls; ++i) {
        const auto [tensor, want] = channels[t - 4].Get();
        // Some are computed with first.
        const fz::Tensor seen = i % 2 ? tensor + 0.0 : tensor;
        wrong += fz::to_vector<float>(seen) != Floats{want, want};
      }
      return;
    }
    const auto x = fz::ones({2});
    for (int i = 0; i < kCalls; ++i) f(x, t, i);
  });
  EXPECT_EQ(wrong.load(), 0);
  EXPECT_GT(f.stats().replayed, 0);
}

TEST(Threads, GradientsOfSharedWeights) {
  const auto w = fz::reshape(fz::arange(64, fz::DType::kF32) * 0.01, {8, 8});
  const auto loss = [](const fz::Tensor& w, const fz::Tensor& x) {
    return fz::sum(fz::tanh(fz::matmul(x, w)));
  };
  auto traced = fz::jit::trace(fz::grad(loss));
  const Floats want = fz::to_vector<float>(fz::grad(loss)(w, fz::ones({3, 8})));
  std::atomic<int> wrong{0};
  OnThreads(kThreads, [&](int) {
    for (int i = 0; i < 20; ++i) wrong += fz::to_vector<float>(traced(w, fz::ones({3, 8}))) != want;
  });
  EXPECT_EQ(wrong.load(), 0);
}

// A host whose lock is a mutex and which interrupts when told.
struct FakeHost {
  static inline std::mutex lock;
  static inline thread_local bool held = false;
  static inline std::atomic<int> interrupt_at{-1}, asked{0};

  static void* Unlock() {
    if (!held) return nullptr;
    held = false;
    lock.unlock();
    return &lock;
  }
  static void Lock(void*) {
    lock.lock();
    held = true;
  }
  static bool Interrupted(void*) {
    Lock(nullptr);
    const bool stop = asked++ == interrupt_at;
    Unlock();
    return stop;
  }

  FakeHost() {
    fz::SetHost({Unlock, Lock, Interrupted, 0});
    interrupt_at = -1;
    asked = 0;
    Lock(nullptr);
  }
  ~FakeHost() {
    Unlock();
    fz::SetHost({});
  }
};

fz::Tensor Random(int64_t n, int64_t m) {
  return fz::reshape(fz::sin(fz::arange(n * m, fz::DType::kF32)), {n, m});
}

template <typename F>
bool IsInterrupted(const F& f) {
  try {
    f();
    return false;
  } catch (const fz::Error& e) {
    EXPECT_EQ(e.kind(), fz::ErrorKind::kInterrupted);
    return true;
  }
}

// Interrupts `f` at every question it asks, until it gets through. Returns how often it did not.
template <typename F>
int AtEveryQuestion(const F& f) {
  for (int at = 0;; ++at) {
    FakeHost::asked = 0;
    FakeHost::interrupt_at = at;
    const bool interrupted = IsInterrupted(f);
    FakeHost::interrupt_at = -1;
    if (!interrupted) return at;
    EXPECT_LT(at, 1000);
  }
}

TEST(Interrupts, AnEagerOpChangesNothing) {
  const FakeHost host;
  for (int threads : {1, 2}) {
    fz::SetNumThreads(threads);
    const auto x = Random(300, 300), big = Random(700, 700);
    const Floats product = fz::to_vector<float>(fz::matmul(x, x));
    const Floats sine = fz::to_vector<float>(fz::sin(big));
    EXPECT_GT(AtEveryQuestion([&] { fz::matmul(x, x); }), 0);
    EXPECT_GT(AtEveryQuestion([&] { fz::sin(big); }), 0);
    EXPECT_EQ(fz::to_vector<float>(fz::matmul(x, x)), product);
    EXPECT_EQ(fz::to_vector<float>(fz::sin(big)), sine);
  }
}

TEST(Interrupts, WhatATracedCallLeftIsComputedWhenItIsRead) {
  const FakeHost host;
  const auto x = Random(200, 200);
  fz::Tensor cell, kept;
  const auto body = [&](const fz::Tensor& x) {
    cell = fz::matmul(cell, x);
    kept = fz::matmul(cell, cell) * 0.01;
    return fz::sum(fz::matmul(kept, x));
  };
  cell = x;
  body(x);
  const Floats want_cell = fz::to_vector<float>(cell), want_kept = fz::to_vector<float>(kept);
  int interrupted = 0;
  {
    auto f = fz::jit::trace(body);
    for (int i = 0; i < 3; ++i) cell = x, f(x);
    interrupted = AtEveryQuestion([&] {
      cell = x;
      kept = fz::Tensor();
      f(x);
    });
    EXPECT_GT(interrupted, 0);
    for (int i = 0; i < 3; ++i) {
      FakeHost::asked = 0;
      FakeHost::interrupt_at = 0;
      cell = x;
      EXPECT_TRUE(IsInterrupted([&] { f(x); }));
      if (i == 0) continue;  // what it left is never read
      if (i == 1) {          // a call in between takes another session
        const fz::Tensor cell_left = cell, kept_left = kept;
        cell = Random(3, 3);
        f(Random(3, 3));
        cell = cell_left, kept = kept_left;
      }
      EXPECT_EQ(fz::to_vector<float>(cell), want_cell);
      EXPECT_EQ(fz::to_vector<float>(kept), want_kept);
    }
    FakeHost::asked = 0;
    FakeHost::interrupt_at = 0;
    cell = x;
    EXPECT_TRUE(IsInterrupted([&] { f(x); }));
  }
  // The traced function is gone; another thread reads.
  fz::HostUnlocked unlocked;
  std::thread reader([&] {
    EXPECT_EQ(fz::to_vector<float>(kept), want_kept);
    EXPECT_EQ(fz::to_vector<float>(cell), want_cell);
  });
  reader.join();
}

TEST(Interrupts, ThreadsThatWaitLetGoOfTheHostsLock) {
  const FakeHost host;
  const auto x = Random(300, 300);
  fz::Tensor handed;
  std::atomic<bool> ready{false};
  auto f = fz::jit::trace([&](const fz::Tensor& x) {
    fz::Tensor y = fz::matmul(x, x);
    handed = y;
    ready = true;
    return fz::sum(fz::matmul(y, x));
  });
  f(x);
  const Floats want = fz::to_vector<float>(handed);
  for (int i = 0; i < 20; ++i) {
    ready = false;
    std::optional<fz::HostUnlocked> unlocked(std::in_place);
    std::thread owner([&] {
      FakeHost::Lock(nullptr);
      f(x);
      FakeHost::Unlock();
    });
    while (!ready) std::this_thread::yield();
    unlocked.reset();
    EXPECT_EQ(fz::to_vector<float>(handed), want);
    unlocked.emplace();
    owner.join();
  }
}

}  // namespace
