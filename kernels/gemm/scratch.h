// Memory that one thread keeps between multiplications: packed panels and temporary outputs.
// Called by kernels/gemm/*.cc. Invariant: a buffer is valid until the next Get of the same slot on
// the same thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <new>

namespace frazil::gemm {

class Scratch {
 public:
  enum Slot { kPackedA, kPackedB, kOutput, kSumFirst, kSumLast = kSumFirst + 20, kSlots };

  static Scratch& ThisThread() {
    static thread_local Scratch scratch;
    return scratch;
  }

  ~Scratch() {
    for (Buffer& b : buffers_) std::free(b.data);
  }

  template <typename T>
  T* Get(int slot, int64_t count) {
    Buffer& b = buffers_[slot];
    size_t bytes = (size_t(count) * sizeof(T) + kAlign - 1) / kAlign * kAlign;
    if (bytes > b.bytes) {
      std::free(b.data);
      b = Buffer{};
      b.data = std::aligned_alloc(kAlign, bytes);
      if (b.data == nullptr) throw std::bad_alloc();
      b.bytes = bytes;
    }
    return static_cast<T*>(b.data);
  }

 private:
  static constexpr size_t kAlign = 4096;
  struct Buffer {
    void* data = nullptr;
    size_t bytes = 0;
  };
  Buffer buffers_[kSlots];
};

}  // namespace frazil::gemm
