#include "jit/run/npu/kernel.h"

#include "jit/cache/kernel_cache.h"
#include "jit/run/launch.h"

namespace frazil::jit {

Status NpuKernel::Run(const kir::KernelArgs& args) const {
  std::string refusal;
  const auto program = MakeProgram(&refusal);
  if (!program) return RunOnCpu(args, refusal);
  std::vector<NpuBuffer> buffers = buffers_;
  for (size_t b = 0; b < buffers.size(); ++b) buffers[b].data = static_cast<char*>(args.buffers[b]);
  return NpuDevice::Get().Launch(program, buffers, {args.scalars, kernel_.scalars.size()}, origin_);
}

Status NpuKernel::RunOnCpu(const kir::KernelArgs& args, const std::string& refusal) const {
  FZ_ASSIGN_OR_RETURN(const std::shared_ptr<const Compiled> code, GetKernel(kernel_));
  RunLaunch(*code, args, rows_, cols_, work_);
  NpuDevice::Get().CountCpu(kernel_.name, origin_, refusal, buffers_);
  return absl::OkStatus();
}

std::shared_ptr<const NpuProgram> NpuKernel::MakeProgram(std::string* refusal) const {
  return program_.Get(
      [&](const npu::Preset& preset) {
        return npu::EmitKernel(kernel_, {extents_, strides_}, preset,
                               OptionsFor(kernel_.name, origin_));
      },
      refusal);
}

}  // namespace frazil::jit
