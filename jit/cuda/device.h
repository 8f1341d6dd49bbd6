// One NVIDIA GPU: its context, the stream frazil's work is ordered on, memory, copies, launches.
// Called by the steps of plans (jit/run/cuda) and the bindings. Invariants: all work of a
// device that touches tensors is ordered on stream() (other streams are joined to it by events), so
// a block of memory may be given to a new owner as soon as the host lets go of the old one; what
// the device does wrong later is an error of the next call that waits, and names the launches since
// the last wait. A forked child has no GPU: every call is an error there.
#pragma once

#include <array>
#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "core/memory/storage.h"
#include "core/threads/mutex.h"
#include "jit/cuda/allocator.h"
#include "jit/cuda/libraries.h"
#include "jit/cuda/staging.h"

namespace frazil::cuda {

struct DeviceInfo {
  std::string name;
  int arch = 0;  // 90 for compute capability 9.0
  int multiprocessors = 0, threads_per_multiprocessor = 0;
  int64_t memory_bytes = 0, l2_bytes = 0;
  int shared_bytes = 0;                           // that one block may ask for
  int memory_clock_khz = 0, memory_bus_bits = 0;  // 0 where the driver does not tell
};

// What a launch is called in errors: the kernel's name and the user's line ("train.py:12").
struct LaunchName {
  std::string kernel, origin;
};
using LaunchNameRef = std::shared_ptr<const LaunchName>;

class Device {
 public:
  // Opened at first use; the same error each time if it cannot be.
  static StatusOr<Device*> Get(int index);
  static StatusOr<int> Count();
  // The one that memory of any library lies on.
  static StatusOr<Device*> Holding(uint64_t address);
  // Those in use.
  static std::vector<Device*> Opened();

  int index() const { return index_; }
  const DeviceInfo& info() const { return info_; }
  const DriverTable& driver() const { return driver_; }
  // Inside Capture: the stream that is captured. Inside OnStream: that one.
  CUstream stream() const {
    return t_captured ? t_captured : __builtin_expect(t_other != nullptr, 0) ? t_other : stream_;
  }
  // What this thread queues goes to another stream, which its owner joins to the device's.
  class OnStream {
   public:
    explicit OnStream(CUstream stream) { t_other = stream; }
    ~OnStream() { t_other = nullptr; }
    OnStream(const OnStream&) = delete;
  };
  // In this thread.
  bool capturing() const { return t_captured != nullptr; }
  CUcontext context() const { return context_; }
  Allocator& allocator() { return *allocator_; }

  // Makes the device's context current in this thread.
  Status Enter() const;

  StatusOr<StorageRef> Allocate(size_t bytes) { return allocator_->Allocate(bytes); }

  // The host may change `from` on return.
  Status CopyIn(CUdeviceptr to, const void* from, size_t bytes);
  // Waits for all work before it.
  Status CopyOut(void* to, CUdeviceptr from, size_t bytes);
  // Do not wait. CopyFrom is ordered on both devices' streams.
  Status CopyWithin(CUdeviceptr to, CUdeviceptr from, size_t bytes);
  Status CopyFrom(Device* other, CUdeviceptr to, CUdeviceptr from, size_t bytes);

  // `args` is the kernel's one parameter, a struct. With FRAZIL_CUDA_SYNC=1 it waits, so that an
  // error names its launch.
  Status Launch(CUfunction function, unsigned grid, unsigned block, unsigned shared_bytes,
                const void* args, const LaunchNameRef& name);
  // Notes a launch that something else makes (a graph, a library), for errors; `result` is what it
  // returned.
  Status Launched(CUresult result, const LaunchNameRef& name);

  // A graph of what `work` queues on stream() in this thread, which must not wait or allocate from
  // the driver. The caller destroys it.
  StatusOr<CUgraph> Capture(absl::FunctionRef<Status()> work);

  // Waits for all work; OK, or what went wrong since the last wait.
  Status Synchronize();

  // What is queued will never be right (other processes were to send a part of it): from now on
  // every wait is this error.
  void Break(const Status& why);

  // Makes stream() wait for what is queued on `other`, and the other way round: for streams of
  // other libraries (DLPack) and of other devices.
  Status WaitFor(CUstream other) { return Join(other, stream_); }
  Status LetWait(CUstream other) { return Join(stream_, other); }
  // Streams as the numbers that Python passes around.
  int64_t stream_number() const { return reinterpret_cast<int64_t>(stream_); }
  Status WaitForNumber(int64_t other) { return WaitFor(reinterpret_cast<CUstream>(other)); }
  Status LetNumberWait(int64_t other) { return LetWait(reinterpret_cast<CUstream>(other)); }

 private:
  static constexpr size_t kRecent = 32;

  Device(const DriverTable& driver, int index) : index_(index), driver_(driver) {}
  static StatusOr<Device*> Open(int index);
  Status Fill(CUdevice handle);
  // An error in a forked child.
  Status CheckProcess() const;

  Status Join(CUstream from, CUstream to);
  Status Check(CUresult result, std::string_view what);
  std::string RecentLaunches() ABSL_LOCKS_EXCLUDED(mutex_);

  Status Broken() ABSL_LOCKS_EXCLUDED(mutex_);

  static thread_local CUstream t_captured, t_other;

  const int index_;
  const DriverTable& driver_;
  DeviceInfo info_;
  CUcontext context_ = nullptr;
  CUstream stream_ = nullptr;
  CUstream capture_stream_ = nullptr;  // nothing runs on it
  Mutex capture_mutex_;
  uint32_t born_ = 0;  // ForkGeneration
  std::unique_ptr<Allocator> allocator_;
  std::unique_ptr<Staging> staging_;
  Mutex mutex_;
  // Launches since the last wait, the oldest overwritten first.
  std::array<LaunchNameRef, kRecent> recent_ ABSL_GUARDED_BY(mutex_);
  size_t launches_ ABSL_GUARDED_BY(mutex_) = 0;
  std::atomic<bool> broken_{false};
  Status why_broken_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace frazil::cuda
