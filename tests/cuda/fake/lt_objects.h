// Descriptors of the fake cuBLASLt and what may be combined. Used by cublaslt.cc. Invariant: a
// handle that was destroyed, or is of another kind, is found nowhere.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>

#include "jit/cuda/types.h"
#include "tests/cuda/fake/product.h"

namespace fake {

struct LtContext {};
struct LtDesc {
  int compute, scale;
  int32_t trans_a = frazil::cuda::kOpN, trans_b = frazil::cuda::kOpN;
  int32_t epilogue = frazil::cuda::kEpilogueDefault;
  const void* bias = nullptr;
};
struct LtMatrix {
  int type;
  int64_t rows, cols, leading;
  int32_t order = frazil::cuda::kOrderCol;
  int32_t batches = 1;
  int64_t batch_offset = 0;
};
struct LtWish {
  uint64_t max_workspace = 0;
  uint32_t reductions = frazil::cuda::kAnyReduction;
  uint32_t alignment[4] = {256, 256, 256, 256};
};

// One kind of them.
template <typename T>
class LtObjects {
 public:
  template <typename Handle>
  static Handle Add(T object) {
    std::lock_guard lock(Mutex());
    auto made = std::make_unique<T>(object);
    T* const key = made.get();
    All()[key] = std::move(made);
    return reinterpret_cast<Handle>(key);
  }
  static T* Get(void* handle) {
    std::lock_guard lock(Mutex());
    const auto it = All().find(handle);
    return it == All().end() ? nullptr : it->second.get();
  }
  static bool Remove(void* handle) {
    std::lock_guard lock(Mutex());
    return All().erase(handle) != 0;
  }

 private:
  static std::mutex& Mutex() {
    static auto* const mutex = new std::mutex;
    return *mutex;
  }
  static std::map<void*, std::unique_ptr<T>>& All() {
    static auto* const all = new std::map<void*, std::unique_ptr<T>>;
    return *all;
  }
};

inline constexpr uint64_t kLtMagic = 0x66616b656c74, kLtWorkspace = 64 << 10;

struct LtCall {
  const LtContext* context;
  const LtDesc* desc;
  const LtMatrix *a, *b, *c, *d;
};
// kLtInvalidValue for shapes that do not fit, kLtNotSupported for what the manual's table lacks.
frazil::cuda::LtStatus CheckCall(const LtCall& call);

// The matrix, or its transpose, in strides.
ProductMatrix Strided(const void* data, const LtMatrix& layout, bool transposed);

}  // namespace fake
