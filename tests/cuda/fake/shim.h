// CUDA C for the host: keywords, built-in variables, barriers, shuffles and intrinsics. Included
// before CUDA text by what HostText() (host_text.h) writes; block.cc runs the result, each thread
// on a stack of its own once it waits. Invariants: adds no arithmetic beyond what an intrinsic
// means, so what runs here is the text that a device would run; includes no header of the system,
// because reading those takes longer than the rest of a compilation.
#pragma once

#include "./shim_abi.h"

#define FZ_HOST 1
#define __global__
#define __device__
#define __host__
// In a section of its own: FzImage tells its size.
#define __shared__ static __attribute__((section("fz_shared")))
#define __constant__ static
#define __forceinline__ inline
#define __noinline__
#define __grid_constant__
#define __launch_bounds__(...)
#define __align__(bytes) __attribute__((aligned(bytes)))

static FzContext fz_context;
#define threadIdx fz_context.thread
#define blockIdx fz_context.block
#define blockDim fz_context.block_dim
#define gridDim fz_context.grid_dim
#define warpSize 32

extern "C" {
void* memcpy(void*, const void*, unsigned long) noexcept;
void* memset(void*, int, unsigned long) noexcept;
#define FZ_MATH_1(name) \
  float name##f(float); \
  double name(double);
#define FZ_MATH_2(name)        \
  float name##f(float, float); \
  double name(double, double);
FZ_MATH_1(fabs)
FZ_MATH_1(sqrt)
FZ_MATH_1(floor)
FZ_MATH_1(ceil)
FZ_MATH_1(trunc)
FZ_MATH_1(rint)
FZ_MATH_2(fmin)
FZ_MATH_2(fmax)
FZ_MATH_2(fmod)
FZ_MATH_2(copysign)
float fmaf(float, float, float);
double fma(double, double, double);
float ldexpf(float, int);
double ldexp(double, int);
#undef FZ_MATH_1
#undef FZ_MATH_2
}

#include "./shim_entry.h"
#include "./shim_intrinsics.h"
#include "./shim_threads.h"
#include "./shim_types.h"
