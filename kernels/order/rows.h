// What sorting and partitioning rows share: memory, rows on threads, keys by dtype. Called by
// kernels/order/sort.cc and partition.cc.
#pragma once

#include <atomic>
#include <new>

#include "core/memory/storage.h"
#include "core/threads/parallel.h"
#include "core/tuned.h"
#include "kernels/order/keys.h"

#define FZ_VECTORS __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl")))

namespace frazil {

// Memory that the allocator keeps at hand.
class Room {
 public:
  explicit Room(int64_t bytes) {
    auto memory = Allocate(static_cast<size_t>(bytes));
    if (!memory.ok()) throw std::bad_alloc();
    memory_ = *std::move(memory);
  }
  template <typename T>
  T* Of() const {
    return reinterpret_cast<T*>(memory_->data);
  }

 private:
  StorageRef memory_;
};

// body(row) for each: rows are shared out, or else the work within a row.
template <typename Body>
void ForRows(int64_t rows, int64_t n, const Body& body) {
  std::atomic<bool> no_memory{false};
  const auto some = [&](int64_t begin, int64_t end) {
    try {
      for (int64_t row = begin; row < end; ++row) body(row);
    } catch (const std::bad_alloc&) {
      no_memory.store(true);
    }
  };
  if (rows < 2 * NumThreads()) {
    some(0, rows);
  } else {
    ParallelFor(rows, tuned::kSortedElements / n + 1, some);
  }
  if (no_memory.load()) throw std::bad_alloc();
}

// Keys of elements, in a loop that is written for the instructions of its caller. Whether one of them
// is -0.
template <typename Keys>
__attribute__((always_inline)) inline bool MakeHere(const typename Keys::Element* x, int64_t n,
                                                    bool descending, typename Keys::Key* keys) {
  bool minus_zero = false;
  const typename Keys::Key flip = descending ? -1 : 0;
  for (int64_t i = 0; i < n; ++i) {
    minus_zero |= Keys::IsMinusZero(x[i]);
    keys[i] = Keys::Of(x[i], flip);
  }
  return minus_zero;
}
// run.operator()<Keys>() of a dtype's keys.
template <typename Run>
void WithKeys(DType dtype, const Run& run) {
  switch (dtype) {
    case DType::kBool:
    case DType::kU8:
      return run.template operator()<IntKeys<uint8_t>>();
    case DType::kI8:
      return run.template operator()<IntKeys<int8_t>>();
    case DType::kU16:
      return run.template operator()<IntKeys<uint16_t>>();
    case DType::kI16:
      return run.template operator()<IntKeys<int16_t>>();
    case DType::kU32:
      return run.template operator()<IntKeys<uint32_t>>();
    case DType::kI32:
      return run.template operator()<IntKeys<int32_t>>();
    case DType::kU64:
      return run.template operator()<IntKeys<uint64_t>>();
    case DType::kI64:
      return run.template operator()<IntKeys<int64_t>>();
    case DType::kF16:
      return run.template operator()<FloatKeys<int16_t, 0x7C00>>();
    case DType::kBF16:
      return run.template operator()<FloatKeys<int16_t, 0x7F80>>();
    case DType::kF32:
      return run.template operator()<FloatKeys<int32_t, 0x7F800000>>();
    case DType::kF64:
      return run.template operator()<FloatKeys<int64_t, int64_t{0x7FF} << 52>>();
    default:
      break;  // complex numbers have no order
  }
}

}  // namespace frazil
