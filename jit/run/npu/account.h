// The device's account as a report: every program that ran is timed by the cycle model. Called by
// the bindings. Invariant: asking for a report changes nothing; equal programs get equal cycles.
#pragma once

#include "jit/run/npu/device.h"
#include "npu/report.h"

namespace frazil::jit {

StatusOr<npu::ProgramReport> MakeReport(const NpuDevice& device);

// Of one kernel, with every instruction recorded.
StatusOr<npu::KernelReport> TimeKernel(const NpuWork& work, bool record);

}  // namespace frazil::jit
