// The floating-point mode that frazil's arithmetic assumes: round to nearest, no flushing of
// subnormals, no traps; and the one that flushes. Called by plans around kernels and by worker
// threads when they start (a thread inherits its creator's mode). Invariant: the caller's mode is
// back after the scope.
#pragma once

#include <cstdint>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace frazil {

class DefaultFpMode {
 public:
#if defined(__x86_64__)
  DefaultFpMode() : before_(_mm_getcsr()) {
    if (__builtin_expect((before_ & ~kStatusBits) != kDefault, 0)) _mm_setcsr(kDefault);
  }
  ~DefaultFpMode() {
    if (__builtin_expect((before_ & ~kStatusBits) != kDefault, 0)) _mm_setcsr(before_);
  }
#else
  DefaultFpMode() = default;
#endif
  DefaultFpMode(const DefaultFpMode&) = delete;
  DefaultFpMode& operator=(const DefaultFpMode&) = delete;

 private:
  static constexpr uint32_t kDefault = 0x1F80;   // all exceptions masked
  static constexpr uint32_t kStatusBits = 0x3F;  // which exceptions have happened
  uint32_t before_ = kDefault;
};

// In the scope subnormals are zeros, as operands and as results.
class FlushingFpMode {
 public:
#if defined(__x86_64__)
  FlushingFpMode() : before_(_mm_getcsr()) { _mm_setcsr(kFlushing); }
  ~FlushingFpMode() { _mm_setcsr(before_); }
#else
  FlushingFpMode() = default;
#endif
  FlushingFpMode(const FlushingFpMode&) = delete;
  FlushingFpMode& operator=(const FlushingFpMode&) = delete;

 private:
  static constexpr uint32_t kFlushing = 0x9FC0;
  uint32_t before_ = kFlushing;
};

}  // namespace frazil
