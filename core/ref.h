// Intrusive reference counting for values, storages and tape nodes. Called everywhere in core and
// above. Invariant: an object starts with one reference, owned by whoever created it (Ref::Adopt);
// the count is exact and is read as "how many hold this" (live masks, in-place reuse), never
// Python's reference count.
#pragma once

#include <atomic>
#include <cstdint>
#include <utility>

#pragma GCC visibility push(default)
namespace frazil {

class RefCounted {
 public:
  void Retain() const { refs_.fetch_add(1, std::memory_order_relaxed); }
  // True if this was the last reference: the caller frees. Whoever holds the only reference is
  // alone with the object, so that case needs no atomic subtraction.
  bool DropRef() const {
    return refs_.load(std::memory_order_acquire) == 1 ||
           refs_.fetch_sub(1, std::memory_order_acq_rel) == 1;
  }
  int32_t holders() const { return refs_.load(std::memory_order_acquire); }

 protected:
  RefCounted() = default;
  ~RefCounted() = default;
  // For an object that nobody else can see: it is handed to this many holders at once.
  void StartWith(int32_t holders) const { refs_.store(holders, std::memory_order_relaxed); }

 private:
  mutable std::atomic<int32_t> refs_{1};
};

// T has `static void Free(const T*)` (or non-const), called at zero.
template <typename T>
class Ref {
 public:
  Ref() = default;
  Ref(std::nullptr_t) {}
  static Ref Adopt(T* p) {
    Ref r;
    r.p_ = p;
    return r;
  }
  static Ref Share(T* p) {
    if (p) p->Retain();
    return Adopt(p);
  }
  Ref(const Ref& o) : p_(o.p_) {
    if (p_) p_->Retain();
  }
  Ref(Ref&& o) noexcept : p_(std::exchange(o.p_, nullptr)) {}
  Ref& operator=(Ref o) noexcept {
    std::swap(p_, o.p_);
    return *this;
  }
  ~Ref() { Reset(); }
  void Reset() {
    if (T* p = std::exchange(p_, nullptr); p && p->DropRef()) T::Free(p);
  }
  T* get() const { return p_; }
  T* release() { return std::exchange(p_, nullptr); }
  T* operator->() const { return p_; }
  T& operator*() const { return *p_; }
  explicit operator bool() const { return p_ != nullptr; }
  bool operator==(const Ref& o) const { return p_ == o.p_; }

 private:
  T* p_ = nullptr;
};

}  // namespace frazil
#pragma GCC visibility pop
