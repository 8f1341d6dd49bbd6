// SmallStack: a growing array that starts on the stack, for what every call makes anew. Called by
// calls by promise and their guards. Invariant: elements are plain words; adding one to an array
// that has room is a store.
#pragma once

#include <cstring>
#include <type_traits>
#include <vector>

#include "absl/types/span.h"

#pragma GCC visibility push(default)
namespace frazil {

template <typename T, size_t N>
class SmallStack {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  SmallStack() = default;
  SmallStack(const SmallStack&) = delete;

  void push_back(T item) {
    if (__builtin_expect(size_ == capacity_, 0)) Grow();
    data_[size_++] = item;
  }
  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  T& operator[](size_t i) { return data_[i]; }
  const T& operator[](size_t i) const { return data_[i]; }
  T* begin() { return data_; }
  T* end() { return data_ + size_; }
  const T* begin() const { return data_; }
  const T* end() const { return data_ + size_; }
  absl::Span<const T> span() const { return {data_, size_}; }
  bool operator==(const SmallStack& o) const { return span() == o.span(); }

 private:
  __attribute__((noinline)) void Grow() {
    capacity_ *= 2;
    more_.resize(capacity_);
    if (data_ == inline_) std::memcpy(more_.data(), inline_, sizeof inline_);
    data_ = more_.data();
  }

  size_t size_ = 0, capacity_ = N;
  T* data_ = inline_;
  T inline_[N];
  std::vector<T> more_;
};

}  // namespace frazil
#pragma GCC visibility pop
