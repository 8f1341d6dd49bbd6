// Which variant serves a processor: the one function that the library of transforms shows.
#include "kernels/fourier/library.h"
#include "kernels/fourier/variants.h"

frazil::FourierRun frz_fourier_of(bool avx512, bool avx2) {
  return avx512 ? frazil_fourier_avx512::Run
         : avx2 ? frazil_fourier_avx2::Run
                : frazil_fourier_plain::Run;
}
