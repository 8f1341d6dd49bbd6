// The transforms by AVX-512. Called by choose.cc.
#include "kernels/fourier/standard_headers.h"

#define DUCC0_NAMESPACE frazil_fourier_avx512
#pragma GCC push_options
#pragma GCC target("avx512f,avx512bw,avx512dq,avx512vl,avx2,fma,bmi,bmi2,popcnt")
#include "kernels/fourier/transform.h"
#pragma GCC pop_options
