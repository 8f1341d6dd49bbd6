// The fake driver's memory, copies, errors and failures on demand.
#include <cmath>
#include <numeric>

#include "tests/cuda/fake_fixture.h"

namespace fake {
namespace {

using FakeMemory = FakeTest;
using FakeMemoryDeathTest = FakeTest;

TEST_F(FakeMemoryDeathTest, TheHostCannotReachIt) {
  const CUdeviceptr p = Upload(std::vector<int>{1, 2, 3});
  EXPECT_EQ(Cuda().StreamSynchronize(nullptr), kSuccess);
  EXPECT_DEATH({ *reinterpret_cast<volatile int*>(p) = 1; }, "");
  EXPECT_EQ(Cuda().MemFree(p), kSuccess);
}

TEST_F(FakeMemory, FreshMemoryIsNaN) {
  const CUdeviceptr p = Alloc(16);
  for (float x : Download<float>(p, 4)) EXPECT_TRUE(std::isnan(x));
  EXPECT_EQ(Cuda().MemFree(p), kSuccess);
}

TEST_F(FakeMemory, AccountsForBytes) {
  size_t free_before, free_after, total;
  EXPECT_EQ(Cuda().MemGetInfo(&free_before, &total), kSuccess);
  const auto live = Cuda().fake_cuda_live_bytes(), blocks = Cuda().fake_cuda_live_blocks();
  const CUdeviceptr p = Alloc(1 << 20);
  EXPECT_EQ(p % 256, 0);
  EXPECT_EQ(Cuda().MemGetInfo(&free_after, &total), kSuccess);
  EXPECT_EQ(free_before - free_after, 1 << 20);
  EXPECT_EQ(Cuda().fake_cuda_live_bytes() - live, 1 << 20);
  EXPECT_EQ(Cuda().fake_cuda_live_blocks() - blocks, 1);
  CUdeviceptr q;
  EXPECT_EQ(Cuda().MemAlloc(&q, free_after + 1), kOutOfMemory);
  EXPECT_EQ(Cuda().MemFree(p), kSuccess);
  EXPECT_EQ(Cuda().MemFree(p), kInvalidValue);
  EXPECT_EQ(Cuda().fake_cuda_live_bytes(), live);
}

TEST_F(FakeMemory, CopiesBeyondABlockAreRefused) {
  const CUdeviceptr p = Alloc(16);
  char bytes[32] = {};
  EXPECT_EQ(Cuda().MemcpyHtoDAsync(p, bytes, 17, nullptr), kInvalidValue);
  EXPECT_EQ(Cuda().MemcpyHtoDAsync(p + 8, bytes, 8, nullptr), kSuccess);
  EXPECT_EQ(Cuda().MemcpyDtoHAsync(bytes, p + 9, 8, nullptr), kInvalidValue);
  EXPECT_EQ(Cuda().MemcpyDtoDAsync(p, CUdeviceptr{64}, 8, nullptr), kInvalidValue);
  EXPECT_EQ(Cuda().MemFree(p), kSuccess);
}

TEST_F(FakeMemory, PageableMemoryIsStagedPinnedIsNot) {
  const char* order = std::getenv("FAKE_CUDA_ORDER");
  if (order != nullptr && std::string(order).rfind("lazy", 0) != 0) GTEST_SKIP();
  const CUdeviceptr p = Alloc(8);
  int pageable = 1;
  void* pinned = nullptr;
  EXPECT_EQ(Cuda().MemHostAlloc(&pinned, 8, 0), kSuccess);
  int* const words = static_cast<int*>(pinned);
  words[0] = 2;
  EXPECT_EQ(Cuda().MemcpyHtoDAsync(p, &pageable, 4, nullptr), kSuccess);
  EXPECT_EQ(Cuda().MemcpyHtoDAsync(p + 4, pinned, 4, nullptr), kSuccess);
  pageable = 10;
  words[0] = 20;
  EXPECT_EQ(Download<int>(p, 2), (std::vector<int>{1, 20}));
  // To pinned memory a copy comes later too.
  EXPECT_EQ(Cuda().MemcpyDtoHAsync(words + 1, p, 4, nullptr), kSuccess);
  words[1] = 30;
  EXPECT_EQ(Cuda().StreamSynchronize(nullptr), kSuccess);
  EXPECT_EQ(words[1], 1);
  unsigned type = 0;
  int ordinal = -1;
  EXPECT_EQ(Cuda().PointerGetAttribute(&type, kPointerMemoryType, p), kSuccess);
  EXPECT_EQ(type, kMemoryTypeDevice);
  EXPECT_EQ(Cuda().PointerGetAttribute(&ordinal, kPointerDeviceOrdinal, p), kSuccess);
  EXPECT_EQ(ordinal, 0);
  EXPECT_EQ(Cuda().PointerGetAttribute(&type, kPointerMemoryType, CUdeviceptr(pinned)), kSuccess);
  EXPECT_EQ(type, kMemoryTypeHost);
  EXPECT_EQ(Cuda().PointerGetAttribute(&type, kPointerMemoryType, CUdeviceptr(&type)),
            kInvalidValue);
  EXPECT_EQ(Cuda().MemFreeHost(pinned), kSuccess);
  EXPECT_EQ(Cuda().MemFree(p), kSuccess);
}

class FakeFaults : public FakeTest {
 protected:
  void TearDown() override { Cuda().fake_cuda_clear_error(); }
};

TEST_F(FakeFaults, AWriteBesideABlockIsAnErrorThatStays) {
  const CUfunction poke =
      Load(R"(extern "C" __global__ void poke(char* p, long long at) { p[at] = 1; })", "poke");
  const CUdeviceptr p = Alloc(100), q = Alloc(100);
  for (const long long at : {-1ll, 100ll, 300ll}) {
    EXPECT_EQ(Launch(poke, 1, 1, nullptr, p, at), kSuccess);
    EXPECT_EQ(Cuda().StreamSynchronize(nullptr), kIllegalAddress) << at;
    EXPECT_NE(std::string(Cuda().fake_cuda_log()).find("after kernel poke"), std::string::npos);
    CUdeviceptr r;
    EXPECT_EQ(Cuda().MemAlloc(&r, 8), kIllegalAddress);
    Cuda().fake_cuda_clear_error();
    Cuda().fake_cuda_clear_log();
  }
  EXPECT_EQ(Launch(poke, 1, 1, nullptr, p, 99ll), kSuccess);
  EXPECT_EQ(Cuda().StreamSynchronize(nullptr), kSuccess);
  EXPECT_EQ(Cuda().MemFree(p), kSuccess);
  EXPECT_EQ(Cuda().MemFree(q), kSuccess);
}

TEST_F(FakeFaults, AWriteToFreedMemoryIsFound) {
  const CUfunction poke = Load(R"(extern "C" __global__ void poke(char* p) { p[5] = 1; })", "poke");
  const CUdeviceptr p = Alloc(100), q = Alloc(100);
  EXPECT_EQ(Cuda().MemFree(p), kSuccess);
  EXPECT_EQ(Launch(poke, 1, 1, nullptr, p), kSuccess);
  EXPECT_EQ(Cuda().StreamSynchronize(nullptr), kSuccess);
  EXPECT_EQ(Alloc(100), p);
  EXPECT_EQ(Launch(poke, 1, 1, nullptr, q), kSuccess);
  EXPECT_EQ(Cuda().StreamSynchronize(nullptr), kIllegalAddress);
}

TEST_F(FakeFaults, AWildAddressIsAnErrorNotACrash) {
  const CUfunction poke =
      Load(R"(extern "C" __global__ void poke(int* p) { __syncthreads(); *p = 1; })", "poke");
  const CUdeviceptr p = Alloc(4);
  EXPECT_EQ(Launch(poke, 2, 32, nullptr, CUdeviceptr{64}), kSuccess);
  EXPECT_EQ(Cuda().StreamSynchronize(nullptr), kIllegalAddress);
  Cuda().fake_cuda_clear_error();
  EXPECT_EQ(Launch(poke, 2, 32, nullptr, p), kSuccess);
  EXPECT_EQ(Download<int>(p, 1), (std::vector<int>{1}));
  EXPECT_EQ(Cuda().MemFree(p), kSuccess);
}

TEST_F(FakeFaults, TheNthCallFails) {
  CUdeviceptr p;
  Cuda().fake_cuda_fail("cuMemAlloc", 2, kOutOfMemory);
  const auto before = Cuda().fake_cuda_count("cuMemAlloc_v2");
  EXPECT_EQ(Cuda().MemAlloc(&p, 8), kSuccess);
  EXPECT_EQ(Cuda().MemFree(p), kSuccess);
  EXPECT_EQ(Cuda().MemAlloc(&p, 8), kOutOfMemory);
  EXPECT_EQ(Cuda().MemAlloc(&p, 8), kSuccess);
  EXPECT_EQ(Cuda().MemFree(p), kSuccess);
  EXPECT_EQ(Cuda().fake_cuda_count("cuMemAlloc") - before, 3);
  EXPECT_NE(std::string(Cuda().fake_cuda_log()).find("cuMemAlloc(8) = 2\n"), std::string::npos)
      << Cuda().fake_cuda_log();
}

TEST_F(FakeFaults, ARunFailsLaterThanItsLaunch) {
  const CUfunction k = Load("extern \"C\" __global__ void k() {}", "k");
  Cuda().fake_cuda_fail("kernel", 1, kLaunchFailed);
  const CUresult launched = Launch(k, 1, 1, nullptr);
  const char* order = std::getenv("FAKE_CUDA_ORDER");
  if (order == nullptr || std::string(order) == "lazy") {
    EXPECT_EQ(launched, kSuccess);
  }
  EXPECT_EQ(Cuda().StreamSynchronize(nullptr), kLaunchFailed);
  EXPECT_EQ(Launch(k, 1, 1, nullptr), kLaunchFailed);
  const char* text = nullptr;
  EXPECT_EQ(Cuda().GetErrorName(kLaunchFailed, &text), kSuccess);
  EXPECT_STREQ(text, "CUDA_ERROR_LAUNCH_FAILED");
}

TEST_F(FakeFaults, AContextMustBeCurrent) {
  EXPECT_EQ(Cuda().CtxSetCurrent(nullptr), kSuccess);
  CUdeviceptr p;
  EXPECT_EQ(Cuda().MemAlloc(&p, 8), 201);
  EXPECT_EQ(Cuda().CtxSetCurrent(context_), kSuccess);
}

}  // namespace
}  // namespace fake
