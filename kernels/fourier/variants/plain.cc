// The transforms by the instructions that every processor has. Called by choose.cc.
#include "kernels/fourier/standard_headers.h"

#define DUCC0_NAMESPACE frazil_fourier_plain
#include "kernels/fourier/transform.h"
