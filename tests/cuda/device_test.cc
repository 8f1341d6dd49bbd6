// The runtime of jit/cuda on the fake driver: memory, copies, launches, streams, errors.
#include "jit/cuda/device.h"

#include <chrono>
#include <cstdlib>
#include <map>
#include <numeric>
#include <thread>

#include "core/threads/parallel.h"
#include "gtest/gtest.h"
#include "jit/cuda/compiler.h"
#include "tests/cuda/on_fakes.h"

namespace frazil::cuda {
namespace {

class CudaDevice : public OnFakes {
 protected:
  void SetUp() override {
    OnFakes::SetUp();
    const auto opened = Device::Get(0);
    ASSERT_TRUE(opened.ok()) << opened.status();
    device_ = *opened;
  }
  CUdeviceptr AddressOf(const StorageRef& s) { return reinterpret_cast<uintptr_t>(s->data); }

  Device* device_ = nullptr;
};

std::vector<int> Numbers(size_t n) {
  std::vector<int> numbers(n);
  std::iota(numbers.begin(), numbers.end(), 1);
  return numbers;
}

TEST_F(CudaDevice, TellsWhatItIs) {
  EXPECT_EQ(device_->info().arch, 90);
  EXPECT_EQ(device_->info().multiprocessors, 132);
  EXPECT_EQ(*Device::Count(), 2);
  const Status none = Device::Get(2).status();
  EXPECT_EQ(KindOf(none), ErrorKind::kValue);
  EXPECT_EQ(none.message(), "[device] 'cuda:2' does not exist: this machine has 2 GPUs.");
}

TEST_F(CudaDevice, CopiesInPiecesAndBack) {
  // Below, at and above the size of a page-locked piece, so that pieces are used again.
  for (const size_t n : {size_t{1}, size_t{1} << 20, (size_t{5} << 20) + 3}) {
    const std::vector<int> in = Numbers(n);
    const StorageRef storage = *device_->Allocate(n * 4);
    std::vector<int> source = in, out(n);
    ASSERT_TRUE(device_->CopyIn(AddressOf(storage), source.data(), n * 4).ok());
    std::fill(source.begin(), source.end(), -1);  // the caller may change it at once
    ASSERT_TRUE(device_->CopyOut(out.data(), AddressOf(storage), n * 4).ok());
    EXPECT_EQ(out, in);
  }
}

TEST_F(CudaDevice, CopiesBetweenDevicesInOrder) {
  Device* other = *Device::Get(1);
  const std::vector<int> in = Numbers(1000);
  std::vector<int> out(1000);
  const StorageRef here = *device_->Allocate(4000), there = *other->Allocate(4000);
  ASSERT_TRUE(device_->CopyIn(AddressOf(here), in.data(), 4000).ok());
  ASSERT_TRUE(other->CopyFrom(device_, AddressOf(there), AddressOf(here), 4000).ok());
  // The source may be written over at once.
  ASSERT_TRUE(device_->CopyIn(AddressOf(here), out.data(), 4000).ok());
  ASSERT_TRUE(other->CopyOut(out.data(), AddressOf(there), 4000).ok());
  EXPECT_EQ(out, in);
}

TEST_F(CudaDevice, MemoryIsKeptAndGivenOutAgain) {
  Allocator& allocator = device_->allocator();
  allocator.Trim();
  const AllocatorStats start = allocator.stats();
  char* first = nullptr;
  for (int i = 0; i < 3; ++i) {
    const StorageRef a = *device_->Allocate(5000), b = *device_->Allocate(3 << 20);
    EXPECT_EQ(AddressOf(a) % 256, 0u);
    if (i == 0) first = a->data;
    EXPECT_EQ(a->data, first);
  }
  const AllocatorStats end = allocator.stats();
  EXPECT_EQ(end.live_bytes, start.live_bytes);
  EXPECT_EQ(end.driver_requests - start.driver_requests, 2);
  EXPECT_EQ(end.allocations - start.allocations, 6);
  EXPECT_GT(end.reserved_bytes, start.reserved_bytes);
  allocator.Trim();
  EXPECT_EQ(allocator.stats().reserved_bytes, start.reserved_bytes);
}

TEST_F(CudaDevice, NeighboursThatAreFreeBecomeOne) {
  device_->allocator().Trim();
  std::vector<StorageRef> blocks;
  for (int i = 0; i < 8; ++i) blocks.push_back(*device_->Allocate(100'000));
  const int64_t requests = device_->allocator().stats().driver_requests;
  for (const int i : {1, 3, 2, 0, 7, 5, 6, 4}) blocks[i].Reset();
  const StorageRef whole = *device_->Allocate(800'000);
  EXPECT_EQ(device_->allocator().stats().driver_requests, requests);
}

TEST_F(CudaDevice, RandomRequestsNeverOverlap) {
  uint64_t state = 7;
  const auto random = [&](uint64_t n) {
    state = state * 6364136223846793005u + 1;
    return (state >> 33) % n;
  };
  std::map<CUdeviceptr, std::pair<StorageRef, size_t>> live;  // with the bytes asked for
  for (int i = 0; i < 4000; ++i) {
    if (live.size() > 60 || (!live.empty() && random(3) == 0)) {
      live.erase(std::next(live.begin(), random(live.size())));
      continue;
    }
    const size_t bytes = size_t{1} << random(23) | random(5000);
    StorageRef s = *device_->Allocate(bytes);
    const CUdeviceptr at = AddressOf(s);
    const auto after = live.lower_bound(at);
    if (after != live.end()) {
      ASSERT_LE(at + bytes, after->first);
    }
    if (after != live.begin()) {
      ASSERT_LE(std::prev(after)->first + std::prev(after)->second.second, at);
    }
    live.emplace(at, std::pair(std::move(s), bytes));
  }
}

TEST_F(CudaDevice, TriesAgainAfterGivingMemoryBack) {
  Allocator& allocator = device_->allocator();
  allocator.Trim();
  // Kept and free, in blocks too small for what comes.
  for (int i = 0; i < 3; ++i) static_cast<void>(*device_->Allocate(size_t{500} << 20));
  {
    const StorageRef a = *device_->Allocate(size_t{500} << 20),
                     b = *device_->Allocate(size_t{500} << 20),
                     c = *device_->Allocate(size_t{500} << 20);
  }
  const int64_t retries = allocator.stats().retries;
  const auto large = device_->Allocate(size_t{1600} << 20);
  ASSERT_TRUE(large.ok()) << large.status();
  EXPECT_EQ(allocator.stats().retries, retries + 1);
  const Status full = device_->Allocate(size_t{1} << 30).status();
  EXPECT_EQ(KindOf(full), ErrorKind::kMemory);
  const std::string message(full.message());
  EXPECT_NE(message.find("cannot allocate 1073741824 bytes on cuda:0: the driver has no more; "
                         "1677721600 bytes are in use by arrays"),
            std::string::npos)
      << message;
}

TEST_F(CudaDevice, CutsWhatIsKeptWhereTheDriverHasNoMore) {
  device_->allocator().Trim();
  const auto megabytes = [&](size_t n) { return device_->Allocate(n << 20); };
  static_cast<void>(*megabytes(1200));
  const StorageRef head = *megabytes(650), rest_of_device = *megabytes(800);
  const auto small = megabytes(200);  // of the 550 behind `head`, that cannot be given back
  EXPECT_TRUE(small.ok()) << small.status();
}

TEST_F(CudaDevice, KeepsToItsLimit) {
  Allocator& allocator = device_->allocator();
  allocator.SetLimit(allocator.stats().live_bytes + 1'000'000);
  const auto small = device_->Allocate(600'000), more = device_->Allocate(600'000);
  allocator.SetLimit(0);
  EXPECT_TRUE(small.ok());
  EXPECT_EQ(KindOf(more.status()), ErrorKind::kMemory);
  EXPECT_NE(std::string(more.status().message()).find("the limit is "), std::string::npos);
  EXPECT_TRUE(device_->Allocate(600'000).ok());
}

TEST_F(CudaDevice, SizesThatNoDeviceHasAreErrors) {
  EXPECT_EQ(KindOf(device_->Allocate(~size_t{0}).status()), ErrorKind::kMemory);
  EXPECT_EQ(KindOf(device_->Allocate(size_t{1} << 40).status()), ErrorKind::kMemory);
}

std::vector<std::string> NoOptions(int arch, bool ptx) {
  return {StrCat("--gpu-architecture=", ptx ? "compute_" : "sm_", arch)};
}

// a[i] = a[i] * 2 + 1
Source Doubling(std::string name = "doubling") {
  return {name,
          StrCat("struct Args { int* a; long long n; };\n"
                 "extern \"C\" __global__ void ",
                 name,
                 "(Args args) {\n"
                 "  const long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;\n"
                 "  if (i < args.n) args.a[i] = args.a[i] * 2 + 1;\n}\n"),
          NoOptions};
}

struct Args {
  int* a;
  int64_t n;
};

TEST_F(CudaDevice, LaunchesInOrder) {
  const ModuleRef module = *Compile(device_, Doubling());
  const CUfunction function = *module->Function("doubling");
  const StorageRef storage = *device_->Allocate(4000);
  std::vector<int> numbers = Numbers(1000), want = numbers;
  ASSERT_TRUE(device_->CopyIn(AddressOf(storage), numbers.data(), 4000).ok());
  const auto name = std::make_shared<const LaunchName>("doubling", "a.py:1");
  const Args args{reinterpret_cast<int*>(storage->data), 1000};
  for (int i = 0; i < 5; ++i) {
    ASSERT_TRUE(device_->Launch(function, 4, 256, 0, &args, name).ok());
    for (int& x : want) x = x * 2 + 1;
  }
  ASSERT_TRUE(device_->CopyOut(numbers.data(), AddressOf(storage), 4000).ok());
  EXPECT_EQ(numbers, want);
}

TEST_F(CudaDevice, JoinsStreamsOfOthers) {
  const ModuleRef module = *Compile(device_, Doubling());
  const CUfunction function = *module->Function("doubling");
  CUstream foreign = nullptr;
  ASSERT_EQ(device_->driver().StreamCreate(&foreign, kStreamNonBlocking), kSuccess);
  const StorageRef storage = *device_->Allocate(4000);
  std::vector<int> numbers(1000, 0);
  ASSERT_TRUE(device_->CopyIn(AddressOf(storage), numbers.data(), 4000).ok());
  Args args{reinterpret_cast<int*>(storage->data), 1000};
  void* params[] = {&args};
  ASSERT_TRUE(device_->LetWait(foreign).ok());
  ASSERT_EQ(
      device_->driver().LaunchKernel(function, 4, 1, 1, 256, 1, 1, 0, foreign, params, nullptr),
      kSuccess);
  ASSERT_TRUE(device_->WaitFor(foreign).ok());
  ASSERT_TRUE(device_->CopyOut(numbers.data(), AddressOf(storage), 4000).ok());
  EXPECT_EQ(numbers, std::vector<int>(1000, 1));
}

TEST_F(CudaDevice, ErrorsNameWhatWasLaunched) {
  const ModuleRef module = *Compile(device_, Doubling());
  const CUfunction function = *module->Function("doubling");
  const StorageRef storage = *device_->Allocate(4000);
  const Args args{reinterpret_cast<int*>(storage->data), 1000};
  ASSERT_TRUE(device_->Synchronize().ok());
  Fail("kernel", 2, kIllegalAddress);
  for (const char* line : {"a.py:1", "a.py:2"}) {
    ASSERT_TRUE(device_
                    ->Launch(function, 4, 256, 0, &args,
                             std::make_shared<const LaunchName>("doubling", line))
                    .ok());
  }
  const Status status = device_->Synchronize();
  EXPECT_EQ(KindOf(status), ErrorKind::kRuntime);
  const std::string message(status.message());
  EXPECT_NE(message.find("CUDA_ERROR_ILLEGAL_ADDRESS"), std::string::npos) << message;
  EXPECT_NE(message.find("doubling (a.py:1), doubling (a.py:2)"), std::string::npos) << message;
  EXPECT_NE(message.find("FRAZIL_CUDA_SYNC=1"), std::string::npos) << message;
  EXPECT_FALSE(device_->Synchronize().ok());  // as with a real driver, nothing runs any more
  ClearError();
  EXPECT_TRUE(device_->Synchronize().ok());
}

TEST_F(CudaDevice, TextsThatDoNotCompileAreErrorsWithTheLog) {
  const Status status =
      Compile(device_, {"wrong", "extern \"C\" __global__ void wrong() { nonsense }", NoOptions})
          .status();
  EXPECT_EQ(KindOf(status), ErrorKind::kRuntime);
  EXPECT_NE(std::string(status.message()).find("nonsense"), std::string::npos) << status;
}

TEST_F(CudaDevice, OneCompilationForManyThreads) {
  const CompilerStats before = GetCompilerStats();
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i)
    threads.emplace_back([&] { EXPECT_TRUE(Compile(device_, Doubling("many_threads")).ok()); });
  for (std::thread& t : threads) t.join();
  const CompilerStats after = GetCompilerStats();
  EXPECT_EQ(after.compiled + after.from_disk - before.compiled - before.from_disk, 1);
  EXPECT_EQ(after.hits - before.hits, 7);
}

TEST_F(CudaDevice, CompilesSideBySideThoughAThreadIsAtHand) {
  if (NumThreads() < 2) GTEST_SKIP() << "one thread";
  ASSERT_TRUE(Compile(device_, Doubling("first")).ok());
  std::this_thread::sleep_for(std::chrono::milliseconds(100));  // its thread waits for work again
  setenv("FAKE_NVRTC_DELAY_MS", "700", 1);
  const int64_t before = GetCompilerStats().compile_us;
  const auto start = std::chrono::steady_clock::now();
  const CompilationRef one = StartCompile(device_, Doubling("side")),
                       other = StartCompile(device_, Doubling("by_side"));
  EXPECT_TRUE(one->Wait().ok() && other->Wait().ok());
  const std::chrono::duration<double, std::micro> took = std::chrono::steady_clock::now() - start;
  unsetenv("FAKE_NVRTC_DELAY_MS");
  EXPECT_GT(double(GetCompilerStats().compile_us - before), 1.3 * took.count());
}

TEST_F(CudaDevice, EveryCallThatFailsIsAnError) {
  for (const char* call : {"cuMemcpyHtoDAsync", "cuEventRecord", "cuEventSynchronize"}) {
    const StorageRef storage = *device_->Allocate(64);
    int x = 1;
    Fail(call, 1, kLaunchFailed);
    const Status status = device_->CopyIn(AddressOf(storage), &x, 4);
    EXPECT_EQ(KindOf(status), ErrorKind::kRuntime) << call;
    EXPECT_NE(std::string(status.message()).find("CUDA_ERROR_LAUNCH_FAILED"), std::string::npos);
    EXPECT_TRUE(device_->CopyIn(AddressOf(storage), &x, 4).ok()) << call;
  }
}

}  // namespace
}  // namespace frazil::cuda
