// A generated kernel as a step of plans on the NPU. Made by the backend, and by products for
// the kernel that follows them. Invariant: as DeviceKernel's; extents and strides never change.
#pragma once

#include "jit/emit/npu/estimate.h"
#include "jit/run/device_kernel.h"
#include "jit/run/npu/program_for.h"

namespace frazil::jit {

class NpuKernel : public DeviceKernel {
 public:
  NpuKernel(const Launch& launch, const std::string& origin)
      : kernel_(launch.kernel),
        extents_(launch.extents),
        strides_(launch.strides),
        rows_(launch.rows),
        cols_(launch.cols),
        work_(launch.work),
        origin_(origin) {
    for (const npu::Reach& r : npu::ReachOf(kernel_, {extents_, strides_}))
      buffers_.push_back({nullptr, r.low, r.high, r.writable});
  }

  Status Run(const kir::KernelArgs& args) const override;

  // The reach of a buffer, and the shape, for what launches a part of this kernel.
  const NpuBuffer& buffer(int b) const { return buffers_[b]; }
  const int64_t* extents() const { return extents_.data(); }
  const int64_t* strides() const { return strides_.data(); }

  std::string text() const override { return StrCat("npu ", kernel_.name); }
  int64_t bytes() const override { return int64_t(sizeof(*this)) + program_.bytes(); }
  std::string refusal() const override {
    std::string why;
    MakeProgram(&why);
    return why;
  }

 private:
  std::shared_ptr<const NpuProgram> MakeProgram(std::string* refusal) const;

  Status RunOnCpu(const kir::KernelArgs& args, const std::string& refusal) const;

  const kir::Kernel kernel_;
  const std::vector<int64_t> extents_, strides_;
  const int64_t rows_, cols_, work_;
  const std::string origin_;
  std::vector<NpuBuffer> buffers_;  // without data
  ProgramFor program_;
};

}  // namespace frazil::jit
