// Pin: keeps what an atomic pointer points at from being freed for the length of a scope, without
// writing anything that threads share. Whoever takes such an object out of use stores another
// pointer and then gives the object to Garbage, which frees it as soon as no thread has it pinned.
// Called by the tracer for plans. Invariants: only objects that die through Garbage are pinned;
// pins of a thread end in the reverse order of their beginning.
#pragma once

#include <atomic>
#include <memory>
#include <vector>

#include "core/threads/asymmetric_fence.h"
#include "core/threads/tls.h"

#pragma GCC visibility push(default)
namespace frazil {

// Where a thread says what it uses.
struct alignas(64) PinSlots {
  static constexpr int kCount = 8;  // traced calls of one thread inside one another's kernels

  std::atomic<const void*> slots[kCount] = {};
  int used = 0;
  bool taken = true;  // by a thread
  PinSlots* next = nullptr;
};
extern FZ_HOT_TLS PinSlots* t_pins;
PinSlots* MakePins();  // of this thread

class Pin {
 public:
  Pin() {
    if (__builtin_expect(t_pins == nullptr, 0)) MakePins();
    if (t_pins->used < PinSlots::kCount) slot_ = &t_pins->slots[t_pins->used];
    ++t_pins->used;
  }
  ~Pin() {
    if (slot_) slot_->store(nullptr, std::memory_order_release);
    --t_pins->used;
  }
  Pin(const Pin&) = delete;
  Pin& operator=(const Pin&) = delete;

  // What `source` points at, pinned; null if there is nothing, or no room to say so.
  template <typename T>
  T* Take(const std::atomic<T*>& source) {
    T* object = source.load(std::memory_order_acquire);
    if (!object || !slot_) return nullptr;
    slot_->store(object, std::memory_order_relaxed);
    LightFence();  // before it is looked at whether it is still in use
    return __builtin_expect(source.load(std::memory_order_acquire) == object, 1) ? object : nullptr;
  }
  // The ordinary way.
  template <typename T>
  T* Hold(std::shared_ptr<T> object) {
    T* held = object.get();
    held_ = std::move(object);
    return held;
  }

 private:
  std::atomic<const void*>* slot_ = nullptr;
  std::shared_ptr<const void> held_;
};

// Frees what was put into it at the end of its life, when no lock may be held.
class Garbage {
 public:
  Garbage() = default;
  ~Garbage() {
    if (!objects_.empty()) Free();
  }
  Garbage(const Garbage&) = delete;
  Garbage& operator=(const Garbage&) = delete;

  // Nothing points at it any more that a Pin is taken from.
  void Add(std::shared_ptr<const void> object) { objects_.push_back(std::move(object)); }

 private:
  void Free();
  std::vector<std::shared_ptr<const void>> objects_;
};

}  // namespace frazil
#pragma GCC visibility pop
