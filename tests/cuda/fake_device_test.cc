// The fake driver's devices and contexts: two of them, and processes.
#include <sys/wait.h>
#include <unistd.h>

#include "tests/cuda/fake_fixture.h"

namespace fake {
namespace {

class FakeDevices : public FakeTest {
 protected:
  void SetUp() override {
    FakeTest::SetUp();
    int count = 0;
    ASSERT_EQ(Cuda().DeviceGetCount(&count), kSuccess);
    ASSERT_EQ(count, 2);
    ASSERT_EQ(Cuda().DevicePrimaryCtxRetain(&other_, 1), kSuccess);
  }
  void TearDown() override { Cuda().fake_cuda_clear_error(); }
  void Enter(CUcontext context) { ASSERT_EQ(Cuda().CtxSetCurrent(context), kSuccess); }

  CUcontext other_ = nullptr;
};

TEST_F(FakeDevices, DescribeThemselves) {
  char name[64];
  EXPECT_EQ(Cuda().DeviceGetName(name, sizeof(name), 1), kSuccess);
  EXPECT_STREQ(name, "Fake GPU 1");
  int major = 0;
  EXPECT_EQ(Cuda().DeviceGetAttribute(&major, kComputeCapabilityMajor, 0), kSuccess);
  EXPECT_EQ(major, 9);
  CUdevice device;
  EXPECT_EQ(Cuda().DeviceGet(&device, 2), kInvalidDevice);
  EXPECT_EQ(Cuda().CtxSetCurrent(reinterpret_cast<CUcontext>(8)), 201);
}

TEST_F(FakeDevices, CopyBetweenEachOther) {
  const CUdeviceptr from = Upload(std::vector<int>{1, 2, 3});
  const CUevent event = NewEvent();
  EXPECT_EQ(Cuda().EventRecord(event, nullptr), kSuccess);
  Enter(other_);
  const CUdeviceptr to = Alloc(12);
  const CUstream there = NewStream();
  // Another device's stream may wait for the event, but not record it.
  EXPECT_EQ(Cuda().EventRecord(event, there), 400);
  EXPECT_EQ(Cuda().StreamWaitEvent(there, event, 0), kSuccess);
  EXPECT_EQ(Cuda().MemcpyPeerAsync(to, context_, from, other_, 12, there), kInvalidValue);
  EXPECT_EQ(Cuda().MemcpyPeerAsync(to, other_, from, context_, 12, there), kSuccess);
  EXPECT_EQ(Download<int>(to, 3, there), (std::vector<int>{1, 2, 3}));
  int ordinal = -1;
  EXPECT_EQ(Cuda().PointerGetAttribute(&ordinal, kPointerDeviceOrdinal, to), kSuccess);
  EXPECT_EQ(ordinal, 1);
  EXPECT_EQ(Cuda().MemFree(to), kSuccess);
  EXPECT_EQ(Cuda().MemFree(from), kSuccess);
}

TEST_F(FakeDevices, AKernelReachesItsOwnMemoryAlone) {
  const CUfunction poke = Load(R"(extern "C" __global__ void poke(int* p) { *p = 1; })", "poke");
  Enter(other_);
  const CUdeviceptr p = Alloc(4);
  const CUstream there = NewStream();
  Enter(context_);
  EXPECT_EQ(Launch(poke, 1, 1, there, p), 400);  // not a stream of this context
  EXPECT_EQ(Launch(poke, 1, 1, nullptr, p), kSuccess);
  EXPECT_EQ(Cuda().StreamSynchronize(nullptr), kIllegalAddress);
  Enter(other_);
  EXPECT_EQ(Cuda().StreamSynchronize(there), kSuccess);  // the other context has no error
  EXPECT_EQ(Launch(poke, 1, 1, there, p), 400);          // the function is not of this context
  EXPECT_EQ(Cuda().MemFree(p), kSuccess);
}

TEST_F(FakeDevices, AChildProcessHasNone) {
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    CUdeviceptr p;
    _exit(Cuda().Init(0) == kNotInitialized && Cuda().MemAlloc(&p, 8) == kNotInitialized ? 0 : 1);
  }
  int status = -1;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

}  // namespace
}  // namespace fake
