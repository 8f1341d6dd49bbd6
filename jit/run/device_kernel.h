// Kernels and library calls of devices other than the CPU, as steps of plans. Made by the planner
// for values that live on a device. Invariant: results are the CPU's bits; what the device cannot
// run, the CPU runs on the same memory, and it is counted.
//
// A value has a device, and a graph's nodes have theirs; infer gives the result the operands'
// device (a single CPU number, perhaps repeated, goes with any) and refuses mixtures. to_device is
// an op like any other: differentiable, recorded, a library call in plans. fuse keeps apart what a
// device cannot compute. Lowering knows no devices: the planner asks the device's backend
// (jit/run/device_backend.h) for a launch on another device, with its extents and strides.
//
// On the NPU that is jit/run/npu/kernel.cc: a program is emitted for these extents, and again when
// the preset changes; what the emitter refuses runs on the CPU on the same memory, counted in the
// device's account with the reason. Memory of the NPU is host memory under other addresses: a
// launch maps the bytes its buffers reach to windows whose addresses depend on sizes alone, so
// cycles repeat. A fault is raised as NpuFault and never hidden.
#pragma once

#include <memory>
#include <string>

#include "jit/library/library.h"
#include "jit/lower/lower.h"

namespace frazil::jit {

class DeviceKernel {
 public:
  virtual ~DeviceKernel() = default;
  virtual Status Run(const kir::KernelArgs& args) const = 0;
  // As LibraryCall's, of what is not a generated kernel.
  virtual bool capturable() const { return false; }
  virtual std::string text() const = 0;            // for dumps
  virtual int64_t bytes() const = 0;               // about what it holds
  virtual std::string refusal() const = 0;         // why the CPU runs it; empty if the device does
  virtual bool compiles() const { return false; }  // making it began a compilation
};

}  // namespace frazil::jit
