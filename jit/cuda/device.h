// One NVIDIA GPU: its context, the stream frazil's work is ordered on, memory, copies, launches.
// Called by the steps of plans (jit/runtime/cuda) and the bindings. Invariants: all work of a device
// that touches tensors is ordered on stream() (other streams are joined to it by events), so a
// block of memory may be given to a new owner as soon as the host lets go of the old one; what the
// device does wrong later is an error of the next call that waits, and names the launches since the
// last wait.
#pragma once

#include <memory>
#include <string>

#include "core/storage.h"
#include "jit/cuda/libraries.h"

namespace frazil::cuda {

struct DeviceInfo {
  std::string name;
  int arch = 0;  // 90 for compute capability 9.0
  int multiprocessors = 0, threads_per_multiprocessor = 0;
  int64_t memory_bytes = 0, l2_bytes = 0;
  int shared_bytes = 0;  // that one block may ask for
};

// What a launch is called in errors: the kernel's name and the user's line ("train.py:12").
struct LaunchName {
  std::string kernel, origin;
};

class Device {
 public:
  // Opened at first use; the same error each time if it cannot be.
  static StatusOr<Device*> Get(int index);
  static StatusOr<int> Count();

  int index() const { return index_; }
  const DeviceInfo& info() const { return info_; }
  const DriverTable& driver() const { return driver_; }
  CUstream stream() const { return stream_; }
  CUcontext context() const { return context_; }

  // Makes the device's context current in this thread.
  Status Enter() const;

  // Of the caching allocator (jit/cuda/allocator.h): 256-byte aligned, contents undefined.
  StatusOr<StorageRef> Allocate(size_t bytes);

  // The host may change `from` on return.
  Status CopyIn(CUdeviceptr to, const void* from, size_t bytes);
  // Waits for all work before it.
  Status CopyOut(void* to, CUdeviceptr from, size_t bytes);
  // Ordered on both devices' streams; does not wait.
  Status CopyWithin(CUdeviceptr to, CUdeviceptr from, size_t bytes);
  Status CopyFrom(Device* other, CUdeviceptr to, CUdeviceptr from, size_t bytes);

  // `args` is the kernel's one parameter, a struct of `bytes` bytes. With FRAZIL_CUDA_SYNC=1 it waits, so
  // that an error names its launch.
  Status Launch(CUfunction function, unsigned grid, unsigned block, unsigned shared_bytes,
                const void* args, size_t bytes, const LaunchName& name);
  // Notes a launch that something else makes (a graph, a library), for errors.
  void NoteLaunch(const LaunchName& name);

  Status Synchronize();

  // Makes stream() wait for what is queued on `other`, and the other way round. For streams of
  // other libraries (DLPack).
  Status WaitFor(CUstream other);
  Status LetWait(CUstream other);

 private:
  // Filled in by the implementation.
};

}  // namespace frazil::cuda
