// Kernels on the generic text (jit/emit/cuda/generic.h) while their own is being compiled. Called
// by CudaKernel. Invariant: as DeviceKernel's; nothing here waits for a compiler unless
// FRAZIL_CUDA_GENERIC=always says so.
#pragma once

#include <mutex>

#include "jit/cuda/compiler.h"
#include "jit/emit/cuda/generic.h"

namespace frazil::jit {

namespace gpu = ::frazil::cuda;

enum class GenericUse : uint8_t { kNever, kAuto, kAlways };
GenericUse GetGenericUse();
void SetGenericUse(GenericUse use);  // for tests; kernels that were made under kNever keep to it
// Launches of kernels that went to the generic one.
int64_t GenericLaunches();

// The generic kernel on one device.
class GenericModule {
 public:
  // Begins to compile at the first call.
  static const GenericModule* Of(gpu::Device* device);

  bool ready() const { return compilation_->done(); }
  // Waits for the compiler.
  StatusOr<gpu::CUfunction> Function() const;

 private:
  explicit GenericModule(gpu::Device* device);

  const gpu::CompilationRef compilation_;
  mutable std::once_flag once_;
  mutable gpu::ModuleRef module_;
  mutable StatusOr<gpu::CUfunction> function_ = nullptr;
};

// One kernel as a program of it.
class CudaGeneric {
 public:
  CudaGeneric(gpu::Device* device, const kir::Kernel& kernel, absl::Span<const int64_t> extents)
      : device_(device), module_(GenericModule::Of(device)), kernel_(kernel), extents_(extents) {}

  // It may run now, and not for longer than compilers take.
  bool Ready() const;
  // NotImplementedError or MemoryError: nothing was launched.
  Status Run(const kir::KernelArgs& args, const gpu::LaunchNameRef& name) const;
  int64_t bytes() const {
    return int64_t(sizeof(*this) + kernel_.body.size() * sizeof(cuda::GenericInst));
  }

 private:
  Status Encoded() const;

  gpu::Device* const device_;
  const GenericModule* const module_;
  const kir::Kernel& kernel_;
  const absl::Span<const int64_t> extents_;
  mutable std::once_flag once_;
  mutable Status status_;
  mutable cuda::GenericProgram program_;
  mutable cuda::GenericLaunch launch_;
  mutable StorageRef insts_;
};

}  // namespace frazil::jit
