#include "kernels/fourier/fourier.h"

#include "core/cpu.h"
#include "core/threads/at_fork.h"
#include "kernels/fourier/variants.h"

namespace frazil {

void Fourier(const FourierArgs& args) {
  static const auto run = Cpu().avx512 ? frazil_fourier_avx512::Run
                          : Cpu().avx2 ? frazil_fourier_avx2::Run
                                       : frazil_fourier_plain::Run;
  const ForkGuard guard;  // ducc0 keeps tables for lengths that it met, under locks
  run(args);
}

}  // namespace frazil
