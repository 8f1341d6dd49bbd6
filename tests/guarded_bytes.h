// Memory between two inaccessible pages, so that a read or write outside of it ends the test: the
// only guard that generated code and vectors' masked loads have, which no sanitizer instruments.
// Called by tests of emitters (tests/jit/guarded.h) and of products and convolutions.
#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/check.h"

namespace frazil {

// At the end of their pages or at the start.
class GuardedBytes {
 public:
  GuardedBytes(size_t bytes, bool at_end) : inner_(Inner(bytes)), page_(Map(bytes)) {
    data_ = at_end ? page_ + inner_ - bytes : page_;
  }
  GuardedBytes(const GuardedBytes&) = delete;
  ~GuardedBytes() { Unmap(page_, inner_); }

  uint8_t* data() { return data_; }
  uint8_t* page() { return page_; }
  size_t page_bytes() const { return inner_; }

  // Whole pages that hold as many bytes, at least one.
  static size_t Inner(size_t bytes) { return bytes == 0 ? kPage : (bytes + kPage - 1) & -kPage; }
  static uint8_t* Map(size_t bytes) {
    const size_t inner = Inner(bytes);
    void* const map =
        mmap(nullptr, inner + 2 * kPage, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    FZ_CHECK(map != MAP_FAILED);
    uint8_t* const page = static_cast<uint8_t*>(map) + kPage;
    FZ_CHECK(mprotect(page, inner, PROT_READ | PROT_WRITE) == 0);
    return page;
  }
  static void Unmap(uint8_t* page, size_t inner) { munmap(page - kPage, inner + 2 * kPage); }

 private:
  static constexpr size_t kPage = 4096;

  size_t inner_;
  uint8_t *page_, *data_;
};

// Of a vector whose last element lies against an inaccessible page.
template <typename T>
struct GuardedEnd {
  using value_type = T;

  GuardedEnd() = default;
  template <typename U>
  GuardedEnd(const GuardedEnd<U>&) {}

  T* allocate(size_t count) {
    const size_t bytes = count * sizeof(T), inner = GuardedBytes::Inner(bytes);
    return reinterpret_cast<T*>(GuardedBytes::Map(bytes) + inner - bytes);
  }
  void deallocate(T* data, size_t count) {
    const size_t bytes = count * sizeof(T), inner = GuardedBytes::Inner(bytes);
    GuardedBytes::Unmap(reinterpret_cast<uint8_t*>(data) + bytes - inner, inner);
  }
  bool operator==(const GuardedEnd&) const { return true; }
};
template <typename T>
using GuardedVector = std::vector<T, GuardedEnd<T>>;

}  // namespace frazil
