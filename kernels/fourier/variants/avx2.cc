// The transforms by AVX2. Called by choose.cc.
#include "kernels/fourier/standard_headers.h"

#define DUCC0_NAMESPACE frazil_fourier_avx2
#pragma GCC push_options
#pragma GCC target("avx2,fma,bmi,bmi2,popcnt")
#include "kernels/fourier/transform.h"
#pragma GCC pop_options
