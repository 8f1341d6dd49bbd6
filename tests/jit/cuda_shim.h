// Compiles CUDA text for the host: threads are looped over between two synchronisations. Included
// by the source that tests/jit/cuda_test.cc writes, before CudaPrelude(). Invariant: adds no
// arithmetic beyond the integer intrinsics, so what runs here is the text that a device would run.
#pragma once

#include <cmath>
#include <cstring>

#define FZ_SHIM
#define __global__
#define __device__
#define __shared__

// A block's threads take turns; what is outside FZ_THREADS is the same for all and runs once.
#define FZ_THREADS for (int thread = 0; thread < int(blockDim.x); ++thread)
#define FZ_SYNC static_cast<void>(0)
#define FZ_FIRST true

struct Dim {
  unsigned x;
};
static thread_local Dim blockIdx, threadIdx, blockDim;

inline int __mulhi(int a, int b) { return int((long long)a * b >> 32); }
inline unsigned __umulhi(unsigned a, unsigned b) {
  return unsigned((unsigned long long)a * b >> 32);
}
inline long long __mul64hi(long long a, long long b) { return (long long)((__int128)a * b >> 64); }
inline unsigned long long __umul64hi(unsigned long long a, unsigned long long b) {
  return (unsigned long long)((unsigned __int128)a * b >> 64);
}

// Launches one entry on its argument words.
template <typename Args>
void Launch(void (*entry)(Args), const void* words, long long points, unsigned threads,
            bool block_per_point) {
  Args args;
  std::memcpy(&args, words, sizeof(args));
  blockDim.x = threads;
  const long long blocks = block_per_point ? points : (points + threads - 1) / threads;
  for (long long block = 0; block < blocks; ++block) {
    blockIdx.x = unsigned(block);
    for (unsigned thread = 0; thread < (block_per_point ? 1 : threads); ++thread) {
      threadIdx.x = thread;
      entry(args);
    }
  }
}
