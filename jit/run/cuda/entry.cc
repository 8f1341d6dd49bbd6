#include "jit/run/cuda/entry.h"

#include <limits>

#include "jit/run/cuda/kernel.h"

namespace frazil::jit {

CudaEntry::CudaEntry(gpu::Device* device, const std::string& entry, const std::string& text,
                     const std::string& origin)
    : device_(device),
      name_(std::make_shared<const gpu::LaunchName>(gpu::LaunchName{entry, origin})),
      compilation_(gpu::StartCompile(device, CudaText(entry, text))) {}

Status CudaEntry::Launch(int64_t blocks, int threads, const void* args) const {
  std::call_once(once_, [this] { status_ = Load(); });
  FZ_RETURN_IF_ERROR(status_);
  if (blocks > std::numeric_limits<int32_t>::max())
    return NotImplementedError("[cuda] ", name_->kernel, " takes ", blocks,
                               " blocks, more than a launch may have.");
  return device_->Launch(function_, static_cast<unsigned>(blocks), static_cast<unsigned>(threads),
                         0, args, name_);
}

Status CudaEntry::Load() const {
  FZ_ASSIGN_OR_RETURN(module_, compilation_->Wait());
  FZ_ASSIGN_OR_RETURN(function_, module_->Function(name_->kernel));
  return absl::OkStatus();
}

}  // namespace frazil::jit
