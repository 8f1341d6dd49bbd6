// What a device other than the CPU adds to plans: how its kernels, products and other library calls
// become steps, and which steps it takes as one. One object for each kind (jit/run/cuda/backend,
// jit/run/npu/backend), registered once (RegisterBackend), which is all that frazil asks of a new
// device. Called by the planner. Invariant: results are the CPU's bits.
#pragma once

#include "core/backend.h"
#include "jit/run/device_kernel.h"
#include "jit/run/step.h"

namespace frazil::jit {

class DeviceBackend : public Backend {
 public:
  // NotImplementedError: what the kernel needs is more than a launch on the device may have.
  virtual Status CheckLaunch(const Launch&) const { return absl::OkStatus(); }

  // `launch` with its extents and strides; `origin` is the user's line ("train.py:12") or empty.
  virtual StatusOr<std::unique_ptr<const DeviceKernel>> MakeKernel(
      Device device, const Launch& launch, const std::string& origin) const = 0;

  // What is not a generated kernel, for node `id`; `cpu` is the same on the CPU, which is what runs
  // where a device has nothing of its own and the CPU addresses its memory.
  virtual StatusOr<std::unique_ptr<const LibraryCall>> MakeCall(
      const Graph& graph, int32_t id, const std::string& origin, Precision precision,
      std::unique_ptr<const LibraryCall> cpu) const = 0;

  // Both as one, for matmul node `id` and a launch whose buffer number `product` is its result, all
  // of whose readers it is: what it runs on is WithoutProduct (jit/plan/pending.h).
  // NotImplementedError: they stay two steps.
  virtual StatusOr<std::unique_ptr<const DeviceKernel>> JoinEpilogue(const Graph&, int32_t,
                                                                     const Launch&, int,
                                                                     const std::string&,
                                                                     Precision) const {
    return NotImplementedError("[", std::string(name()), "] products have no epilogue.");
  }

  // Whether a step may be one of several that are launched as one, and those.
  virtual bool MayJoin(const Step&) const { return false; }
  virtual std::unique_ptr<Step> MakeGroup(Device, Steps, std::vector<std::vector<int32_t>>) const {
    return nullptr;
  }
};

// Of any device but the CPU.
inline const DeviceBackend& DeviceBackendOf(Device device) {
  return static_cast<const DeviceBackend&>(BackendOf(device));
}

}  // namespace frazil::jit
