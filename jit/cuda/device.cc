#include "jit/cuda/device.h"

#include <algorithm>
#include <atomic>
#include <mutex>

#include "core/config.h"
#include "core/str.h"
#include "core/threads/at_fork.h"

namespace frazil::cuda {
namespace {

constexpr int kMost = 64;
std::array<std::atomic<Device*>, kMost> g_open{};

}  // namespace

thread_local CUstream Device::t_captured = nullptr;
thread_local CUstream Device::t_other = nullptr;

StatusOr<int> Device::Count() {
  FZ_ASSIGN_OR_RETURN(const DriverTable* driver, Driver());
  int count = 0;
  const CUresult result = driver->DeviceGetCount(&count);
  if (result == kNotInitialized) {  // though Driver() did: in another process
    return RuntimeError(
        "[cuda] the GPU driver was started before this process was forked, and no GPU outlives a "
        "fork: start processes with multiprocessing's \"spawn\".");
  }
  FZ_RETURN_IF_ERROR(DriverStatus(result, "cuda", "cannot count the GPUs"));
  return count;
}

StatusOr<Device*> Device::Get(int index) {
  if (index >= 0 && index < kMost) {
    if (Device* device = g_open[index].load(std::memory_order_acquire)) {
      FZ_RETURN_IF_ERROR(device->CheckProcess());
      return device;
    }
  }
  static std::array<std::once_flag, kMost> once;
  FZ_ASSIGN_OR_RETURN(const int count, Count());
  if (index < 0 || index >= count || index >= kMost) {
    return ValueError("[device] 'cuda:", index, "' does not exist: this machine has ", count,
                      count == 1 ? " GPU" : " GPUs", ".");
  }
  static auto* errors = new std::array<Status, kMost>;
  std::call_once(once[index], [&] {
    const ForkGuard guard;
    const StatusOr<Device*> opened = Open(index);
    (*errors)[index] = opened.status();
    if (opened.ok()) g_open[index].store(*opened, std::memory_order_release);
  });
  if (!(*errors)[index].ok()) return (*errors)[index];
  return g_open[index].load(std::memory_order_relaxed);
}

StatusOr<Device*> Device::Holding(uint64_t address) {
  FZ_ASSIGN_OR_RETURN(Device * any, Get(0));
  FZ_RETURN_IF_ERROR(any->Enter());
  int index = 0;
  FZ_RETURN_IF_ERROR(
      DriverStatus(any->driver_.PointerGetAttribute(&index, kPointerDeviceOrdinal, address),
                   "device", StrCat("the address 0x", absl::Hex(address), " is not on a GPU")));
  return Get(index);
}

std::vector<Device*> Device::Opened() {
  std::vector<Device*> out;
  for (const auto& open : g_open) {
    if (Device* device = open.load(std::memory_order_acquire)) out.push_back(device);
  }
  return out;
}

StatusOr<Device*> Device::Open(int index) {
  FZ_ASSIGN_OR_RETURN(const DriverTable* driver, Driver());
  // Lives as long as the process, as contexts do: what holds its memory may outlive everything
  // else.
  auto* device = new Device(*driver, index);
  CUdevice handle = 0;
  FZ_RETURN_IF_ERROR(DriverStatus(driver->DeviceGet(&handle, index), "device",
                                  StrCat("no handle of cuda:", index)));
  FZ_RETURN_IF_ERROR(device->Fill(handle));
  FZ_RETURN_IF_ERROR(DriverStatus(driver->DevicePrimaryCtxRetain(&device->context_, handle),
                                  "device", StrCat("no context on cuda:", index)));
  device->born_ = ForkGeneration();
  FZ_RETURN_IF_ERROR(device->Enter());
  FZ_RETURN_IF_ERROR(DriverStatus(driver->StreamCreate(&device->stream_, kStreamNonBlocking),
                                  "device", StrCat("no stream on cuda:", index)));
  FZ_RETURN_IF_ERROR(
      DriverStatus(driver->StreamCreate(&device->capture_stream_, kStreamNonBlocking), "device",
                   StrCat("no second stream on cuda:", index)));
  device->allocator_ = std::make_unique<Allocator>(
      *driver, index, [device] { return device->Enter(); },
      [device] { return device->Synchronize(); });
  device->staging_ = std::make_unique<Staging>(*driver);
  HoldAcrossFork(ForkOrder::kCaches, &device->capture_mutex_);
  HoldAcrossFork(ForkOrder::kCaches, &device->mutex_);
  return device;
}

Status Device::Fill(CUdevice handle) {
  char name[256] = {};
  size_t bytes = 0;
  FZ_RETURN_IF_ERROR(
      DriverStatus(driver_.DeviceGetName(name, sizeof name, handle), "device", "no name"));
  FZ_RETURN_IF_ERROR(
      DriverStatus(driver_.DeviceTotalMem(&bytes, handle), "device", "no size of memory"));
  const auto attribute = [&](int which) {
    int value = 0;
    return driver_.DeviceGetAttribute(&value, which, handle) == kSuccess ? value : 0;
  };
  info_.name = name;
  info_.memory_bytes = int64_t(bytes);
  info_.arch = attribute(kComputeCapabilityMajor) * 10 + attribute(kComputeCapabilityMinor);
  info_.multiprocessors = attribute(kMultiprocessorCount);
  info_.threads_per_multiprocessor = attribute(kMaxThreadsPerMultiprocessor);
  info_.l2_bytes = attribute(kL2CacheSize);
  info_.shared_bytes = attribute(kMaxSharedMemoryPerBlockOptin);
  info_.memory_clock_khz = attribute(kMemoryClockRate);
  info_.memory_bus_bits = attribute(kMemoryBusWidth);
  if (info_.arch < 50)
    return RuntimeError("[device] cuda:", index_, " (", info_.name, ") has compute capability ",
                        info_.arch / 10, ".", info_.arch % 10, "; 5.0 is the least.");
  return absl::OkStatus();
}

Status Device::CheckProcess() const {
  if (__builtin_expect(ForkGeneration() == born_, 1)) return absl::OkStatus();
  return RuntimeError("[cuda] cuda:", index_,
                      " was opened before this process was forked, and no GPU outlives a fork: "
                      "start processes with multiprocessing's \"spawn\".");
}

Status Device::Enter() const {
  FZ_RETURN_IF_ERROR(CheckProcess());
  // Other libraries set contexts too: what this thread set last would tell nothing.
  return DriverStatus(driver_.CtxSetCurrent(context_), "cuda", "no context");
}

Status Device::Check(CUresult result, std::string_view what) {
  if (__builtin_expect(result == kSuccess, 1)) return absl::OkStatus();
  const Status status = DriverStatus(result, "cuda", StrCat(what, " on cuda:", index_));
  if (result == kOutOfMemory) return status;
  return RuntimeError(status.message(), RecentLaunches());
}

std::string Device::RecentLaunches() {
  MutexLock lock(&mutex_);
  std::string text;
  const size_t shown = std::min(launches_, kRecent);
  for (size_t i = launches_ - shown; i < launches_; ++i) {
    const LaunchName& name = *recent_[i % kRecent];
    StrAppend(&text, text.empty() ? "" : ", ", name.kernel,
              name.origin.empty() ? "" : StrCat(" (", name.origin, ")"));
  }
  if (text.empty()) return "";
  return StrCat(" Launched since the last wait: ", shown < launches_ ? "..., " : "", text,
                launches_ > 1 ? ". FRAZIL_CUDA_SYNC=1 finds the one." : ".");
}

Status Device::CopyIn(CUdeviceptr to, const void* from, size_t bytes) {
  if (bytes == 0) return absl::OkStatus();
  FZ_RETURN_IF_ERROR(Enter());
  return Check(staging_->In(to, static_cast<const char*>(from), bytes, stream_),
               StrCat("copying ", bytes, " bytes to the device"));
}

Status Device::CopyOut(void* to, CUdeviceptr from, size_t bytes) {
  if (bytes == 0) return absl::OkStatus();
  FZ_RETURN_IF_ERROR(Enter());
  FZ_RETURN_IF_ERROR(Check(staging_->Out(static_cast<char*>(to), from, bytes, stream_),
                           StrCat("copying ", bytes, " bytes from the device")));
  return Broken();
}

Status Device::CopyWithin(CUdeviceptr to, CUdeviceptr from, size_t bytes) {
  if (bytes == 0) return absl::OkStatus();
  FZ_RETURN_IF_ERROR(Enter());
  return Check(driver_.MemcpyDtoDAsync(to, from, bytes, stream()),
               StrCat("copying ", bytes, " bytes"));
}

Status Device::CopyFrom(Device* other, CUdeviceptr to, CUdeviceptr from, size_t bytes) {
  if (other == this) return CopyWithin(to, from, bytes);
  if (bytes == 0) return absl::OkStatus();
  // The source must be there, and must not be given to another before it is read.
  FZ_RETURN_IF_ERROR(other->LetWait(stream_));
  FZ_RETURN_IF_ERROR(Enter());
  FZ_RETURN_IF_ERROR(
      Check(driver_.MemcpyPeerAsync(to, context_, from, other->context_, bytes, stream_),
            StrCat("copying ", bytes, " bytes from cuda:", other->index_)));
  FZ_RETURN_IF_ERROR(LetWait(other->stream_));
  return absl::OkStatus();
}

Status Device::Launch(CUfunction function, unsigned grid, unsigned block, unsigned shared_bytes,
                      const void* args, const LaunchNameRef& name) {
  FZ_RETURN_IF_ERROR(Enter());
  void* params[] = {const_cast<void*>(args)};
  return Launched(driver_.LaunchKernel(function, grid, 1, 1, block, 1, 1, shared_bytes, stream(),
                                       params, nullptr),
                  name);
}

Status Device::Launched(CUresult result, const LaunchNameRef& name) {
  {
    MutexLock lock(&mutex_);
    recent_[launches_++ % kRecent] = name;
  }
  static const bool sync = GetConfig().cuda_sync == "1";
  if (result == kSuccess) return sync && !t_captured ? Synchronize() : absl::OkStatus();
  return Check(result, StrCat("launching ", name->kernel));
}

StatusOr<CUgraph> Device::Capture(absl::FunctionRef<Status()> work) {
  FZ_RETURN_IF_ERROR(Enter());
  MutexLock lock(&capture_mutex_);
  FZ_RETURN_IF_ERROR(Check(driver_.StreamBeginCapture(capture_stream_, kCaptureThreadLocal),
                           "beginning to capture"));
  t_captured = capture_stream_;
  const Status status = work();
  t_captured = nullptr;
  CUgraph graph = nullptr;
  const Status ended =
      Check(driver_.StreamEndCapture(capture_stream_, &graph), "ending to capture");
  if (status.ok() && ended.ok()) return graph;
  if (graph) driver_.GraphDestroy(graph);
  return status.ok() ? ended : status;
}

Status Device::Synchronize() {
  FZ_RETURN_IF_ERROR(Enter());
  size_t before;
  {
    MutexLock lock(&mutex_);
    before = launches_;
  }
  FZ_RETURN_IF_ERROR(Check(driver_.StreamSynchronize(stream_), "waiting"));
  FZ_RETURN_IF_ERROR(Broken());
  MutexLock lock(&mutex_);
  if (launches_ == before) {
    launches_ = 0;
    recent_ = {};
  }
  return absl::OkStatus();
}

void Device::Break(const Status& why) {
  MutexLock lock(&mutex_);
  if (why_broken_.ok()) why_broken_ = why;
  broken_.store(true, std::memory_order_release);
}

Status Device::Broken() {
  if (__builtin_expect(!broken_.load(std::memory_order_acquire), 1)) return absl::OkStatus();
  MutexLock lock(&mutex_);
  return why_broken_;
}

Status Device::Join(CUstream from, CUstream to) {
  if (from == to) return absl::OkStatus();
  FZ_RETURN_IF_ERROR(Enter());
  CUevent event = nullptr;
  FZ_RETURN_IF_ERROR(Check(driver_.EventCreate(&event, kEventDisableTiming), "making an event"));
  CUresult result = driver_.EventRecord(event, from);
  if (result == kSuccess) result = driver_.StreamWaitEvent(to, event, 0);
  driver_.EventDestroy(event);  // the driver keeps it until it has happened
  return Check(result, "joining two streams");
}

}  // namespace frazil::cuda
