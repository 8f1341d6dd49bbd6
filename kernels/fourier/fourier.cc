#include "kernels/fourier/fourier.h"

#include "core/cpu.h"
#include "core/threads/at_fork.h"
#include "kernels/fourier/library.h"

namespace frazil {

Status Fourier(const FourierArgs& args) {
  static const StatusOr<FourierRun> run = FindFourier(Cpu().avx512, Cpu().avx2);
  if (!run.ok()) return run.status();
  const ForkGuard guard;  // ducc0 keeps tables for lengths that it met, under locks
  (*run)(args);
  return absl::OkStatus();
}

}  // namespace frazil
