#include "jit/register.h"

#include "autograd/grad.h"
#include "core/memory/last_resort.h"
#include "core/threads/mutex.h"
#include "jit/cache/kernel_cache.h"
#include "jit/eager/eager.h"
#include "jit/run/cuda/backend.h"
#include "jit/run/cuda/collective.h"
#include "jit/run/npu/backend.h"
#include "jit/segment.h"
#include "kernels/gemm/asmjit_stderr.h"
#include "tracer/trace.h"

namespace frazil::jit {

void RegisterDevices() {
  RegisterBackend(DeviceKind::kNpu, NpuBackend());
  RegisterBackend(DeviceKind::kCuda, CudaBackend());
  distributed::RegisterAccelerator(NcclAccelerator());
}

void RegisterJit() {
  static const bool once = [] {
    // Debian builds the library with this check on; it is most of what a lock costs.
    absl::SetMutexDeadlockDetectionMode(absl::OnDeadlockCycle::kIgnore);
    gemm::SetAsmjitStderr();
    GlobalRuntime().eager = EagerDoor();
    autograd::RegisterTape();
    SetHolderOfKernels([] { ShrinkEager(true); });
    RegisterSegmentCompiler();
    RegisterDevices();
    SetLastResort(tracer::LetGoOfAbandoned);
    return true;
  }();
  static_cast<void>(once);
}

}  // namespace frazil::jit
