// The kernel cache (one compilation a key, bounds, eviction) and launches split among threads.
#include "jit/cache/kernel_cache.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <thread>
#include <vector>

#include "core/settings.h"
#include "core/threads/parallel.h"
#include "jit/kir/builder.h"
#include "jit/run/launch.h"

namespace frazil::jit {
namespace {

// o = x + `constant`: one kernel a constant.
kir::Kernel AddConstant(double constant) {
  auto kernel = kir::Parse(
      "kernel k(x: buf f32 [1], o: out f32 [1]) space 1\n"
      "  %0 = load x : f32\n"
      "  %1 = const 0x1p+0 : f32\n"
      "  %2 = add %0, %1 : f32\n"
      "  store o, %2\n");
  EXPECT_TRUE(kernel.ok()) << kernel.status();
  const float value = float(constant);
  uint32_t bits;
  std::memcpy(&bits, &value, 4);
  kernel->body[1].imm = bits;
  return *std::move(kernel);
}

float RunOn(const Compiled& code, float x) {
  float in = x, out = 0;
  void* buffers[] = {&in, &out};
  const int64_t extents[] = {1}, strides[] = {4, 4};
  const kir::KernelArgs args{buffers, extents, strides, nullptr};
  code.Run(args, 0, 1, 0, 1);
  return out;
}

TEST(KernelCache, EqualKernelsAreCompiledOnce) {
  ClearKernelCache();
  const KernelCacheStats before = GetKernelCacheStats();
  kir::Kernel a = AddConstant(3), b = AddConstant(3);
  b.name = "another_name";
  bool compiled = false;
  const auto first = GetKernel(a, &compiled);
  ASSERT_TRUE(first.ok());
  EXPECT_TRUE(compiled);
  const auto second = GetKernel(b, &compiled);
  EXPECT_FALSE(compiled);
  EXPECT_EQ(*first, *second);
  EXPECT_NE(*first, *GetKernel(AddConstant(4)));
  const KernelCacheStats after = GetKernelCacheStats();
  EXPECT_EQ(after.compiles - before.compiles, 2);
  EXPECT_EQ(after.hits - before.hits, 1);
  EXPECT_EQ(after.entries, 2);
  EXPECT_GT(after.bytes, 0);
}

TEST(KernelCache, ManyThreadsCompileAKernelOnce) {
  ClearKernelCache();
  const int64_t before = GetKernelCacheStats().compiles;
  std::vector<std::thread> threads;
  std::atomic<int> compiles{0}, wrong{0};
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 20; ++i) {
        bool compiled = false;
        const auto code = GetKernel(AddConstant(i), &compiled);
        compiles += compiled;
        if (!code.ok() || RunOn(**code, 1) != float(1 + i)) ++wrong;
      }
    });
  }
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(compiles.load(), 20);
  EXPECT_EQ(GetKernelCacheStats().compiles - before, 20);
  EXPECT_EQ(wrong.load(), 0);
}

TEST(KernelCache, EvictsTheLeastRecentlyUsedAndLeavesWhatIsHeld) {
  ClearKernelCache();
  Set(Setting::k_kernel_entries, 3);
  const auto held = GetKernel(AddConstant(0));
  for (int i = 1; i < 3; ++i) ASSERT_TRUE(GetKernel(AddConstant(i)).ok());
  bool compiled = true;
  ASSERT_TRUE(GetKernel(AddConstant(1), &compiled).ok());
  EXPECT_FALSE(compiled);
  for (int i = 3; i < 5; ++i) ASSERT_TRUE(GetKernel(AddConstant(i)).ok());
  EXPECT_EQ(GetKernelCacheStats().entries, 3);
  ASSERT_TRUE(GetKernel(AddConstant(0), &compiled).ok());
  EXPECT_FALSE(compiled);  // held: evicting it would free nothing
  ASSERT_TRUE(GetKernel(AddConstant(2), &compiled).ok());
  EXPECT_TRUE(compiled);
  EXPECT_EQ(RunOn(**held, 5), 5);
  Set(Setting::k_kernel_entries, 1000);
  Set(Setting::k_kernel_bytes, 1);
  ShrinkKernelCache();
  EXPECT_EQ(GetKernelCacheStats().entries, 1);
  EXPECT_EQ(RunOn(**held, 5), 5);
  ClearKernelCache();
  EXPECT_EQ(RunOn(**held, 5), 5);  // no longer in the cache
  Set(Setting::k_kernel_entries, 16384);
  Set(Setting::k_kernel_bytes, int64_t{128} << 20);
}

TEST(Launch, SplitsGiveTheSameElements) {
  const auto code = GetKernel(AddConstant(1));
  ASSERT_TRUE(code.ok());
  for (int threads : {1, 3}) {
    SetNumThreads(threads);
    for (int64_t n :
         {int64_t{1}, int64_t{1000}, cost::kWorthSharing + 37, 4 * cost::kWorthSharing}) {
      std::vector<float> in(n), out(n);
      for (int64_t i = 0; i < n; ++i) in[i] = float(i % 1000);
      void* buffers[] = {in.data(), out.data()};
      const int64_t extents[] = {n}, strides[] = {4, 4};
      RunLaunch(**code, {buffers, extents, strides, nullptr}, 1, n, n);
      for (int64_t i = 0; i < n; ++i) ASSERT_EQ(out[i], in[i] + 1);
    }
  }
}

// Few columns that each run a long loop, and many rows.
TEST(Launch, LongLoopsAndRows) {
  const auto kernel = kir::Parse(
      "kernel k(x: buf f32 [s,1,s], o: out f32 [s,1,0]) space 2 loop\n"
      "  loop\n"
      "    %1 = load x : f32\n"
      "    %2 = reduce sum.8 %1 : f32\n"
      "  end\n"
      "  store o, %2\n");
  ASSERT_TRUE(kernel.ok()) << kernel.status();
  const auto code = GetKernel(*kernel);
  ASSERT_TRUE(code.ok());
  SetNumThreads(3);
  for (auto [rows, cols] : {std::pair{1, 5}, {2, 300}, {100, 30}}) {
    const int64_t n = 2000;
    std::vector<float> in(rows * cols * n, 0.5f), out(rows * cols);
    void* buffers[] = {in.data(), out.data()};
    const int64_t extents[] = {rows, cols, n},
                  strides[] = {cols * n * 4, 4, cols * 4, cols * 4, 4, 0};
    RunLaunch(**code, {buffers, extents, strides, nullptr}, rows, cols, rows * cols * n);
    for (float x : out) ASSERT_EQ(x, 1000);
  }
}

}  // namespace
}  // namespace frazil::jit
