// Memory that one thread keeps between multiplications: packed panels and temporary outputs.
// Called by kernels/gemm/*.cc and kernels/conv/*.cc, and by jit/library. Invariant: a
// buffer is valid until the next Get of the same slot on the same thread.
#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <new>

#include "core/threads/long_work.h"

namespace frazil::gemm {

class Scratch {
 public:
  enum Slot {
    kPackedA,
    kPackedB,
    kOutput,
    kAttention,
    kSumFirst,
    kSumLast = kSumFirst + 20,
    kPatches,  // of a convolution (kernels/conv)
    kImage,
    kWordsA,  // of integers (kernels/gemm/word_gemm.cc)
    kWordsB,
    kWidened,
    kTiles,
    kOther,
    kSlices,
    kRows,    // of batches that are joined (jit/library)
    kTurned,  // tiles of a turned product (kernels/gemm/blocked.cc)
    kSlots
  };

  // User code that runs in the middle of a multiplication (a signal handler) has buffers of its
  // own.
  static Scratch& ThisThread() {
    // Elsewhere: of memory that threads have from the start a process has little for libraries that
    // are opened later (glibc: 1.6 KB together).
    static thread_local std::unique_ptr<Scratch> scratch;
    if (!scratch) scratch = std::make_unique<Scratch>();
    Scratch* found = scratch.get();
    for (int i = LongWork::Interruptions(); i > 0; --i) {
      if (!found->inner_) found->inner_ = std::make_unique<Scratch>();
      found = found->inner_.get();
    }
    return *found;
  }

  Scratch() = default;
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  ~Scratch() {
    for (Buffer& b : buffers_) std::free(b.data);
  }

  template <typename T>
  T* Get(int slot, int64_t count) {
    Buffer& b = buffers_[slot];
    size_t bytes = size_t(count) * sizeof(T);
    if (bytes > b.bytes) Grow(&b, bytes);
    return static_cast<T*>(b.data);
  }

 private:
  static constexpr size_t kPage = 4096, kHugePage = size_t{2} << 20;
  struct Buffer {
    void* data = nullptr;
    size_t bytes = 0;
  };

  // Large buffers ask for huge pages: packed panels are walked in an order that is hard on the TLB.
  static void Grow(Buffer* b, size_t bytes) {
    std::free(b->data);
    *b = Buffer{};
    size_t page = bytes >= kHugePage / 2 ? kHugePage : kPage;
    bytes = (bytes + page - 1) / page * page;
    b->data = std::aligned_alloc(page, bytes);
    if (b->data == nullptr) throw std::bad_alloc();
    b->bytes = bytes;
    if (page == kHugePage) madvise(b->data, bytes, MADV_HUGEPAGE);
  }

  Buffer buffers_[kSlots];
  std::unique_ptr<Scratch> inner_;
};

}  // namespace frazil::gemm
