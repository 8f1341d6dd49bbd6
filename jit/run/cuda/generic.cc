#include "jit/run/cuda/generic.h"

#include <atomic>
#include <map>

#include "core/config.h"
#include "core/threads/at_fork.h"
#include "core/tuned.h"
#include "jit/run/cuda/kernel.h"

namespace frazil::jit {
namespace {

std::atomic<int64_t> g_launches{0};

std::atomic<GenericUse>& Use() {
  static std::atomic<GenericUse> use = [] {
    const std::string& text = GetConfig().cuda_generic;
    return text == "never"    ? GenericUse::kNever
           : text == "always" ? GenericUse::kAlways
                              : GenericUse::kAuto;
  }();
  return use;
}

uint64_t AddressOf(const StorageRef& storage) { return reinterpret_cast<uintptr_t>(storage->data); }

}  // namespace

GenericUse GetGenericUse() { return Use().load(std::memory_order_relaxed); }
void SetGenericUse(GenericUse use) { Use().store(use, std::memory_order_relaxed); }

int64_t GenericLaunches() { return g_launches.load(std::memory_order_relaxed); }

GenericModule::GenericModule(gpu::Device* device)
    : compilation_(gpu::StartCompile(device, CudaText(cuda::kGenericEntry, cuda::GenericText()))) {}

const GenericModule* GenericModule::Of(gpu::Device* device) {
  static auto* const modules = new std::map<gpu::Device*, std::unique_ptr<const GenericModule>>;
  static auto* const mutex = new std::mutex;
  const ForkGuard guard;
  std::lock_guard lock(*mutex);
  std::unique_ptr<const GenericModule>& module = (*modules)[device];
  if (!module) module.reset(new GenericModule(device));
  return module.get();
}

StatusOr<gpu::CUfunction> GenericModule::Function() const {
  std::call_once(once_, [this] {
    function_ = [this]() -> StatusOr<gpu::CUfunction> {
      FZ_ASSIGN_OR_RETURN(module_, compilation_->Wait());
      return module_->Function(cuda::kGenericEntry);
    }();
  });
  return function_;
}

bool CudaGeneric::Ready() const {
  return module_->ready() && module_->Function().ok() && Encoded().ok() &&
         launch_.steps <= tuned::kMostGenericSteps;
}

Status CudaGeneric::Encoded() const {
  std::call_once(once_, [this] {
    const ForkGuard guard;
    status_ = [this]() -> Status {
      FZ_ASSIGN_OR_RETURN(program_, cuda::EncodeGeneric(kernel_));
      FZ_ASSIGN_OR_RETURN(launch_, cuda::GenericShape(program_, extents_));
      const size_t bytes = program_.insts.size() * sizeof(cuda::GenericInst);
      FZ_ASSIGN_OR_RETURN(insts_, device_->Allocate(bytes));
      return device_->CopyIn(AddressOf(insts_), program_.insts.data(), bytes);
    }();
  });
  return status_;
}

Status CudaGeneric::Run(const kir::KernelArgs& args, const gpu::LaunchNameRef& name) const {
  FZ_RETURN_IF_ERROR(Encoded());
  FZ_ASSIGN_OR_RETURN(const gpu::CUfunction function, module_->Function());
  // Given back at once: what has it next comes later in the stream.
  FZ_ASSIGN_OR_RETURN(const StorageRef scratch, device_->Allocate(launch_.scratch_bytes));
  for (const auto& phase : program_.phases) {
    const std::vector<uint8_t> words =
        cuda::PackGeneric(program_, phase, args, AddressOf(insts_), AddressOf(scratch));
    FZ_RETURN_IF_ERROR(
        device_->Launch(function, launch_.grid, launch_.block, 0, words.data(), name));
  }
  g_launches.fetch_add(1, std::memory_order_relaxed);
  return absl::OkStatus();
}

}  // namespace frazil::jit
