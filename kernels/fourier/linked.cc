#include "kernels/fourier/library.h"

namespace frazil {

StatusOr<FourierRun> FindFourier(bool avx512, bool avx2) { return frz_fourier_of(avx512, avx2); }

}  // namespace frazil
