#include "jit/run/cuda/kernel.h"

#include <algorithm>

#include "core/threads/at_fork.h"

namespace frazil::jit {

gpu::Source CudaText(const std::string& name, const std::string& text) {
  return {name, StrCat(CudaPrelude(), text), cuda::NvrtcOptions};
}

CudaVersion::CudaVersion(gpu::Device* device, cuda::CudaSource source, const std::string& origin)
    : source_(std::move(source)),
      name_(std::make_shared<const gpu::LaunchName>(gpu::LaunchName{source_.entries[0], origin})),
      device_(device),
      compilation_(gpu::StartCompile(device, CudaText(source_.entries[0], source_.text), &fresh_)) {
}

StatusOr<absl::Span<const gpu::CUfunction>> CudaVersion::Functions() const {
  std::call_once(once_, [this] { status_ = Load(); });
  if (!status_.ok()) return status_;
  return absl::MakeConstSpan(functions_);
}

Status CudaVersion::Load() const {
  FZ_ASSIGN_OR_RETURN(module_, compilation_->Wait());
  for (const std::string& entry : source_.entries) {
    FZ_ASSIGN_OR_RETURN(const gpu::CUfunction function, module_->Function(entry));
    if (source_.shared_bytes > 0 &&
        source_.shared_bytes + source_.static_shared_bytes > cuda::kCudaSharedUnasked) {
      FZ_RETURN_IF_ERROR(gpu::DriverStatus(
          device_->driver().FuncSetAttribute(function, gpu::kFuncMaxDynamicSharedSize,
                                             source_.shared_bytes),
          "cuda", StrCat(entry, " cannot have ", source_.shared_bytes, " shared bytes")));
    }
    functions_.push_back(function);
  }
  return absl::OkStatus();
}

// The most general text takes the most: if it can be launched, all can.
Status CudaKernel::Check(const Launch& launch) {
  return cuda::PrintCuda(launch.kernel, {}).status();
}

StatusOr<std::unique_ptr<const DeviceKernel>> CudaKernel::Make(gpu::Device* device,
                                                               const Launch& launch,
                                                               const std::string& origin) {
  std::unique_ptr<CudaKernel> kernel(new CudaKernel(device, launch, origin));
  FZ_RETURN_IF_ERROR(Check(launch));
  // What most calls will ask for: memory as the allocator gives it, nothing shared. It is compiled
  // while the plan is built.
  std::vector<void*> buffers;
  for (size_t b = 0; b < launch.buffers.size(); ++b)
    buffers.push_back(reinterpret_cast<void*>((b + 1) << 44 | uint64_t(launch.buffers[b].offset)));
  FZ_RETURN_IF_ERROR(kernel->VersionFor(buffers.data()).status());
  if (GetGenericUse() != GenericUse::kNever)
    kernel->generic_ =
        std::make_unique<const CudaGeneric>(device, kernel->kernel_, kernel->extents_);
  return kernel;
}

StatusOr<const CudaVersion*> CudaKernel::VersionFor(void* const* buffers) const {
  std::vector<uint64_t> addresses;
  for (size_t b = 0; b < kernel_.buffers.size(); ++b)
    addresses.push_back(reinterpret_cast<uintptr_t>(buffers[b]));
  const ForkGuard guard;
  std::lock_guard lock(mutex_);
  if (addresses == last_addresses_) return last_;
  const gpu::DeviceInfo& info = device_->info();
  const cuda::CudaVariant variant = cuda::ChooseVariant(kernel_, extents_, strides_, addresses,
                                                        {info.shared_bytes, info.multiprocessors});
  auto found = std::find_if(versions_.begin(), versions_.end(),
                            [&](const auto& v) { return v->source().variant == variant; });
  if (found == versions_.end()) {
    const std::vector<std::string> lines(origin_.empty() ? 0 : 1, origin_);
    FZ_ASSIGN_OR_RETURN(cuda::CudaSource source, cuda::PrintCuda(kernel_, variant, lines));
    versions_.push_back(std::make_unique<const CudaVersion>(device_, std::move(source), origin_));
    found = versions_.end() - 1;
  }
  last_addresses_ = std::move(addresses);
  last_ = found->get();
  return last_;
}

Status CudaKernel::Run(const kir::KernelArgs& args) const {
  FZ_ASSIGN_OR_RETURN(const CudaVersion* version, VersionFor(args.buffers));
  const cuda::CudaGrid grid = cuda::LaunchShape(version->source(), extents_);
  if (grid.grid == 0) return absl::OkStatus();
  const bool always = GetGenericUse() == GenericUse::kAlways;
  if (generic_ && (always || (!version->compiled() && generic_->Ready()))) {
    const Status ran = generic_->Run(args, version->name());
    if (ran.ok() ||
        (KindOf(ran) != ErrorKind::kNotImplemented && KindOf(ran) != ErrorKind::kMemory))
      return ran;
  }
  FZ_ASSIGN_OR_RETURN(const auto functions, version->Functions());
  const std::vector<uint8_t> words = cuda::PackArgs(version->source(), args);
  for (const gpu::CUfunction function : functions) {
    FZ_RETURN_IF_ERROR(device_->Launch(function, grid.grid, grid.block, grid.shared_bytes,
                                       words.data(), version->name()));
  }
  return absl::OkStatus();
}

std::string CudaKernel::text() const {
  std::lock_guard lock(mutex_);
  return StrCat("cuda ", versions_[0]->source().entries[0]);
}

int64_t CudaKernel::bytes() const {
  std::lock_guard lock(mutex_);
  size_t bytes = sizeof(*this) + (generic_ ? size_t(generic_->bytes()) : 0);
  for (const auto& version : versions_) bytes += sizeof(*version) + version->source().text.size();
  return int64_t(bytes);
}

}  // namespace frazil::jit
