#include "jit/run/npu/account.h"

#include "core/memory/transfers.h"

namespace frazil::jit {

StatusOr<npu::KernelReport> TimeKernel(const NpuWork& work, bool record) {
  npu::LaunchOptions options;
  options.mode = npu::Mode::kTimeOnly;
  options.record = record;
  FZ_ASSIGN_OR_RETURN(
      npu::LaunchResult result,
      npu::Launch(work.program->program, work.program->preset, work.params, work.windows, options));
  if (result.fault) return NpuFaultError("[npu] ", result.fault->Text());
  npu::KernelReport report =
      npu::MakeKernelReport(work.program->program, work.program->preset, *std::move(result.timing));
  report.launches = work.launches;
  report.cache_hits = work.launches - 1;
  return report;
}

StatusOr<npu::ProgramReport> MakeReport(const NpuDevice& device) {
  npu::ProgramReport report;
  report.name = "npu";
  if (const int64_t more = device.unlisted(); more > 0)
    report.name = StrCat("npu (", more, " launches of further kernels are not listed)");
  for (const NpuWork& w : device.account()) {
    if (!w.program) {
      report.cpu_ops.push_back({w.name, w.origin, w.reason, w.launches});
      continue;
    }
    FZ_ASSIGN_OR_RETURN(npu::KernelReport kernel, TimeKernel(w, false));
    report.kernels.push_back(std::move(kernel));
  }
  const TransferStats moved = GetTransfers(Device(DeviceKind::kNpu, 0));
  report.bytes_to_device += moved.in_bytes;
  report.bytes_to_host += moved.out_bytes;
  return report;
}

}  // namespace frazil::jit
