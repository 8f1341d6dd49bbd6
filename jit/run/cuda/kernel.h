// A generated kernel as a step of plans on a GPU. Made by the backend. Invariant: as
// DeviceKernel's; extents and strides never change, texts follow the alignment of addresses; a text
// is compiled once, in the background, from the moment a plan has it, and until then the generic
// kernel runs instead where that is there and quick enough.
#pragma once

#include <mutex>
#include <vector>

#include "jit/cuda/compiler.h"
#include "jit/emit/cuda/cuda.h"
#include "jit/run/cuda/generic.h"
#include "jit/run/device_kernel.h"

namespace frazil::jit {

// The whole text of CUDA C sources for NVRTC: the prelude stands before it.
gpu::Source CudaText(const std::string& name, const std::string& text);

// One text of a kernel and, once they are compiled, its functions.
class CudaVersion {
 public:
  // Begins to compile.
  CudaVersion(gpu::Device* device, cuda::CudaSource source, const std::string& origin);

  bool fresh() const { return fresh_; }  // its text was met for the first time

  const cuda::CudaSource& source() const { return source_; }
  const gpu::LaunchNameRef& name() const { return name_; }
  bool compiled() const { return compilation_->done(); }
  // Waits for the compiler. One function a phase.
  StatusOr<absl::Span<const gpu::CUfunction>> Functions() const;

 private:
  Status Load() const;

  const cuda::CudaSource source_;
  const gpu::LaunchNameRef name_;
  gpu::Device* const device_;
  bool fresh_ = false;
  const gpu::CompilationRef compilation_;
  mutable std::once_flag once_;
  mutable Status status_;
  mutable gpu::ModuleRef module_;
  mutable std::vector<gpu::CUfunction> functions_;
};

class CudaKernel : public DeviceKernel {
 public:
  // NotImplementedError: no text of this kernel can be launched.
  static Status Check(const Launch& launch);
  static StatusOr<std::unique_ptr<const DeviceKernel>> Make(gpu::Device* device,
                                                            const Launch& launch,
                                                            const std::string& origin);

  Status Run(const kir::KernelArgs& args) const override;
  std::string text() const override;
  int64_t bytes() const override;
  std::string refusal() const override { return {}; }
  bool compiles() const override { return versions_[0]->fresh(); }

  // For graphs of launches: the version that serves these buffers, and the grid of its entries.
  StatusOr<const CudaVersion*> VersionFor(void* const* buffers) const;
  absl::Span<const int64_t> extents() const { return extents_; }
  absl::Span<const int64_t> strides() const { return strides_; }
  const kir::Kernel& kernel() const { return kernel_; }

 private:
  CudaKernel(gpu::Device* device, const Launch& launch, const std::string& origin)
      : device_(device),
        kernel_(launch.kernel),
        extents_(launch.extents),
        strides_(launch.strides),
        origin_(origin) {}

  gpu::Device* const device_;
  const kir::Kernel kernel_;
  const std::vector<int64_t> extents_, strides_;
  const std::string origin_;
  std::unique_ptr<const CudaGeneric> generic_;  // null: never
  mutable std::mutex mutex_;
  // Of each variant that was asked for; never removed, so that pointers stay.
  mutable std::vector<std::unique_ptr<const CudaVersion>> versions_;
  // The addresses that were asked for last, and their version.
  mutable std::vector<uint64_t> last_addresses_;
  mutable const CudaVersion* last_ = nullptr;
};

}  // namespace frazil::jit
