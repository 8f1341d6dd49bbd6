// Barriers, shuffles, votes and atomics: what threads of a block do to each other. Part of shim.h.
// Invariant: threads of a block take turns and change only where one waits, so an atomic is plain
// arithmetic.
#pragma once

inline void __syncthreads() { fz_context.hooks->block_barrier(false); }
inline int __syncthreads_count(int value) { return int(fz_context.hooks->block_barrier(value)); }
inline int __syncthreads_or(int value) { return fz_context.hooks->block_barrier(value) != 0; }
inline int __syncthreads_and(int value) { return fz_context.hooks->block_barrier(!value) == 0; }
inline void __syncwarp(unsigned mask = ~0u) { fz_context.hooks->warp(kFzSync, mask, 0, 0); }
inline unsigned __ballot_sync(unsigned mask, int value) {
  return unsigned(fz_context.hooks->warp(kFzBallot, mask, value != 0, 0));
}
inline int __any_sync(unsigned mask, int value) { return __ballot_sync(mask, value) != 0; }
inline int __all_sync(unsigned mask, int value) { return __ballot_sync(mask, !value) == 0; }
inline void __threadfence() {}
inline void __threadfence_block() {}
inline void __nanosleep(unsigned) {}
inline void __trap() { fz_context.hooks->trap(); }

inline unsigned fz_lane() {
  const unsigned in_block = (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
  return in_block % 32;
}
template <class T>
T fz_shuffle(unsigned mask, T value, unsigned source) {
  static_assert(sizeof(T) == 4 || sizeof(T) == 8, "what a shuffle moves");
  unsigned long long word = 0;
  memcpy(&word, &value, sizeof(T));
  word = fz_context.hooks->warp(kFzShuffle, mask, word, source);
  memcpy(&value, &word, sizeof(T));
  return value;
}
// A source outside the lane's group of `width` means the lane itself.
template <class T>
T __shfl_sync(unsigned mask, T value, int source, int width = 32) {
  return fz_shuffle(mask, value, (fz_lane() & ~(width - 1u)) | (source & (width - 1)));
}
template <class T>
T __shfl_xor_sync(unsigned mask, T value, int flip, int width = 32) {
  const unsigned lane = fz_lane(), source = lane ^ flip;
  return fz_shuffle(mask, value, (source | (width - 1)) > (lane | (width - 1)) ? lane : source);
}
template <class T>
T __shfl_down_sync(unsigned mask, T value, unsigned delta, int width = 32) {
  const unsigned lane = fz_lane();
  return fz_shuffle(mask, value,
                    (lane & (width - 1)) + delta < unsigned(width) ? lane + delta : lane);
}
template <class T>
T __shfl_up_sync(unsigned mask, T value, unsigned delta, int width = 32) {
  const unsigned lane = fz_lane();
  return fz_shuffle(mask, value, (lane & (width - 1)) >= delta ? lane - delta : lane);
}

#define FZ_ATOMIC(name, step) \
  template <class T>          \
  T name(T* at, T value) {    \
    const T old = *at;        \
    *at = step;               \
    return old;               \
  }
FZ_ATOMIC(atomicAdd, T(old + value))
FZ_ATOMIC(atomicSub, T(old - value))
FZ_ATOMIC(atomicMax, old < value ? value : old)
FZ_ATOMIC(atomicMin, value < old ? value : old)
FZ_ATOMIC(atomicAnd, old& value)
FZ_ATOMIC(atomicOr, old | value)
FZ_ATOMIC(atomicExch, value)
#undef FZ_ATOMIC
inline unsigned atomicInc(unsigned* at, unsigned last) {
  const unsigned old = *at;
  *at = old >= last ? 0 : old + 1;
  return old;
}
template <class T>
T atomicCAS(T* at, T expected, T value) {
  const T old = *at;
  if (old == expected) *at = value;
  return old;
}
